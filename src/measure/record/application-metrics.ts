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
import { allowanceUsedOf } from './call-targets.ts';
import type { CallTotals } from './call-totals.ts';
import type { RecordedApplication } from './recorded-application.ts';
import { findHung, hideUnconfirmedName } from './running-calls.ts';

const counterOfEach = ofEach(counter);
const gaugeOfEach = ofEach(gauge);
const histogramOfEach = ofEach(histogram(CALL_BOUNDS.seconds));

export const APPLICATION_METRICS: readonly MetricDescription<readonly RecordedApplication[]>[] = [
  histogramOfEach(
    'd2_call_duration_seconds',
    'Durations of answered RPC calls.',
    ofCalls(({ countsByName }) => readEach(countsByName, ({ durations }) => durations)),
    'kind',
    'name',
  ),
  counterOfEach(
    'd2_calls_total',
    'RPC calls: ok, client_error (status 400 to 499), error (500 and above, or no answer).',
    ofCalls(({ countsByName }) =>
      readEach(countsByName, ({ ok, clientErrors, errors }) => ({ ok, client_error: clientErrors, error: errors })),
    ),
    'kind',
    'name',
    'outcome',
  ),
  counterOfEach(
    'd2_calls_late_total',
    'Answered RPC calls that took longer than calls.clientTimeout.',
    ofCalls(({ countsByName }) => readEach(countsByName, ({ late }) => late)),
    'kind',
    'name',
  ),
  counterOfEach(
    'd2_call_target_met_total',
    'Calls of RPCs and SBA RPCs that met a target of calls.targets.',
    ({ targets }) => targets.readings.map(({ name, met }) => [name, met] as const),
    'target',
  ),
  counterOfEach(
    'd2_call_target_missed_total',
    'Calls that missed a target; those that their clients aborted are in neither.',
    ({ targets }) => targets.readings.map(({ name, missed }) => [name, missed] as const),
    'target',
  ),
  gaugeOfEach(
    'd2_call_target_allowance_used_ratio',
    'Used part of the calls that may miss a target this month (UTC). Absent if none may.',
    ({ targets }) => targets.readings.map((target) => [target.name, allowanceUsedOf(target) ?? undefined] as const),
    'target',
  ),
  counterOfEach(
    'd2_calls_client_wait_seconds_total',
    'Time in which only their clients held calls up; no part of durations.',
    ({ totals }) => readKinds(totals, ({ clientWaitNs }) => clientWaitNs / NS_PER_S),
    'kind',
  ),
  histogramOfEach(
    'd2_calls_first_byte_seconds',
    'Time from the head of a call to the first byte of its final answer.',
    ({ totals }) => readKinds(totals, ({ firstByte }) => firstByte),
    'kind',
  ),
  gaugeOfEach('d2_calls_running', 'Running calls.', ({ running }) => running.size),
  gaugeOfEach(
    'd2_calls_hung',
    'Running calls of a name whose calls all hang, else absent.',
    (application) => {
      const hung = findHung(application);
      return hung === null ? undefined : { [hung.kind]: { [hideUnconfirmedName(hung)]: hung.count } };
    },
    'kind',
    'name',
  ),
  gaugeOfEach(
    'd2_sessions',
    'Sessions now, by connection type.',
    ({ sessions }) => sessions.countsByType(),
    'connection_type',
  ),
  counterOfEach('d2_sessions_created_total', 'Sessions begun.', ({ sessions }) => sessions.created.count),
  histogramOfEach(
    'd2_session_creation_duration_seconds',
    'Durations of the calls that began a session.',
    ({ sessions }) => sessions.created.durations,
  ),
  gaugeOfEach(
    'd2_objects_monitored',
    'Objects with at least one monitoring now.',
    ({ statistics }) => statistics.object.monitored,
  ),
  gaugeOfEach(
    'd2_object_subscriptions',
    'Monitorings of the object now.',
    ({ statistics }) => readEach(statistics.object.objects, ({ subscriptions }) => subscriptions.count),
    'name',
  ),
  counterOfEach(
    'd2_object_values_total',
    'Values read over REST or pushed over Comet.',
    ({ statistics }) => readEach(statistics.object.objects, ({ newValues }) => newValues.count),
    'name',
  ),
  gaugeOfEach(
    'd2_sidecar_names',
    'Names with own statistics; limit metrics.maxNames.',
    ofKinds(({ nameCount }) => nameCount),
    'kind',
  ),
  counterOfEach(
    'd2_sidecar_names_folded_total',
    'Events counted as (other) for metrics.maxNames.',
    ofKinds(({ foldedCount }) => foldedCount),
    'kind',
  ),
];

/** As `describe`, for each application, with the label `application` before the others. */
function ofEach(describe: typeof counter) {
  return (name: string, help: string, read: (application: RecordedApplication) => MetricValues, ...labels: string[]) =>
    describe(
      name,
      help,
      (applications: readonly RecordedApplication[]) => applications.map((one) => [one.name, read(one)] as const),
      'application',
      ...labels,
    );
}

function readKinds({ byKind }: CallTotals, read: (totals: CallTotals['byKind']['rpc']) => MetricValues): MetricValues {
  return Object.entries(byKind).map(([kind, totals]) => [kind, read(totals)] as const);
}

/** For metrics of both kinds of calls, with the label `kind` and those that `read` adds. */
function ofCalls(read: (calls: CallStatistics) => MetricValues) {
  return ({ statistics: { rpc, sba } }: RecordedApplication) => ({ rpc: read(rpc), sba: read(sba) });
}

function ofKinds(read: (kind: CallStatistics | ObjectStatistics) => number) {
  return ({ statistics: { rpc, sba, object } }: RecordedApplication) => ({
    rpc: read(rpc),
    sba: read(sba),
    object: read(object),
  });
}
