import { type Clock, NS_PER_MS, NS_PER_S } from '../../src/base/clock.ts';

const START_EPOCH_MS = Date.UTC(2026, 2, 1, 8);

/** A clock that stands still until a test moves it. It starts at 2026-03-01T08:00:00.000Z. */
export class ManualClock implements Clock {
  ns: number;
  readonly #startNs: number;
  #startEpochMs: number;

  constructor({ startEpochMs = START_EPOCH_MS, startNs = 0 } = {}) {
    this.#startEpochMs = startEpochMs;
    this.#startNs = startNs;
    this.ns = startNs;
  }

  nowNs(): number {
    return this.ns;
  }

  epochMs(): number {
    return this.#startEpochMs + (this.ns - this.#startNs) / NS_PER_MS;
  }

  /** Somebody sets the clock of the machine. */
  setBackS(seconds: number): void {
    this.#startEpochMs -= seconds * 1_000;
  }

  advanceMs(ms: number): void {
    this.ns += ms * NS_PER_MS;
  }

  advanceS(seconds: number): void {
    this.ns += seconds * NS_PER_S;
  }
}
