/**
 * The clock that every part of this program gets, so that tests can control time. Durations are always differences of
 * `nowNs`. `epochMs` is for display only, and may jump.
 */
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Monotonic nanoseconds from an arbitrary start, as a double (exact for 104 days, within 4 ns for a year). */
  nowNs(): number;
  /** Wall clock: milliseconds since 1970-01-01T00:00:00Z. */
  epochMs(): number;
}

export const MS_PER_S = 1_000;
export const NS_PER_US = 1_000;
export const NS_PER_MS = 1_000_000;
export const NS_PER_S = 1_000_000_000;

/** `epochMs` in ISO 8601, UTC, e.g. `2026-11-30T03:45:00.000Z`. */
export const formatIso = (epochMs: number): string => new Date(epochMs).toISOString();

export const systemClock: Clock = {
  // performance.now() costs 60 ns and allocates nothing; process.hrtime.bigint() allocates a BigInt each time.
  nowNs: () => performance.now() * NS_PER_MS,
  epochMs: () => Date.now(),
};

/** Time limit of the current wait: for a connection, a head or a response. Only one runs at a time. */
export class PhaseTimer {
  #timer: NodeJS.Timeout | undefined;

  /** Calls `act` after `limitMs`, once pending input has been read: our own stall is not the other side's silence. */
  start(limitMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) act();
      });
    }, limitMs);
    this.#timer = timer;
  }

  startOnce(limitMs: number, act: () => void): void {
    if (this.#timer === undefined) this.start(limitMs, act);
  }

  stop(): void {
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
