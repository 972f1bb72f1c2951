/** Metrics of calls, sessions and objects of all applications. These can have many series. */
import { NS_PER_S } from '../../base/clock.ts';
import {
  counter,
  gauge,
  histogram,
  type MetricDescription,
  type MetricValues,
  readEach,
} from '../../base/metric-description.ts';
import type { CallStatistics } from '../../metrics/call-statistics.ts';
import { CALL_BOUNDS } from '../../metrics/duration-buckets.ts';
import type { ObjectStatistics } from '../../metrics/object-statistics.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import { allowanceUsedOf, type CallTargets } from './call-targets.ts';
import type { CallTotals } from './call-totals.ts';
import { findHung, hideUnconfirmedName } from './hung-calls.ts';
import type { RunningCalls } from './running-calls.ts';

type CountedCalls = Pick<CallStatistics, 'countsByName' | 'nameCount' | 'foldedCount'> &
  Partial<Pick<CallStatistics, 'foldListeners'>>;

export interface CountedApplication {
  readonly name: string;
  readonly statistics: {
    readonly rpc: CountedCalls;
    readonly sba: CountedCalls;
    readonly object: Pick<ObjectStatistics, 'objects' | 'monitored' | 'nameCount' | 'foldedCount'>;
  };
  readonly sessions: Pick<SessionTable, 'created' | 'countsByType'>;
  readonly running: Pick<RunningCalls, 'size' | 'byName'>;
  readonly totals: Pick<CallTotals, 'byKind'>;
  readonly targets: Pick<CallTargets, 'readings'>;
}

export const APPLICATION_METRICS: readonly MetricDescription<readonly CountedApplication[]>[] = [
  histogram(CALL_BOUNDS.seconds)(
    'd2_call_duration_seconds',
    'Durations of answered RPC calls.',
    ofCalls(({ countsByName }) => readEach(countsByName, ({ durations }) => durations)),
    'application',
    'kind',
    'name',
  ),
  counter(
    'd2_calls_total',
    'RPC calls by outcome: ok, client_error (status 400 to 499), error (500 and above, or no answer).',
    ofCalls(({ countsByName }) =>
      readEach(countsByName, ({ ok, clientErrors, errors }) => ({ ok, client_error: clientErrors, error: errors })),
    ),
    'application',
    'kind',
    'name',
    'outcome',
  ),
  counter(
    'd2_calls_late_total',
    'Answered RPC calls that took longer than calls.clientTimeout.',
    ofCalls(({ countsByName }) => readEach(countsByName, ({ late }) => late)),
    'application',
    'kind',
    'name',
  ),
  counter(
    'd2_call_target_met_total',
    'Calls of RPCs and SBA RPCs that met a target of calls.targets: answered below 400 in time.',
    ofEach(({ targets }) => readTargets(targets, 'met')),
    'application',
    'target',
  ),
  counter(
    'd2_call_target_missed_total',
    'Calls of RPCs and SBA RPCs that missed a target of calls.targets. Those that their clients aborted are in neither.',
    ofEach(({ targets }) => readTargets(targets, 'missed')),
    'application',
    'target',
  ),
  gauge(
    'd2_call_target_allowance_used_ratio',
    'Used part of the calls that may miss a target of calls.targets this month (UTC). Absent if none may.',
    ofEach(({ targets }) =>
      targets.readings.map((target) => [target.name, allowanceUsedOf(target) ?? undefined] as const),
    ),
    'application',
    'target',
  ),
  counter(
    'd2_calls_client_wait_seconds_total',
    'Time in which nothing but their clients held calls up; no part of their durations.',
    ofEach(({ totals }) => readKinds(totals, ({ clientWaitNs }) => clientWaitNs / NS_PER_S)),
    'application',
    'kind',
  ),
  histogram(CALL_BOUNDS.seconds)(
    'd2_calls_first_byte_seconds',
    'Time from the head of a call to the first byte of its final answer.',
    ofEach(({ totals }) => readKinds(totals, ({ firstByte }) => firstByte)),
    'application',
    'kind',
  ),
  gauge(
    'd2_calls_running',
    'Running calls.',
    ofEach(({ running }) => running.size),
    'application',
  ),
  gauge(
    'd2_calls_hung',
    'Running calls of a name whose calls all hang. Absent if there is none.',
    ofEach((application) => {
      const hung = findHung(application);
      return hung === null ? undefined : { [hung.kind]: { [hideUnconfirmedName(hung)]: hung.count } };
    }),
    'application',
    'kind',
    'name',
  ),
  gauge(
    'd2_sessions',
    'Sessions now, by connection type.',
    ofEach(({ sessions }) => sessions.countsByType()),
    'application',
    'connection_type',
  ),
  counter(
    'd2_sessions_created_total',
    'Sessions begun.',
    ofEach(({ sessions }) => sessions.created.count),
    'application',
  ),
  histogram(CALL_BOUNDS.seconds)(
    'd2_session_creation_duration_seconds',
    'Durations of the calls that began a session.',
    ofEach(({ sessions }) => sessions.created.durations),
    'application',
  ),
  gauge(
    'd2_objects_monitored',
    'Objects with at least one monitoring now.',
    ofEach(({ statistics }) => statistics.object.monitored),
    'application',
  ),
  gauge(
    'd2_object_subscriptions',
    'Monitorings of the object now.',
    ofEach(({ statistics }) => readEach(statistics.object.objects, ({ subscriptions }) => subscriptions.count)),
    'application',
    'name',
  ),
  counter(
    'd2_object_values_total',
    'Values of the object that were read over REST or pushed over Comet.',
    ofEach(({ statistics }) => readEach(statistics.object.objects, ({ newValues }) => newValues.count)),
    'application',
    'name',
  ),
  gauge(
    'd2_sidecar_names',
    'Names with statistics of their own; limit metrics.maxNames.',
    ofKinds(({ nameCount }) => nameCount),
    'application',
    'kind',
  ),
  counter(
    'd2_sidecar_names_folded_total',
    'Events counted as (other) for metrics.maxNames.',
    ofKinds(({ foldedCount }) => foldedCount),
    'application',
    'kind',
  ),
];

function ofEach(read: (application: CountedApplication) => MetricValues) {
  return (applications: readonly CountedApplication[]): MetricValues =>
    applications.map((application) => [application.name, read(application)] as const);
}

function readKinds(
  { byKind }: CountedApplication['totals'],
  read: (totals: CallTotals['byKind']['rpc']) => MetricValues,
): MetricValues {
  return Object.entries(byKind).map(([kind, totals]) => [kind, read(totals)] as const);
}

function readTargets({ readings }: CountedApplication['targets'], key: 'met' | 'missed'): MetricValues {
  return readings.map((target) => [target.name, target[key]] as const);
}

/** For metrics of both kinds of calls, with the labels `application`, `kind` and those that `read` adds. */
function ofCalls(read: (calls: CountedCalls) => MetricValues) {
  return ofEach(({ statistics: { rpc, sba } }) => ({ rpc: read(rpc), sba: read(sba) }));
}

function ofKinds(read: (kind: Pick<CountedCalls, 'nameCount' | 'foldedCount'>) => number) {
  return ofEach(({ statistics: { rpc, sba, object } }) => ({ rpc: read(rpc), sba: read(sba), object: read(object) }));
}
