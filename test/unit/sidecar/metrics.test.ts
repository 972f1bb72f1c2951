/** What /metrics says of what was counted. Names, types and labels: docs/prometheus.md is generated from them. */
import { expect, it } from 'vitest';
import { CometMetrics } from '../../../src/measure/comet/comet-metrics.ts';
import { METRICS, type MetricSources } from '../../../src/sidecar/metrics.ts';
import { ManualClock } from '../../support/clock.ts';
import { listSources, readProject } from '../../support/docs/documents.ts';
import { AVAILABLE, createPlant, MS } from '../../support/monitor/prometheus/plant.ts';
import { samplesOf } from '../../support/monitor/prometheus/samples.ts';

const HANDSHAKES = { failed: 9, timedOut: 2, refused: 3, unverified: 1 };
const FAMILIES = Object.values(METRICS).flat();

it('/metrics shows durations and outcomes of calls by name', async () => {
  const { statistics, text } = await createPlant();
  for (const ms of [0.5, 3, 70_000]) statistics.rpc.recordAnswered('E.Demo.Run', 200, ms * MS);
  statistics.rpc.recordAnswered('E.Demo.Run', 404, MS);
  statistics.rpc.recordAnswered('E.Demo.None', 404, MS);
  statistics.sba.recordFailed(undefined);
  const samples = samplesOf(text());
  const of = 'application="smartWeb",kind="rpc",name="E.Demo.Run"';
  const bucket = (le: string) => samples.get(`d2_call_duration_seconds_bucket{${of},le="${le}"}`);
  expect(['0.001', '0.0025', '0.005', '60.0', '+Inf'].map(bucket)).toEqual([2, 2, 3, 3, 4]);
  expect(samples.get(`d2_call_duration_seconds_sum{${of}}`)).toBeCloseTo(70.0045, 9);
  expect(samples.get(`d2_call_duration_seconds_count{${of}}`)).toBe(4);
  const outcomes = (labels: string) =>
    ['ok', 'client_error', 'error'].map((outcome) => samples.get(`d2_calls_total{${labels},outcome="${outcome}"}`));
  expect(outcomes(of)).toEqual([3, 1, 0]);
  expect(outcomes('application="smartWeb",kind="rpc",name=""')).toEqual([0, 1, 0]);
  expect(outcomes('application="smartWeb",kind="sba",name=""')).toEqual([0, 0, 1]);
});

it('/metrics shows objects and sessions', async () => {
  const { statistics, created, text } = await createPlant();
  statistics.object.subscribe('H.Level');
  statistics.object.recordValue('H.Level');
  statistics.object.recordRead('H.Temp', 200);
  created.update(20 * MS);
  const samples = samplesOf(text());
  const of = (name: string) => `{application="smartWeb",name="${name}"}`;
  expect(Object.fromEntries(samples)).toMatchObject({
    'd2_objects_monitored{application="smartWeb"}': 1,
    [`d2_object_subscriptions${of('H.Level')}`]: 1,
    [`d2_object_subscriptions${of('H.Temp')}`]: 0,
    [`d2_object_values_total${of('H.Temp')}`]: 1,
    'd2_sessions{application="smartWeb",connection_type="REST"}': 0,
    'd2_sessions_created_total{application="smartWeb"}': 1,
    'd2_session_creation_duration_seconds_sum{application="smartWeb"}': 0.02,
  });
});

it('/metrics shows Comet holds: how many now, how they ended, how long they were', async () => {
  const comet = new CometMetrics(new ManualClock());
  for (const ending of ['delivery', 'empty', undefined] as const) {
    comet.holds.now += 1;
    if (ending !== undefined) comet.holdEnded(ending, (ending === 'empty' ? 30_000 : 500) * MS, 0);
  }
  const samples = await shown({ comet });
  expect(samples.get('d2_comet_holds')).toBe(1);
  expect(samples.get('d2_comet_holds_ended_total{ending="delivery"}')).toBe(1);
  expect(samples.get('d2_comet_hold_duration_seconds_sum')).toBeCloseTo(30.5, 9);
  expect(samples.get('d2_comet_hold_duration_seconds_count')).toBe(2);
});

it('/metrics shows the JVM under the names of the Java library, without the values that are missing', async () => {
  const samples = samplesOf((await createPlant()).text());
  expect(only(samples, /^jvm_/)).toEqual({
    jvm_classes_currently_loaded: 880,
    jvm_classes_loaded_total: 900,
    jvm_classes_unloaded_total: 20,
    'jvm_memory_used_bytes{area="heap"}': 20,
    'jvm_memory_used_bytes{area="nonheap"}': 2,
    'jvm_memory_committed_bytes{area="heap"}': 30,
    'jvm_memory_committed_bytes{area="nonheap"}': 3,
    'jvm_memory_max_bytes{area="heap"}': 40,
    'jvm_memory_max_bytes{area="nonheap"}': -1,
    'jvm_memory_init_bytes{area="heap"}': 10,
    'jvm_memory_init_bytes{area="nonheap"}': 1,
    'jvm_memory_pool_used_bytes{pool="G1 Eden Space"}': 5,
    'jvm_memory_pool_used_bytes{pool="CodeHeap \'non-nmethods\'"}': 7,
    'jvm_memory_pool_committed_bytes{pool="G1 Eden Space"}': 6,
    'jvm_memory_pool_max_bytes{pool="G1 Eden Space"}': -1,
    'jvm_memory_pool_init_bytes{pool="G1 Eden Space"}': 4,
    'jvm_memory_pool_collection_used_bytes{pool="G1 Eden Space"}': 0,
    'jvm_gc_collection_seconds_sum{gc="G1 Young Generation"}': 0.25,
    'jvm_gc_collection_seconds_count{gc="G1 Young Generation"}': 3,
  });
  expect(samples.get('d2_sidecar_jvm_source_up')).toBe(1);
  expect(samples.get('d2_sidecar_jvm_reading_age_seconds')).toBe(1.5);
});

it('/metrics shows of an unreadable JVM only that its source is down', async () => {
  const jvm = { ...AVAILABLE, state: { kind: 'unavailable', reason: 'gone', sinceEpochMs: 0 } } as const;
  const text = (await createPlant({ jvm })).text();
  const samples = samplesOf(text);
  expect(samples.get('d2_sidecar_jvm_source_up')).toBe(0);
  expect(text).not.toMatch(/(^| )jvm_/m);
  expect(only(samples, /reading_age|source_info/)).toEqual({});
});

it('/metrics shows nothing of a JVM, credentials or TLS that are not configured', async () => {
  const jvm = { state: { kind: 'unavailable', reason: 'none', sinceEpochMs: 0 } } as const;
  const text = (await createPlant({ jvm })).text();
  expect(text).not.toMatch(/^[^#].*(?:jvm|credentials|passwords|_tls_|section="(?!monitor\.auth))/m);
});

it('/metrics shows TLS by listener and section, and counts each failed handshake under one reason', async () => {
  const files = { replaced: 2, unusable: 1 };
  const listen = { numbers: { ...files, notAfterEpochMs: 1_803_888_000_000, ...HANDSHAKES } };
  const upstream = { numbers: { ...files, notAfterEpochMs: undefined, failed: 4 } };
  const sections = { 'listen.tls': listen, 'monitor.tls': undefined, 'upstream.tls': upstream };
  const samples = await shown({
    ...{ handshakes: { listen, monitor: undefined }, upstreamTls: upstream },
    ...{ certificates: sections, files: sections },
  });
  expect(only(samples, /_tls_|_files_/)).toEqual({
    'd2_sidecar_tls_handshakes_failed_total{listener="listen",reason="timeout"}': 2,
    'd2_sidecar_tls_handshakes_failed_total{listener="listen",reason="certificate"}': 3,
    'd2_sidecar_tls_handshakes_failed_total{listener="listen",reason="other"}': 4,
    'd2_sidecar_tls_unverified_clients_total{listener="listen"}': 1,
    d2_sidecar_upstream_tls_failures_total: 4,
    'd2_sidecar_tls_certificate_expiry_timestamp_seconds{section="listen.tls"}': 1_803_888_000,
    'd2_sidecar_files_replaced_total{section="listen.tls"}': 2,
    'd2_sidecar_files_replaced_total{section="upstream.tls"}': 2,
    'd2_sidecar_files_unusable_total{section="listen.tls"}': 1,
    'd2_sidecar_files_unusable_total{section="upstream.tls"}': 1,
  });
});

it('/metrics shows the monitoring port: connections, credentials, dropped marks', async () => {
  const samples = await shown({
    ...{ history: { droppedMarks: 3, minutes: { bytes: 8_192, dropped: 2 } }, monitor: { size: 4, overflows: 7 } },
    access: { wrong: 1, limited: 2, unchecked: 5, forgotten: 6 },
  });
  expect(only(samples, /_monitor_|_history_/)).toEqual({
    d2_sidecar_history_bytes: 8_192,
    d2_sidecar_history_marks_dropped_total: 3,
    d2_sidecar_history_evictions_total: 2,
    d2_sidecar_monitor_connections: 4,
    d2_sidecar_monitor_overflows_total: 7,
    d2_sidecar_monitor_wrong_credentials_total: 1,
    d2_sidecar_monitor_limited_requests_total: 2,
    d2_sidecar_monitor_unverified_passwords_total: 5,
    d2_sidecar_monitor_forgotten_addresses_total: 6,
  });
});

it('/metrics never shows a counter that has fallen', async () => {
  const { statistics, clock, text } = await createPlant({ maxNames: 3 });
  let before = new Map<string, number>();
  for (let round = 0; round < 40; round += 1) {
    for (const name of ['a', 'b', undefined, `n${round}`]) {
      statistics.rpc.recordAnswered(name, 200 + ((round * 97) % 400), round * 7 * MS);
    }
    statistics.rpc.recordFailed('a');
    statistics.object.recordValue(`o${round % 5}`);
    // Past the window each time, which forgets percentiles.
    clock.advanceS(400);
    const written = text();
    const rising = [...written.matchAll(/^# TYPE (\S+) (?:counter|histogram|summary)$/gm)].map(([, n]) => n);
    const familyOf = (name: string) => /^\w+/.exec(name)?.[0].replace(/_(bucket|sum|count)$/, '');
    const now = new Map([...samplesOf(written)].filter(([name]) => rising.includes(familyOf(name))));
    for (const [name, value] of before) expect([name, (now.get(name) ?? -1) >= value]).toEqual([name, true]);
    before = now;
  }
  const errors = 'd2_calls_total{application="smartWeb",kind="rpc",name="a",outcome="error"}';
  expect(before.get(errors)).toBeGreaterThan(40);
});

it('a document of /metrics has every list that a room exports, and each family once, with a help that needs no escaping', () => {
  const pattern = /^export const (\w+_METRICS): readonly MetricDescription</gm;
  const lists = listSources().flatMap((file) =>
    Array.from(readProject(`src/${file}`).matchAll(pattern), ([, name = '']) => name),
  );
  expect(lists.length).toBeGreaterThan(20);
  const missing = lists.filter((name) => !readProject('src/sidecar/metrics.ts').includes(`: ${name},`));
  expect(missing, 'add a line to METRICS in src/sidecar/metrics.ts').toEqual([]);
  const names = FAMILIES.map(({ name }) => name);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  expect(FAMILIES.filter(({ help }) => !/^[A-Z][^"\\\n]*\.$/.test(help))).toEqual([]);
});

function only(samples: Map<string, number>, names: RegExp): Record<string, number> {
  return Object.fromEntries([...samples].filter(([name]) => names.test(name)));
}

async function shown(sources: Partial<MetricSources>): Promise<Map<string, number>> {
  return samplesOf((await createPlant({ sources })).text());
}
