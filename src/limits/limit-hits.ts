/**
 * What was refused, cut off or given up because it had reached one of the limits of the configuration: counted by the key that
 * sets it, so that whoever sees the number knows what to change. Knows neither sockets nor HTTP. docs/limits.md lists all limits.
 */
import { type Clock, NS_PER_S } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';

/** At most one line for each limit in that time, however many run into it. */
const LOG_INTERVAL_NS = 10 * NS_PER_S;

/** What the log says of each; undefined where reaching it is everyday life. */
const WARNINGS = {
  'limits.headBytes': 'heads of requests are larger: answering 431',
  'limits.fields': 'heads of requests have more fields: answering 431',
  'limits.connections': 'that many connections are open: closing new ones',
  'limits.connectionsPerAddress': 'that many connections of one address are open: closing further ones of it',
  'limits.inFlight': 'that many requests are with the application server: answering 503',
  'rest.deny': 'clients of other machines ask for paths that it lists: answering 403',
  'limits.memoryBytes':
    'what clients send ahead or do not read fills its memory: answering 503, or resetting connections',
  'timeouts.head': 'heads of requests do not come in time: answering 408',
  'timeouts.idle': undefined,
  'timeouts.halfClosed': undefined,
  'monitor.maxConnections':
    'that many connections to the monitoring port are open: closing one without an accepted request for each new one',
  'monitor.maxConnectionsPerAddress':
    'that many connections of one address to the monitoring port are open: closing one of it for each new one',
  'monitor.headTimeout': 'requests to the monitoring port do not come in time: answering 408',
  'monitor.idleTimeout': undefined,
  'monitor.maxAnswerBytes': 'an answer of the monitoring port is larger: answering 507, or breaking it off',
} as const;

/** Key of the configuration that sets it, e.g. `limits.connections`. */
export type LimitKey = keyof typeof WARNINGS;

/** Limits of silence: a client that has nothing to say reaches them every day. */
export const SILENCE_LIMITS: ReadonlySet<string> = new Set(
  Object.entries(WARNINGS).flatMap(([key, warning]) => (warning === undefined ? [key] : [])),
);

const KEYS = Object.keys(WARNINGS) as readonly LimitKey[];

export class LimitHits {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** All keys from the start, so that a first hit is a step and no new series. */
  readonly #counts = new Map<LimitKey, number>(KEYS.map((key) => [key, 0]));
  readonly #loggedNs = new Map<LimitKey, number>();

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Since the start, by key. */
  get counts(): ReadonlyMap<LimitKey, number> {
    return this.#counts;
  }

  countOf(key: LimitKey): number {
    return this.#counts.get(key) ?? 0;
  }

  /** To be called once for each request or connection that the limit was applied to. */
  hit(key: LimitKey): void {
    const hits = this.countOf(key) + 1;
    this.#counts.set(key, hits);
    const warning = WARNINGS[key];
    if (warning === undefined) return;
    const nowNs = this.#clock.nowNs();
    if (nowNs - (this.#loggedNs.get(key) ?? Number.NEGATIVE_INFINITY) < LOG_INTERVAL_NS) return;
    this.#loggedNs.set(key, nowNs);
    this.#logger.warn({ limit: key, hits }, `${key}: ${warning}`);
  }
}
