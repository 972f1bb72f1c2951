import { type Clock, NS_PER_MS } from '../../../../src/base/clock.ts';

const START_EPOCH_MS = Date.UTC(2026, 2, 1, 8);

/** A clock that stands still until it is told to go on. Starts at 2026-03-01T08:00:00.000Z, the monotonic one at 5,000 ns. */
export class ManualClock implements Clock {
  readonly #startNs: number;
  readonly #startEpochMs: number;
  #ms = 0;

  constructor(startEpochMs: number = START_EPOCH_MS, startNs = 5_000) {
    this.#startEpochMs = startEpochMs;
    this.#startNs = startNs;
  }

  nowNs(): number {
    return this.#startNs + this.#ms * NS_PER_MS;
  }

  epochMs(): number {
    return this.#startEpochMs + this.#ms;
  }

  advanceMs(ms: number): void {
    this.#ms += ms;
  }
}
