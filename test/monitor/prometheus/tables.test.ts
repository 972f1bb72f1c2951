import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { initMetrics } from '../../../src/metrics/histogram-pool.ts';
import { AVAILABLE, createPlant, MS, piecesOf, samplesOf } from './plant.ts';

beforeAll(initMetrics);

const DOCUMENT = new URL('../../../docs/prometheus.md', import.meta.url);

describe('what /metrics tells', () => {
  it('of calls: durations in buckets, and outcomes, by name', async () => {
    const { statistics, text } = createPlant();
    for (const ms of [0.5, 3, 70_000]) statistics.rpc.recordAnswered('E.Demo.Run', 200, ms * MS);
    statistics.rpc.recordAnswered('E.Demo.Run', 404, MS);
    statistics.rpc.recordAnswered('E.Demo.None', 404, MS);
    statistics.sba.recordFailed(undefined);
    const samples = samplesOf(await text());
    const of = 'application="smartWeb",kind="rpc",name="E.Demo.Run"';
    const bucket = (le: string) => samples.get(`d2_call_duration_seconds_bucket{${of},le="${le}"}`);
    expect(['0.001', '0.0025', '0.005', '60.0', '+Inf'].map(bucket)).toEqual([2, 2, 3, 3, 4]);
    expect(samples.get(`d2_call_duration_seconds_sum{${of}}`)).toBeCloseTo(70.0045, 9);
    expect(samples.get(`d2_call_duration_seconds_count{${of}}`)).toBe(4);
    expect(samples.get(`d2_calls_total{${of},outcome="ok"}`)).toBe(3);
    expect(samples.get(`d2_calls_total{${of},outcome="client_error"}`)).toBe(1);
    expect(samples.get(`d2_calls_total{${of},outcome="error"}`)).toBe(0);
    const unnamed = (kind: string) => `application="smartWeb",kind="${kind}",name=""`;
    expect(samples.get(`d2_calls_total{${unnamed('rpc')},outcome="client_error"}`)).toBe(1);
    expect(samples.get(`d2_calls_total{${unnamed('sba')},outcome="error"}`)).toBe(1);
  });

  it('of objects and sessions', async () => {
    const { statistics, created, text } = createPlant();
    statistics.object.subscribe('H.Level');
    statistics.object.recordValue('H.Level');
    statistics.object.recordRead('H.Temp', 200);
    created.update(20 * MS);
    const samples = samplesOf(await text());
    const of = (name: string) => `{application="smartWeb",name="${name}"}`;
    expect(samples.get('d2_objects_monitored{application="smartWeb"}')).toBe(1);
    expect(samples.get(`d2_object_subscriptions${of('H.Level')}`)).toBe(1);
    expect(samples.get(`d2_object_subscriptions${of('H.Temp')}`)).toBe(0);
    expect(samples.get(`d2_object_values_total${of('H.Temp')}`)).toBe(1);
    expect(samples.get('d2_sessions{application="smartWeb",connection_type="REST"}')).toBe(2);
    expect(samples.get('d2_sessions_created_total{application="smartWeb"}')).toBe(1);
    expect(samples.get('d2_session_creation_duration_seconds_sum{application="smartWeb"}')).toBe(0.02);
  });

  it('of names that no longer fit', async () => {
    const { statistics, text } = createPlant({ maxNames: 1 });
    for (const name of ['a', 'b', 'c', 'b']) statistics.sba.recordAnswered(name, 200, MS);
    const samples = samplesOf(await text());
    expect(samples.get('d2_sidecar_names{application="smartWeb",kind="sba"}')).toBe(2);
    expect(samples.get('d2_sidecar_names_folded_total{application="smartWeb",kind="sba"}')).toBe(3);
    expect(samples.get('d2_calls_total{application="smartWeb",kind="sba",name="(other)",outcome="ok"}')).toBe(3);
  });

  it('of marks of the live page that had no room', async () => {
    const samples = samplesOf(await createPlant().text());
    expect(samples.get('d2_sidecar_history_marks_dropped_total')).toBe(3);
  });

  it('of Comet holds: now, how they ended, for how long', async () => {
    const samples = samplesOf(await createPlant().text());
    expect(samples.get('d2_comet_holds')).toBe(5);
    expect(samples.get('d2_comet_holds_ended_total{ending="delivery"}')).toBe(1);
    expect(samples.get('d2_comet_hold_duration_seconds_sum')).toBeCloseTo(30.5, 9);
    expect(samples.get('d2_comet_hold_duration_seconds_count')).toBe(2);
  });

  it('of the JVM, under the names of the Java library; what is missing is not zero', async () => {
    const samples = samplesOf(await createPlant().text());
    const told = [...samples].filter(([name]) => name.startsWith('jvm_'));
    expect(Object.fromEntries(told)).toEqual({
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

  it('of a JVM that cannot be read: that the source is down, and nothing else', async () => {
    const jvm = { ...AVAILABLE, state: { kind: 'unavailable', reason: 'gone', sinceEpochMs: 0 } } as const;
    const text = await createPlant({ jvm }).text();
    const samples = samplesOf(text);
    expect(samples.get('d2_sidecar_jvm_source_up')).toBe(0);
    expect(text).not.toMatch(/(^| )jvm_/m);
    expect([...samples.keys()].filter((name) => /reading_age|source_info/.test(name))).toEqual([]);
  });

  it('nothing of a JVM, or of credentials, where neither is configured', async () => {
    const jvm = { state: { kind: 'unavailable', reason: 'none', sinceEpochMs: 0 } } as const;
    const text = await createPlant({ jvm, hasAccess: false }).text();
    expect(text).not.toMatch(/jvm|credentials/);
  });

  it('never less than before, of whatever is a counter', async () => {
    const { statistics, clock, text } = createPlant({ maxNames: 3 });
    let before = new Map<string, number>();
    for (let round = 0; round < 40; round += 1) {
      for (const name of ['a', 'b', undefined, `n${round}`]) {
        statistics.rpc.recordAnswered(name, 200 + ((round * 97) % 400), round * 7 * MS);
      }
      statistics.rpc.recordFailed('a');
      statistics.object.recordValue(`o${round % 5}`);
      // Past the window each time, which forgets percentiles.
      clock.advanceS(400);
      const written = await text();
      const counters = new Set(
        [...written.matchAll(/^# TYPE (\S+) (?:counter|histogram|summary)$/gm)].map(([, n]) => n),
      );
      const now = new Map(
        [...samplesOf(written)].filter(([name]) =>
          counters.has(/^\w+/.exec(name)?.[0].replace(/_(bucket|sum|count)$/, '')),
        ),
      );
      for (const [name, value] of before) expect([name, (now.get(name) ?? -1) >= value]).toEqual([name, true]);
      before = now;
    }
    expect(before.get('d2_calls_total{application="smartWeb",kind="rpc",name="a",outcome="error"}')).toBeGreaterThan(
      40,
    );
  });
});

describe('its form', () => {
  it('is the table in docs/prometheus.md', async () => {
    const { statistics, text } = createPlant();
    statistics.object.recordValue('H.Level');
    const written = await text();
    const shown = [...written.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n(.*)/gm)].map(
      ([, name, help, type, sample = '']) => {
        const labels = [...sample.matchAll(/[{,](\w+)="/g)].map(([, label]) => label).filter((label) => label !== 'le');
        return [name, type, labels.join(', '), help].join(' | ');
      },
    );
    const listed = [...readFileSync(DOCUMENT, 'utf8').matchAll(/^\| `(\w+)` +\| (\w+) +\| (.*?) *\| (.*?) *\|$/gm)].map(
      ([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', ''), help].join(' | '),
    );
    expect(listed).toEqual(shown);
    expect(shown.length).toBeGreaterThan(50);
  });

  it('has no help that would have to be escaped, and no family twice', async () => {
    const { statistics, text } = createPlant();
    statistics.object.recordValue('H.Level');
    const written = await text('openmetrics');
    const families = [...written.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(families).size).toBe(families.length);
    expect([...written.matchAll(/^# HELP \S+ (.*)$/gm)].filter(([, help = '']) => /["\\]/.test(help))).toEqual([]);
  });

  it('comes in small pieces, whole in both formats, with as many names as there may be', async () => {
    const { statistics, monitored } = createPlant();
    for (let i = 0; i < 2_100; i += 1) statistics.rpc.recordAnswered(`E.Demo.Method${i}`, 200, i * MS);
    for (let i = 0; i < 10_100; i += 1) statistics.object.recordValue(`H.Plant.Object${i}`);
    for (const format of ['text', 'openmetrics'] as const) {
      const pieces = piecesOf(monitored, await monitored.sidecar.readProcess(), format);
      expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(5_000);
      const text = pieces.join('');
      const lines = (prefix: string) => text.split('\n').filter((line) => line.startsWith(prefix)).length;
      // 2,000 names, (other), and what has no name, of two kinds.
      expect(lines('d2_call_duration_seconds_count{')).toBe(2_000 + 1 + 2);
      expect(lines('d2_call_duration_seconds_bucket{')).toBe(16 * 2_003);
      expect(lines('d2_object_values_total{')).toBe(10_001);
      expect(text.endsWith('\n')).toBe(true);
    }
  });
});
