import { expect, it } from 'vitest';
import type { Table } from '../../../../src/base/metric-description.ts';
import { counter, createTable, gauge, histogram, info, summary } from '../../../../src/base/metric-description.ts';
import { createBucketBounds, DurationBuckets } from '../../../../src/metrics/duration-buckets.ts';
import type { ExpositionFormat } from '../../../../src/monitor/prometheus/exposition.ts';
import { escapeLabelValue, formatSampleValue, renderTables } from '../../../../src/monitor/prometheus/exposition.ts';

const textOf = (tables: readonly Table[], format: ExpositionFormat = 'text') =>
  [...renderTables(tables, format)].join('');

function smallTables(): readonly Table[] {
  const buckets = new DurationBuckets(createBucketBounds([0.0025, 1, 60]));
  buckets.add(2e6);
  buckets.add(3e9);
  const both = { count: 2, sum: 0.5 };
  return [
    counter('a_total', 'Things.', () => 3),
    gauge('b_bytes', 'Bytes.', () => 1.5),
    gauge('absent', 'Nothing.', () => undefined),
    counter('c_total', 'By kind.', () => ({ x: 1, y: 0 }), 'kind'),
    gauge('d', 'By map.', () => new Map([['m', 2]]), 'of'),
    histogram([1])('e_seconds', 'Durations.', () => ({ n: buckets }), 'name'),
    histogram([1])('f_seconds', 'Without labels.', () => new DurationBuckets(createBucketBounds([1]))),
    summary('g_seconds', 'Sums.', () => ({ both, half: { count: 7 }, none: undefined }), 'gc'),
    info('h_info', 'About.', () => ({ '1': { '2': 1 } }), 'v', 'w'),
  ].map((description) => createTable(description, {}));
}

/** What both formats write, in which families of OpenMetrics have no endings. */
function expectedOf(family: (name: string, ending: string) => string, infoType: string): string {
  return `# HELP ${family('a', '_total')} Things.
# TYPE ${family('a', '_total')} counter
a_total 3
# HELP b_bytes Bytes.
# TYPE b_bytes gauge
b_bytes 1.5
# HELP ${family('c', '_total')} By kind.
# TYPE ${family('c', '_total')} counter
c_total{kind="x"} 1
c_total{kind="y"} 0
# HELP d By map.
# TYPE d gauge
d{of="m"} 2
# HELP e_seconds Durations.
# TYPE e_seconds histogram
e_seconds_bucket{name="n",le="0.0025"} 1
e_seconds_bucket{name="n",le="1.0"} 1
e_seconds_bucket{name="n",le="60.0"} 2
e_seconds_bucket{name="n",le="+Inf"} 2
e_seconds_sum{name="n"} 3.002
e_seconds_count{name="n"} 2
# HELP f_seconds Without labels.
# TYPE f_seconds histogram
f_seconds_bucket{le="1.0"} 0
f_seconds_bucket{le="+Inf"} 0
f_seconds_sum 0
f_seconds_count 0
# HELP g_seconds Sums.
# TYPE g_seconds summary
g_seconds_sum{gc="both"} 0.5
g_seconds_count{gc="both"} 2
g_seconds_count{gc="half"} 7
# HELP ${family('h', '_info')} About.
# TYPE ${family('h', '_info')} ${infoType}
h_info{v="1",w="2"} 1
`;
}

it('renderTables writes text 0.0.4, and OpenMetrics 1.0: families without the endings of their samples, and an end', () => {
  expect(textOf(smallTables())).toBe(expectedOf((name, ending) => name + ending, 'gauge'));
  expect(textOf(smallTables(), 'openmetrics')).toBe(`${expectedOf((name) => name, 'info')}# EOF\n`);
});

it.each([
  ['a"b', 'a\\"b'],
  ['a\nb\r', 'a\\nb\r'],
  ['Größe/1 €, {x="y"} 😀', 'Größe/1 €, {x=\\"y\\"} 😀'],
  ['\ud83dx', '\\\\ud83dx'],
  ['x\ude00\ud83d\ude00', 'x\\\\ude00😀'],
])('escapeLabelValue %j', (text, escaped) => {
  expect(escapeLabelValue(text)).toBe(escaped);
});

it.each([
  [0, '0'],
  [1e21, '1e+21'],
  [2.5e-7, '2.5e-7'],
  [Number.NaN, 'NaN'],
  [Number.POSITIVE_INFINITY, '+Inf'],
  [Number.NEGATIVE_INFINITY, '-Inf'],
])('formatSampleValue %f', (value, text) => expect(formatSampleValue(value)).toBe(text));
