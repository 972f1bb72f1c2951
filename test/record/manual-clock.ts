import { type Clock, NS_PER_MS } from '../../src/clock.ts';

/** A clock that stands still until it is told to go on. Starts at 2026-03-01T08:00:00.000Z. */
export class ManualClock implements Clock {
  #ms = 0;

  nowNs(): number {
    return 5_000 + this.#ms * NS_PER_MS;
  }

  epochMs(): number {
    return Date.UTC(2026, 2, 1, 8) + this.#ms;
  }

  advanceMs(ms: number): void {
    this.#ms += ms;
  }
}
