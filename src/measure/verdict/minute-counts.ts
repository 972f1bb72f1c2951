import type { CallTotals } from '../record/call-totals.ts';

/** Differences of counters over the last minute. Times are in seconds. */
export type MinuteCounts = Readonly<CallTotals['counts']> & {
  /** Requests below the application that are no calls. */
  readonly unclassified: number;
  /** Requests that would be calls if their first segment were the application's. */
  readonly misplaced: number;
};

const SECONDS = 60;

/** Remembers counters of the last 60 s, one set each second. */
export class CountsOfMinute {
  readonly #read: () => MinuteCounts;
  /** Oldest first. */
  readonly #before: MinuteCounts[] = [];

  constructor(read: () => MinuteCounts) {
    this.#read = read;
    this.#before.push(read());
  }

  /** Ends a second and returns what has been counted in the last 60. */
  take(): MinuteCounts {
    const now = this.#read();
    const oldest = this.#before[0] ?? now;
    this.#before.push(now);
    if (this.#before.length > SECONDS) this.#before.shift();
    const keys = Object.keys(now) as (keyof MinuteCounts)[];
    return Object.fromEntries(keys.map((key) => [key, now[key] - oldest[key]])) as unknown as MinuteCounts;
  }
}

/** Calls that ended for the client: answered, or without an answer. Those that the client aborted are not included. */
export function endedCalls({ ok, clientErrors, errors, unanswered }: MinuteCounts): number {
  return ok + clientErrors + errors + unanswered;
}
