import { NS_PER_S } from '../../base/clock.ts';
import type { SlowOutcome } from './slowest-calls.ts';

/** Each call counts in exactly one of the first five. Times are in seconds. */
export interface CallTotalsReading {
  readonly ok: number;
  readonly clientErrors: number;
  /** Answers of status 500 and above. */
  readonly errors: number;
  readonly unanswered: number;
  readonly aborted: number;
  /** Those of the above that took longer than `calls.clientTimeout`. */
  readonly late: number;
  readonly durationS: number;
  readonly clientWaitS: number;
  /** Calls with a client wait of over a second. */
  readonly longWaits: number;
}

const LONG_WAIT_NS = NS_PER_S;

const COUNTERS = {
  ok: 'ok',
  client_error: 'clientErrors',
  error: 'errors',
  unanswered: 'unanswered',
  aborted: 'aborted',
} as const satisfies Record<SlowOutcome, keyof CallTotalsReading>;

/** All calls of an application since the start of the process: every kind, over REST and Comet. */
export class CallTotals implements CallTotalsReading {
  /** A call that takes longer is late. */
  lateAfterNs = Number.POSITIVE_INFINITY;
  ok = 0;
  clientErrors = 0;
  errors = 0;
  unanswered = 0;
  aborted = 0;
  late = 0;
  longWaits = 0;
  #durationNs = 0;
  #clientWaitNs = 0;

  get durationS(): number {
    return this.#durationNs / NS_PER_S;
  }

  get clientWaitS(): number {
    return this.#clientWaitNs / NS_PER_S;
  }

  ended(outcome: SlowOutcome, durationNs: number, clientWaitNs: number): void {
    this[COUNTERS[outcome]] += 1;
    this.#durationNs += durationNs;
    this.#clientWaitNs += clientWaitNs;
    if (durationNs > this.lateAfterNs) this.late += 1;
    if (clientWaitNs > LONG_WAIT_NS) this.longWaits += 1;
  }
}
