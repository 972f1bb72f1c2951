import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { ERROR_CODES } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import {
  reasonOf,
  UPSTREAM_FAILURE_CODES,
  type UpstreamFailure,
  type UpstreamFailureCode,
} from './upstream-failure.ts';

/**
 * While an upstream is down, every request fails in the same way: one log line per code and interval, with their
 * number.
 */
const LOG_INTERVAL_NS = 10 * NS_PER_S;

/** Logged with more detail elsewhere: at the limit itself (`limits.inFlight`), and where TLS connects. */
const LOGGED_ELSEWHERE: ReadonlySet<UpstreamFailureCode> = new Set(['D2S_ERR_UPSTREAM_BUSY', 'D2S_ERR_UPSTREAM_TLS']);

interface Entry {
  count: number;
  loggedCount: number;
  loggedNs: number;
}

/** Counts failed exchanges by code, for the log and for metrics. */
export class FailureRecord {
  readonly #clock: Clock;
  readonly #logger: Logger;
  // All codes exist from the start, so that a first failure is a step and not a new series.
  readonly #entries = new Map<UpstreamFailureCode, Entry>(
    UPSTREAM_FAILURE_CODES.map((code) => [code, { count: 0, loggedCount: 0, loggedNs: Number.NEGATIVE_INFINITY }]),
  );

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Failures since the start, e.g. `D2S_ERR_UPSTREAM_REFUSED` => 17. Has an entry for every code. */
  get counts(): ReadonlyMap<UpstreamFailureCode, number> {
    return new Map(Array.from(this.#entries, ([code, { count }]) => [code, count]));
  }

  get total(): number {
    let total = 0;
    for (const { count } of this.#entries.values()) total += count;
    return total;
  }

  record(failure: UpstreamFailure): void {
    const entry = this.#entries.get(failure.code);
    if (entry === undefined) return;
    entry.count += 1;
    if (LOGGED_ELSEWHERE.has(failure.code)) return;
    const nowNs = this.#clock.nowNs();
    if (nowNs - entry.loggedNs < LOG_INTERVAL_NS) return;
    const failed = entry.count - entry.loggedCount;
    entry.loggedNs = nowNs;
    entry.loggedCount = entry.count;
    const { code, fault } = failure;
    this.#logger.warn({ code, reason: reasonOf(failure), fault, failed }, ERROR_CODES[code]);
  }
}
