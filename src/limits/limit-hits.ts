/**
 * This folder holds the limits on what clients can make the sidecar do: connections, rates, memory, and time spent on
 * reading. It must not know sockets or HTTP. docs/limits.md lists all limits.
 *
 * This file counts the requests and connections that were refused or closed because of a limit. It counts by
 * configuration key, so that the number says which key to change. Full tables (`sessions.max`, `metrics.maxNames`,
 * `comet.max...`) and bodies that pass unread for lack of memory are counted in measure/.
 */

import { type Clock, NS_PER_S } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { counter, type MetricDescription } from '../base/metric-description.ts';

const LOG_INTERVAL_NS = 10 * NS_PER_S;

/** The log message per limit; undefined where reaching the limit is normal. */
const WARNINGS = {
  'limits.headBytes': 'heads of requests exceed this size: answering 431',
  'limits.fields': 'heads of requests have more fields than this: answering 431',
  'limits.connections': 'that many connections are open: closing new ones',
  'limits.connectionsPerAddress': 'that many connections of one address are open: closing further ones of it',
  'limits.inFlight': 'that many requests are in flight to the application server: answering 503',
  'rest.deny': 'clients of other machines request paths that it lists: answering 403',
  'limits.memoryBytes':
    'what clients send ahead or do not read fills its memory: answering 503, or resetting connections',
  'timeouts.head': 'heads of requests do not arrive in time: answering 408',
  'timeouts.idle': undefined,
  'timeouts.halfClosed': undefined,
  'monitor.maxConnections':
    'that many connections to the monitoring port are open: closing one without an accepted request for each new one',
  'monitor.maxConnectionsPerAddress':
    'that many connections of one address to the monitoring port are open: closing one of it for each new one',
  'monitor.headTimeout': 'requests to the monitoring port do not arrive in time: answering 408',
  'monitor.idleTimeout': undefined,
  'monitor.maxAnswerBytes': 'an answer of the monitoring port is larger: answering 507, or cutting it off',
} as const;

/** The configuration key of a limit, e.g. `limits.connections`. */
export type LimitKey = keyof typeof WARNINGS;

/** Limits on idle time. Quiet clients reach them every day. */
export const SILENCE_LIMITS: ReadonlySet<string> = new Set(
  Object.entries(WARNINGS).flatMap(([key, warning]) => (warning === undefined ? [key] : [])),
);

export class LimitHits {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** All keys exist from the start, so that a first hit is a step and not a new series. */
  readonly counts = new Map(Object.keys(WARNINGS).map((key) => [key as LimitKey, 0]));
  readonly #loggedNs = new Map<LimitKey, number>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  countOf(key: LimitKey): number {
    return this.counts.get(key) ?? 0;
  }

  /** Call once per request or connection that the limit was applied to. */
  hit(key: LimitKey): void {
    const hits = this.countOf(key) + 1;
    this.counts.set(key, hits);
    const warning = WARNINGS[key];
    if (warning === undefined) return;
    const nowNs = this.#clock.nowNs();
    if (nowNs - (this.#loggedNs.get(key) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_NS) return;
    this.#loggedNs.set(key, nowNs);
    this.#logger.warn({ limit: key, hits }, `${key}: ${warning}`);
  }
}

export const LIMIT_METRICS: readonly MetricDescription<LimitHits>[] = [
  counter('d2_sidecar_limit_hits_total', 'Requests and connections refused or ended for a limit.', 'counts', 'limit'),
];
