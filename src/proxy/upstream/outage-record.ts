import { type Clock, MS_PER_S, NS_PER_S } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';

/** A server that is lost and back many times a second must not flood the log. */
const LOG_INTERVAL_NS = NS_PER_S;

/** Logs the end of each outage of the server, with its length and the requests that failed meanwhile. */
export class OutageRecord {
  readonly #readFailed: () => number;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #outage: { readonly sinceEpochMs: number; readonly failedBefore: number } | undefined;
  #loggedNs = Number.NEGATIVE_INFINITY;
  /** Outages that ended since the last line without one of their own. */
  #unlogged = 0;

  /** `readFailed`: the number of all failed requests since the start. */
  constructor(readFailed: () => number, clock: Clock, logger: Logger) {
    this.#readFailed = readFailed;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Call it when a connection failed, before the request that wanted it is counted as failed. */
  lost(): void {
    this.#outage ??= { sinceEpochMs: this.#clock.epochMs(), failedBefore: this.#readFailed() };
  }

  back(): void {
    const outage = this.#outage;
    if (outage === undefined) return;
    this.#outage = undefined;
    const nowNs = this.#clock.nowNs();
    if (nowNs - this.#loggedNs < LOG_INTERVAL_NS) {
      this.#unlogged += 1;
      return;
    }
    this.#loggedNs = nowNs;
    const seconds = Math.round((this.#clock.epochMs() - outage.sinceEpochMs) / 100) / (MS_PER_S / 100);
    const members = {
      since: new Date(outage.sinceEpochMs).toISOString(),
      seconds,
      failed: this.#readFailed() - outage.failedBefore,
      ...(this.#unlogged === 0 ? {} : { furtherOutages: this.#unlogged }),
    };
    this.#unlogged = 0;
    this.#logger.info(members, 'the upstream can be reached again');
  }
}
