import { counter, histogram, type MetricDescription } from '../../base/metric-description.ts';
import { createBucketBounds, DurationBuckets } from '../../metrics/duration-buckets.ts';
import type { Ending } from '../../proxy/exchange/exchange.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { CometMetrics } from '../comet/comet-metrics.ts';
import type { ClaimLimit } from '../sessions/claim-index.ts';
import type { SessionTable } from '../sessions/session-table.ts';

type EndingKind = Ending['kind'];

/** Buckets for the time that the sidecar adds. Normal values are far below one turn of a busy event loop. */
const ADDED_BOUNDS = createBucketBounds([0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 1]);

export class OwnMetrics {
  readonly exchanges: Record<EndingKind, number> = { completed: 0, failed: 0, cancelled: 0, denied: 0 };
  readonly aborted: Record<CallKind, number> = { rpc: 0, sba: 0, object: 0, session: 0 };
  readonly unanswered: Record<CallKind, number> = { rpc: 0, sba: 0, object: 0, session: 0 };
  /** Answers with status 400, which servers with TLS give to plain HTTP. Not saved. */
  badRequests = 0;
  readonly counts = { upgrades: 0, unclassified: 0, cometExchanges: 0 };
  readonly added = { request: new DurationBuckets(ADDED_BOUNDS), response: new DurationBuckets(ADDED_BOUNDS) };
  readonly comet: CometMetrics;
  readonly #tables: readonly Pick<SessionTable, 'untracked' | 'refusedClaims'>[];

  constructor(tables: readonly SessionTable[], comet: CometMetrics) {
    this.#tables = tables;
    this.comet = comet;
  }

  /** `status`: of the final response, 101 for an accepted upgrade, 0 without a response. */
  exchangeEnded(ending: EndingKind, status: number): void {
    // As in `CallTotals`.
    if (ending === 'completed') this.exchanges.completed += 1;
    else this.exchanges[ending] += 1;
    if (status === 101) this.counts.upgrades += 1;
    else if (status === 400 && ending === 'completed') this.badRequests += 1;
  }

  callEnded(kind: CallKind, ending: EndingKind): void {
    if (ending === 'cancelled') this.aborted[kind] += 1;
    else if (ending === 'failed') this.unanswered[kind] += 1;
  }

  get sessionsUntracked(): number {
    return this.#tables.reduce((sum, { untracked }) => sum + untracked, 0);
  }

  get claimsRefused(): Record<ClaimLimit, number> {
    const sumOf = (limit: ClaimLimit) => this.#tables.reduce((sum, { refusedClaims }) => sum + refusedClaims[limit], 0);
    return { cookie: sumOf('cookie'), address: sumOf('address') };
  }

  /** Synchronous, so all counters are of one moment. `added` is not saved: it describes this process only. */
  save(): SavedFields {
    return { exchanges: this.exchanges, aborted: this.aborted, failed: this.unanswered, ...this.counts };
  }

  load(saved: SavedRecord): void {
    saved.record('exchanges').countsInto(this.exchanges);
    saved.record('aborted').countsInto(this.aborted);
    saved.record('failed').countsInto(this.unanswered);
    saved.countsInto(this.counts);
  }
}

export const OWN_METRICS: readonly MetricDescription<OwnMetrics>[] = [
  counter('d2_calls_aborted_total', 'REST calls whose client left early.', 'aborted', 'kind'),
  counter('d2_calls_unanswered_total', 'REST calls without a whole answer.', 'unanswered', 'kind'),
  counter(
    'd2_sidecar_exchanges_total',
    'Exchanges by ending: completed, failed (upstream), cancelled (client), denied (rest.deny).',
    'exchanges',
    'ending',
  ),
  counter(
    'd2_sidecar_unclassified_exchanges_total',
    'Exchanges that were neither a call nor Comet.',
    ({ counts }) => counts.unclassified,
  ),
  counter(
    'd2_sidecar_comet_exchanges_total',
    'Exchanges with the Comet endpoint, and login forms.',
    ({ counts }) => counts.cometExchanges,
  ),
  counter('d2_sidecar_upgrades_total', 'Upgrades that the upstream accepted.', ({ counts }) => counts.upgrades),
  // docs/prometheus.md says at which moments the time is measured.
  histogram(ADDED_BOUNDS.seconds)(
    'd2_sidecar_added_seconds',
    'Time that the relay adds; one in 17 is measured.',
    'added',
    'direction',
  ),
  counter('d2_sidecar_sessions_untracked_total', 'Calls without a session for sessions.max.', 'sessionsUntracked'),
  counter(
    'd2_sidecar_unverified_sessions_refused_total',
    'Accepted calls with an unverified credential that got no session.',
    'claimsRefused',
    'limit',
  ),
];
