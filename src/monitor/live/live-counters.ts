/** The counters whose increase the live page shows. Only the answers for the page use these keys. */
import { SILENCE_LIMITS } from '../../limits/limit-hits.ts';
import type { UnclassifiedRequests } from '../../measure/record/unclassified-requests.ts';
import type { MonitoredApplication, MonitoredSidecar } from '../monitored.ts';

interface LiveCounterSources {
  readonly sidecar: Pick<MonitoredSidecar, 'own' | 'limits' | 'reporter' | 'dispatcher'>;
  readonly applications: readonly Pick<MonitoredApplication, 'statistics'>[];
  readonly unclassified: Pick<UnclassifiedRequests, 'outside'>;
}

export const LIMIT = 'limit ';
export const FAILURE = 'failure ';
export const REFUSED = 'refused';
export const OBSERVER_ERRORS = 'observerErrors';
export const OUTSIDE = 'outside';

/** Current values, e.g. `limit sessions.max` => 3, `failure D2S_ERR_UPSTREAM_REFUSED` => 17. No limits of silence. */
export function readLiveCounters({
  sidecar,
  applications,
  unclassified,
}: LiveCounterSources): ReadonlyMap<string, number> {
  const folded = (kind: 'rpc' | 'sba' | 'object') =>
    applications.reduce((sum, { statistics }) => sum + statistics[kind].foldedCount, 0);
  const limits = [
    ...[...sidecar.limits.counts].filter(([key]) => !SILENCE_LIMITS.has(key)),
    ['sessions.max', sidecar.own.sessionsUntracked],
    ['metrics.maxNames.rpc', folded('rpc')],
    ['metrics.maxNames.sba', folded('sba')],
    ['metrics.maxNames.object', folded('object')],
  ] as const;
  return new Map<string, number>([
    ...limits.map(([key, hits]) => [LIMIT + key, hits] as const),
    ...Array.from(sidecar.reporter.failures.counts, ([code, count]) => [FAILURE + code, count] as const),
    [REFUSED, sidecar.dispatcher.refusedConnections],
    [OBSERVER_ERRORS, sidecar.reporter.observerErrors],
    [OUTSIDE, unclassified.outside],
  ]);
}
