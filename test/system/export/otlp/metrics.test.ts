/** Metrics by OTLP are the metrics of `/metrics`: every name, label, value, type and sentence. */
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Otlp } from '../../../../src/export/otlp/otlp.ts';
import { OtlpReceiver, toSamples } from '../../../support/export/otlp/otlp-receiver.ts';
import { toMetrics } from '../../../support/export/otlp/wire-decoder.ts';
import { createPlant, MS, type Plant } from '../../../support/monitor/prometheus/plant.ts';
import { samplesOf } from '../../../support/monitor/prometheus/samples.ts';
import { createStand, otlpConfig } from './stand.ts';

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await OtlpReceiver.listen();
});
afterEach(() => receiver.close());

/** Pushes the metrics of the plant once. */
async function pushed(plant: Pick<Plant, 'monitored' | 'clock'>): Promise<Otlp> {
  const { otlp } = createStand(otlpConfig({ endpoint: receiver.endpoint }), plant);
  await otlp.flush();
  await otlp.stop(0);
  return otlp;
}

async function filled(): Promise<Plant> {
  const plant = await createPlant();
  const { statistics, created } = plant;
  for (const [i, name] of ['E.Demo.Test', 'Größe/1 €', '😀 "x" \\y', 'half \ud83d', 'half \ud83e'].entries()) {
    statistics.rpc.recordAnswered(name, i % 2 === 0 ? 200 : 500, (i + 1) * 7 * MS);
    statistics.sba.recordAnswered(name, 200, 90_000 * MS);
    statistics.sba.recordFailed(name);
    statistics.object.recordRead(`H.${name}`, 200);
    statistics.object.subscribe(`H.${name}`);
  }
  created.update(20 * MS);
  return plant;
}

/** The kind of OTLP by the type of Prometheus. */
const KINDS: Readonly<Record<string, string>> = {
  counter: 'sum',
  summary: 'sum',
  gauge: 'gauge',
  histogram: 'histogram',
};

describe('a push', () => {
  it('has every sample of /metrics with its value, type and help, the unit of its name, and no other; and is counted', async () => {
    const plant = await filled();
    for (let i = 0; i < 200; i += 1) plant.statistics.rpc.recordAnswered(`E.Method${i}`, 200, i * MS);
    const otlp = await pushed(plant);
    const text = plant.text();
    expect(receiver.received.length).toBeGreaterThan(1);
    expect(toSamples(receiver.metrics)).toEqual(samplesOf(text));
    const accepted = receiver.metrics.flatMap(({ points }) => points).length;
    const exports = { ok: receiver.received.length, failed: 0 };
    expect(otlp.signals.get('metrics')).toMatchObject({ isUp: true, exports, items: { accepted } });
    const samples = samplesOf((await createPlant({ sources: { otlp } })).text());
    expect(samples.get('d2_sidecar_otlp_up{signal="metrics"}')).toBe(1);
    expect(samples.get('d2_sidecar_otlp_exports_total{signal="metrics",outcome="ok"}')).toBe(exports.ok);
    const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => [name, type]));
    const help = new Map([...text.matchAll(/^# HELP (\S+) (.+)$/gm)].map(([, name = '', line]) => [name, line]));
    const wrong = receiver.metrics.filter(({ name, kind, temporality, isMonotonic, description }) => {
      const family = types.has(name) ? name : name.replace(/_(?:sum|count)$/, '');
      const expected = KINDS[types.get(family) ?? ''];
      const isRight = kind === 'gauge' || (temporality === 2 && isMonotonic === (kind === 'sum'));
      return kind !== expected || !isRight || description !== help.get(family);
    });
    expect(wrong).toEqual([]);
    expect(Object.fromEntries(receiver.metrics.map(({ name, unit }) => [name, unit]))).toMatchObject({
      ...{ d2_call_duration_seconds: 's', process_cpu_seconds_total: 's', process_resident_memory_bytes: 'By' },
      ...{ d2_comet_hold_duration_seconds_count: '', d2_calls_total: '' },
    });
  });

  it('identifies its sender, as protobuf over POST', async () => {
    await pushed(await filled());
    const [first] = receiver.received;
    const agent = expect.stringMatching(/^d2-sidecar\/1\.2\.3 /);
    const headers = { 'content-type': 'application/x-protobuf', 'user-agent': agent };
    expect(first).toMatchObject({ path: '/v1/metrics', headers });
    expect(toMetrics(first?.body as Buffer).resource).toEqual({
      'service.name': 'd2-sidecar',
      'service.version': '1.2.3',
      'service.instance.id': `${hostname()}:pid-${process.pid}`,
      'host.name': hostname(),
    });
  });

  it('counts from the start of the process, or from an unknown time for older counters', async () => {
    const plant = await filled();
    const startOf = (name: string) => receiver.metrics.find((metric) => metric.name === name)?.points[0]?.startNs;
    await pushed(plant);
    expect(startOf('d2_calls_total')).toBe(1_772_352_000_500_000_000n);
    expect(startOf('jvm_classes_loaded_total')).toBe(0n);
    receiver.received.length = 0;
    const { sidecar } = plant.monitored;
    await pushed({ ...plant, monitored: { ...plant.monitored, sidecar: { ...sidecar, isRestored: true } } });
    expect(startOf('d2_calls_total')).toBe(0n);
    expect(startOf('process_cpu_seconds_total')).toBe(1_772_352_000_500_000_000n);
    expect(startOf('jvm_classes_loaded_total')).toBe(0n);
  });

  it('reads full tables in many turns of the event loop, and sends at most 500 data points in a request', async () => {
    const { statistics, monitored, clock } = await createPlant();
    for (let i = 0; i < 2_000; i += 1) statistics.rpc.recordAnswered(`E.Method${i}`, 200, MS);
    for (let i = 0; i < 10_000; i += 1) statistics.object.recordRead(`H.Object${i}`, 200);
    let ns = 0;
    const turns = vi.spyOn(globalThis, 'setImmediate');
    onTestFinished(() => turns.mockRestore());
    // Each look at the clock costs a tenth of a millisecond.
    await pushed({ monitored, clock: Object.assign(clock, { nowNs: () => (ns += 0.1 * MS) }) });
    expect(turns.mock.calls.length).toBeGreaterThan(1_000);
    const counts = receiver.received.map(({ body }) => toMetrics(body).metrics.flatMap(({ points }) => points).length);
    expect(Math.max(...counts)).toBe(500);
    expect(counts.length).toBeGreaterThan(50);
  });
});

it('pushes come every interval, each whole, until the end', async () => {
  const metrics = { enabled: true, intervalMs: 20, histograms: 'explicit' } as const;
  const { otlp } = createStand(otlpConfig({ endpoint: receiver.endpoint, metrics }), await filled());
  const builds = () => receiver.metrics.filter(({ name }) => name === 'd2_sidecar_build_info').length;
  await receiver.until(() => builds() >= 3);
  await otlp.stop(0);
  const count = receiver.received.length;
  await new Promise((resolve) => setImmediate(resolve));
  expect(receiver.received.length).toBe(count);
});
