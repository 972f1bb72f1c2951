import { describe, expect, it } from 'vitest';
import type { Gauge } from '../../../src/metrics/gauge.ts';
import { emptyMetricSet, type MetricSet } from '../../../src/metrics/metric-set.ts';
import type { TimerSnapshot } from '../../../src/metrics/timer.ts';
import { toJavaDouble } from '../../../src/monitor/dropwizard/java-text.ts';
import { timerFields } from '../../../src/monitor/dropwizard/metric-fields.ts';
import { type RenderOptions, renderMetrics } from '../../../src/monitor/dropwizard/render.ts';
import { readFixture } from '../../metrics/read-fixture.ts';
import { metricsOfSample, reduced } from './sample-document.ts';

const COMPACT = { pretty: false, durationUnit: 'seconds' } as const;

/** Gauges of the samples that the sidecar does not have: other types, and numbers beyond those of JavaScript. */
const FOREIGN_GAUGES: Readonly<Record<string, readonly string[]>> = {
  'registry-edge-cases': [
    'gauge.bigDecimal',
    'gauge.bigDecimalExp',
    'gauge.bool',
    'gauge.emptySet',
    'gauge.intArray',
    'gauge.list',
    'gauge.longMax',
    'gauge.map',
  ],
  'registry-demo-seconds-seconds': ['object.H.Pump.value'],
  'registry-demo-seconds-milliseconds': ['object.H.Pump.value'],
  'registry-demo-4.2.28': ['object.H.Pump.value'],
};

const SAMPLES = [
  ['registry-empty', 'seconds'],
  ['registry-demo-seconds-seconds', 'seconds'],
  ['registry-demo-seconds-milliseconds', 'milliseconds'],
  ['registry-edge-cases', 'milliseconds'],
  ['registry-jvm-g1', 'seconds'],
] as const;

async function chunksOf(set: MetricSet, options: RenderOptions = COMPACT): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of renderMetrics(set, options)) chunks.push(chunk);
  return chunks;
}

async function textOf(set: MetricSet, options: RenderOptions = COMPACT): Promise<string> {
  return (await chunksOf(set, options)).join('');
}

async function gaugeText(gauge: Gauge): Promise<string> {
  const text = await textOf({ ...emptyMetricSet, gauges: new Map([['g', gauge]]) });
  return /"g":(\{.*?\})\}/.exec(text)?.[1] ?? text;
}

function timerOf(snapshot: TimerSnapshot): MetricSet['timers'] extends ReadonlyMap<string, infer T> ? T : never {
  return { count: snapshot.count, snapshot: () => snapshot };
}

const SNAPSHOT: TimerSnapshot = {
  count: 1,
  max: 1,
  mean: 1,
  min: 1,
  p50: 1,
  p75: 1,
  p95: 1,
  p98: 1,
  p99: 1,
  p999: 1,
  stddev: 0,
  rates: { count: 1, m1: 0, m5: 0, m15: 0, mean: 0 },
};

describe('renderMetrics', () => {
  for (const [sample, durationUnit] of SAMPLES) {
    for (const pretty of [false, true]) {
      const file = `${sample}.${pretty ? 'pretty' : 'compact'}.json`;
      it(`writes ${file} byte for byte`, async () => {
        // A stream writes the astral character as escapes, where this file's writer did not.
        const expected = reduced(readFixture(file), pretty, FOREIGN_GAUGES[sample]).replace('😀', '\\uD83D\\uDE00');
        expect(await textOf(metricsOfSample(expected), { pretty, durationUnit })).toBe(expected);
      });
    }
  }

  it('writes what release 4.2.28 writes, version included', async () => {
    const sample = readFixture('registry-demo-4.2.28.pretty.json');
    expect(sample).toContain('"version" : "4.0.0"');
    const expected = reduced(sample, true, FOREIGN_GAUGES['registry-demo-4.2.28']);
    const durationUnit = sample.includes('"milliseconds"') ? 'milliseconds' : 'seconds';
    expect(await textOf(metricsOfSample(expected), { pretty: true, durationUnit })).toBe(expected);
  });

  it('writes a gauge that throws as an error, and the others as ever', async () => {
    const broken: Gauge = {
      type: 'integer',
      read: () => {
        throw new TypeError('no device');
      },
    };
    const good: Gauge = { type: 'integer', read: () => 3 };
    const gauges = new Map([
      ['b', broken],
      ['a', good],
      ['c', good],
    ]);
    expect(await textOf({ ...emptyMetricSet, gauges })).toContain(
      '"gauges":{"a":{"value":3},"b":{"error":"TypeError: no device"},"c":{"value":3}}',
    );
  });

  it('writes gauges by their type, not by their value', async () => {
    expect(await gaugeText({ type: 'double', read: () => 5 })).toBe('{"value":5.0}');
    expect(await gaugeText({ type: 'integer', read: () => 5 })).toBe('{"value":5}');
    expect(await gaugeText({ type: 'double', read: () => Number.NaN })).toBe('{"value":"NaN"}');
    expect(await gaugeText({ type: 'double', read: () => null })).toBe('{"value":null}');
    expect(await gaugeText({ type: 'integer', read: () => 'G1 "Old"' })).toBe('{"value":"G1 \\"Old\\""}');
  });

  it('sorts any number of names by their UTF-16 code units', async () => {
    const names = Array.from({ length: 7_345 }, (_, i) => `n${(i * 7_919) % 7_345}`);
    names.push('', 'Z', 'a', 'ä', '\uffff', '😀', '7', '10', '__proto__');
    const counters = new Map(names.map((name) => [name, { count: 1 }]));
    const text = await textOf({ ...emptyMetricSet, counters });
    const written = [...text.matchAll(/("(?:[^"\\]|\\.)*"):\{"count"/g)].map((match) => JSON.parse(match[1] as string));
    expect(written).toEqual([...names].sort());
  });

  it('yields chunks of about 16 KB', async () => {
    const timers = new Map(Array.from({ length: 500 }, (_, i) => [`rpc.E.Demo.Method${i}`, timerOf(SNAPSHOT)]));
    const chunks = await chunksOf({ ...emptyMetricSet, timers });
    const sizes = chunks.map((chunk) => chunk.length);
    expect(Math.max(...sizes)).toBeLessThan(17_000);
    expect(sizes.filter((size) => size > 16_000).length).toBeGreaterThan(5);
    expect(Object.keys((JSON.parse(chunks.join('')) as { timers: object }).timers)).toHaveLength(500);
  });

  it('lets the event loop run in between', async () => {
    const slow = {
      count: 1,
      snapshot: () => {
        for (const until = performance.now() + 1; performance.now() < until; );
        return SNAPSHOT;
      },
    };
    const timers = new Map(Array.from({ length: 60 }, (_, i) => [`t${i}`, slow]));
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await textOf({ ...emptyMetricSet, timers });
    isDone = true;
    // 60 ms of work in pieces of 3 ms.
    expect(turns).toBeGreaterThanOrEqual(10);
  });
});

describe('timerFields', () => {
  interface Scaling {
    scaling: { rows: { nanos: number; seconds: number; milliseconds: number }[] };
  }

  it('scales durations by the library’s multiplication, to the last digit', () => {
    const { rows } = (JSON.parse(readFixture('timer-vectors.json')) as Scaling).scaling;
    for (const row of rows) {
      for (const unit of ['seconds', 'milliseconds'] as const) {
        const fields = new Map(timerFields(timerOf({ ...SNAPSHOT, p95: row.nanos }), unit));
        expect(fields.get('p95')).toBe(toJavaDouble(row[unit]));
        expect(fields.get('duration_units')).toBe(`"${unit}"`);
      }
    }
    expect(rows.length).toBeGreaterThan(10);
  });
});
