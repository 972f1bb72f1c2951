import { describe, expect, it } from 'vitest';
import { DurationBuckets, toBounds } from '../../../src/metrics/duration-buckets.ts';
import {
  type ExpositionFormat,
  renderTables,
  toLabelValue,
  toNumber,
} from '../../../src/monitor/prometheus/exposition.ts';
import { labelled, single, type Table } from '../../../src/monitor/prometheus/table.ts';

function textOf(tables: readonly Table[], format: ExpositionFormat = 'text'): string {
  return [...renderTables(tables, format)].join('');
}

function smallTables(): readonly Table[] {
  const buckets = new DurationBuckets(toBounds([0.0025, 1, 60]));
  buckets.add(2e6);
  buckets.add(3e9);
  return [
    single('counter', 'a_total', 'Things.', () => 3),
    single('gauge', 'b_bytes', 'Bytes.', () => 1.5),
    single('gauge', 'absent', 'Nothing.', () => undefined),
    labelled({ type: 'counter', name: 'c_total', help: 'By kind.', label: 'kind' }, () => ({ x: 1, y: 0 })),
    labelled({ type: 'gauge', name: 'd', help: 'By map.', label: 'of' }, () => new Map([['m', 2]])),
    {
      ...{ name: 'e_seconds', type: 'histogram', help: 'Durations.', labels: ['name'] },
      samples: () => [{ labels: ['n'], value: buckets }],
    },
    {
      ...{ name: 'f_seconds', type: 'histogram', help: 'Without labels.', labels: [] },
      samples: () => [{ labels: [], value: new DurationBuckets(toBounds([1])) }],
    },
    {
      ...{ name: 'g_seconds', type: 'summary', help: 'Sums.', labels: ['gc'] },
      samples: () => [
        { labels: ['both'], value: { count: 2, sum: 0.5 } },
        { labels: ['half'], value: { count: 7 } },
      ],
    },
    {
      ...{ name: 'h_info', type: 'info', help: 'About.', labels: ['v'] },
      samples: () => [{ labels: ['1'], value: 1 }],
    },
  ];
}

const SAMPLES = {
  e: `e_seconds_bucket{name="n",le="0.0025"} 1
e_seconds_bucket{name="n",le="1.0"} 1
e_seconds_bucket{name="n",le="60.0"} 2
e_seconds_bucket{name="n",le="+Inf"} 2
e_seconds_sum{name="n"} 3.002
e_seconds_count{name="n"} 2
`,
  f: `f_seconds_bucket{le="1.0"} 0
f_seconds_bucket{le="+Inf"} 0
f_seconds_sum 0
f_seconds_count 0
`,
  g: `g_seconds_sum{gc="both"} 0.5
g_seconds_count{gc="both"} 2
g_seconds_count{gc="half"} 7
`,
};

describe('renderTables', () => {
  it('writes text 0.0.4', () => {
    expect(textOf(smallTables())).toBe(`# HELP a_total Things.
# TYPE a_total counter
a_total 3
# HELP b_bytes Bytes.
# TYPE b_bytes gauge
b_bytes 1.5
# HELP c_total By kind.
# TYPE c_total counter
c_total{kind="x"} 1
c_total{kind="y"} 0
# HELP d By map.
# TYPE d gauge
d{of="m"} 2
# HELP e_seconds Durations.
# TYPE e_seconds histogram
${SAMPLES.e}# HELP f_seconds Without labels.
# TYPE f_seconds histogram
${SAMPLES.f}# HELP g_seconds Sums.
# TYPE g_seconds summary
${SAMPLES.g}# HELP h_info About.
# TYPE h_info gauge
h_info{v="1"} 1
`);
  });

  it('writes OpenMetrics 1.0: families without the endings of their samples, and an end', () => {
    expect(textOf(smallTables(), 'openmetrics')).toBe(`# HELP a Things.
# TYPE a counter
a_total 3
# HELP b_bytes Bytes.
# TYPE b_bytes gauge
b_bytes 1.5
# HELP c By kind.
# TYPE c counter
c_total{kind="x"} 1
c_total{kind="y"} 0
# HELP d By map.
# TYPE d gauge
d{of="m"} 2
# HELP e_seconds Durations.
# TYPE e_seconds histogram
${SAMPLES.e}# HELP f_seconds Without labels.
# TYPE f_seconds histogram
${SAMPLES.f}# HELP g_seconds Sums.
# TYPE g_seconds summary
${SAMPLES.g}# HELP h About.
# TYPE h info
h_info{v="1"} 1
# EOF
`);
  });

  it('writes nothing, or only the end, of nothing', () => {
    expect(textOf([])).toBe('');
    expect(textOf([], 'openmetrics')).toBe('# EOF\n');
  });

  it('takes a few numbers for each piece', () => {
    let taken = 0;
    const large: Table = {
      ...{ name: 'a', type: 'gauge', help: 'Large.', labels: ['i'] },
      *samples() {
        for (let i = 0; i < 10_000; i += 1) {
          taken += 1;
          yield { labels: [`name ${i}`], value: i };
        }
      },
    };
    let before = 0;
    for (const piece of renderTables([large], 'text')) {
      expect(taken - before).toBeLessThanOrEqual(8);
      expect(piece.length).toBeLessThan(300);
      before = taken;
    }
    expect(taken).toBe(10_000);
  });

  it('takes one histogram for each piece', () => {
    const durations = new DurationBuckets(toBounds([1]));
    const table: Table = {
      ...{ name: 'h', type: 'histogram', help: 'Durations.', labels: ['i'] },
      samples: () => Array.from({ length: 20 }, (_, i) => ({ labels: [`${i}`], value: durations })),
    };
    expect([...renderTables([table], 'text')]).toHaveLength(20);
  });
});

describe('toLabelValue', () => {
  it.each([
    ['E.Demo.TestInOut', 'E.Demo.TestInOut'],
    ['a"b', 'a\\"b'],
    ['a\\b', 'a\\\\b'],
    ['a\nb\r', 'a\\nb\r'],
    ['\\n', '\\\\n'],
    ['Größe/1 €, {x="y"} 😀', 'Größe/1 €, {x=\\"y\\"} 😀'],
    ['\ud83dx', '\\\\ud83dx'],
    ['x\ude00\ud83d\ude00', 'x\\\\ude00😀'],
  ])('%j', (text, escaped) => {
    expect(toLabelValue(text)).toBe(escaped);
  });
});

describe('toNumber', () => {
  it.each([
    [0, '0'],
    [1e21, '1e+21'],
    [2.5e-7, '2.5e-7'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ])('%f', (value, text) => expect(toNumber(value)).toBe(text));
});
