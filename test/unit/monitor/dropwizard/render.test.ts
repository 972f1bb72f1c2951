import { expect, it } from 'vitest';
import { type CounterReading, emptyMetricSet, type MetricSet } from '../../../../src/metrics/metric-set.ts';
import type { TimerSnapshot } from '../../../../src/metrics/timer.ts';
import {
  formatJavaDouble,
  formatJavaInteger,
  formatJsonText,
  type RenderOptions,
  renderMetrics,
  timerFields,
} from '../../../../src/monitor/dropwizard/render.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { readFixture } from '../../metrics/read-fixture.ts';
import { metricsOfSample, reduced } from './sample-document.ts';

const COMPACT = { pretty: false, durationUnit: 'seconds' } as const;

const PUMP = ['object.H.Pump.value'];
const ODD = 'bigDecimal bigDecimalExp bool emptySet intArray list longMax map'
  .split(' ')
  .map((name) => `gauge.${name}`);
/** With the gauges that the sidecar does not have: other types, and numbers beyond those of JavaScript. */
const SAMPLES = [
  ['registry-empty', 'seconds', []],
  ['registry-demo-seconds-seconds', 'seconds', PUMP],
  ['registry-demo-seconds-milliseconds', 'milliseconds', PUMP],
  ['registry-edge-cases', 'milliseconds', ODD],
  ['registry-jvm-g1', 'seconds', []],
  ['registry-demo-4.2.28', 'milliseconds', PUMP],
] as const;

const unionText = (sets: readonly MetricSet[], options: RenderOptions = COMPACT) =>
  [...renderMetrics(sets, options)].join('');
const textOf = (set: MetricSet, options?: RenderOptions) => unionText([set], options);

const timerOf = (snapshot: TimerSnapshot) => ({ count: snapshot.count, snapshot: () => snapshot });
const SNAPSHOT: TimerSnapshot = {
  ...{ count: 1, max: 1, mean: 1, min: 1, p50: 1, p75: 1, p95: 1, p98: 1, p99: 1, p999: 1, stddev: 0 },
  rates: { count: 1, m1: 0, m5: 0, m15: 0, mean: 0 },
};

for (const [sample, durationUnit, foreign] of SAMPLES) {
  // Of release 4.2.28 of the library there is one file.
  for (const pretty of sample === 'registry-demo-4.2.28' ? [true] : [false, true]) {
    const file = `${sample}.${pretty ? 'pretty' : 'compact'}.json`;
    it(`writes ${file} byte for byte`, () => {
      // A stream writes the astral character as escapes, where this file's writer did not.
      const expected = reduced(readFixture(file), pretty, foreign).replace('😀', '\\uD83D\\uDE00');
      expect(textOf(metricsOfSample(expected), { pretty, durationUnit })).toBe(expected);
    });
  }
}

it('renderMetrics writes a metric of several sets once, and refuses two metrics of one name', () => {
  const shared = { count: 1 };
  const one = { ...emptyMetricSet, counters: new Map([['c', shared]]) };
  const same = { ...emptyMetricSet, counters: new Map([['c', shared]]).set('__proto__', { count: 2 }) };
  expect(unionText([one, same])).toContain('"counters":{"__proto__":{"count":2},"c":{"count":1}}');
  const other = { ...emptyMetricSet, counters: new Map([['c', { count: 1 }]]) };
  expect(() => unionText([one, other])).toThrow('two metrics are called c');
});

/** Counters that count how many of their names were read, in no order. */
class CountingMap extends Map<string, CounterReading> {
  looked = 0;

  override *keys(): ReturnType<Map<string, CounterReading>['keys']> {
    for (const name of super.keys()) {
      this.looked += 1;
      yield name;
    }
  }
}

it('renderMetrics sorts names by their UTF-16 code units, and reads at most 500 of them for each piece', () => {
  const counters = new CountingMap();
  for (let i = 0; i < 10_000; i += 1) counters.set(`object.H.${(i * 7_919) % 100_003}`, { count: i });
  for (const odd of ['', 'Z', 'a', 'ä', '\uffff', '😀', '__proto__']) counters.set(odd, { count: 0 });
  let text = '';
  let before = 0;
  for (const piece of renderMetrics([{ ...emptyMetricSet, counters }], COMPACT)) {
    expect(counters.looked - before).toBeLessThanOrEqual(500);
    before = counters.looked;
    text += piece;
  }
  expect(text.match(/(?<=")[^"]*(?=":\{"count")/g)).toEqual(
    [...counters.keys()].sort().map((name) => name.replace('😀', '\\uD83D\\uDE00')),
  );
});

type Scaling = { scaling: { rows: { nanos: number; seconds: number; milliseconds: number }[] } };

it('timerFields scales durations by the library’s multiplication, to the last digit', () => {
  const { rows } = (JSON.parse(readFixture('timer-vectors.json')) as Scaling).scaling;
  for (const row of rows) {
    for (const unit of ['seconds', 'milliseconds'] as const) {
      const { p95, duration_units } = timerFields(timerOf({ ...SNAPSHOT, p95: row.nanos }), unit);
      expect([p95, duration_units]).toEqual([formatJavaDouble(row[unit]), `"${unit}"`]);
    }
  }
  expect(rows.length).toBeGreaterThan(10);
});

/** Digits that JDK 17, which wrote the fixture, writes longer than needed; later ones write these. */
const SHORTER_SINCE_JDK_19: Readonly<Record<string, string>> = {
  '4.9E-324': '5.0E-324',
  '9.999999999999999E22': '1.0E23',
  '1.9999999999999998E23': '2.0E23',
};

const samples = JSON.parse(readFixture('double-format.json')) as { bits: string; jackson: string }[];

it.each(samples)('formatJavaDouble writes the double $bits as $jackson', ({ bits, jackson }) => {
  const value = Buffer.from(bits, 'hex').readDoubleBE();
  expect(formatJavaDouble(value)).toBe(SHORTER_SINCE_JDK_19[jackson] ?? jackson);
  expect(Object.is(Number(formatJavaDouble(value)), value)).toBe(true);
});

it('formatJavaDouble always writes a fraction and reads back as the same double', () => {
  const random = new Random(1);
  const bytes = Buffer.alloc(8);
  let compared = 0;
  while (compared < 20_000) {
    for (let i = 0; i < 8; i += 1) bytes[i] = random.below(256);
    const value = bytes.readDoubleBE();
    if (!Number.isFinite(value)) continue;
    compared += 1;
    const text = formatJavaDouble(value);
    expect(text).toMatch(/^-?(\d{1,7}\.\d+|\d\.\d+E-?\d+)$/);
    expect(Number(text)).toBe(value);
  }
});

it('formatJavaInteger writes all digits and never a fraction, and quotes NaN and the infinities', () => {
  const written = [0, -5, 9_007_201_402_224_640, 1e21, -0, Number.NaN, -Infinity].map(formatJavaInteger);
  expect(written).toEqual(['0', '-5', '9007201402224640', '1000000000000000000000', '0', '"NaN"', '"-Infinity"']);
});

it.each([
  ['escapes quotes, backslashes and controls', '"\\\b\f\n\r\t\0\x1f', '\\"\\\\\\b\\f\\n\\r\\t\\u0000\\u001F'],
  ['leaves all others of the basic plane', "/<b>&'\x7f äß€\u2028\ufeff\uffff", "/<b>&'\x7f äß€\u2028\ufeff\uffff"],
  ['writes astral ones as two escapes, as Jackson does into a stream', 'a😀b', 'a\\uD83D\\uDE00b'],
])('formatJsonText %s', (_, text, json) => {
  expect(formatJsonText(text)).toBe(`"${json}"`);
});
