/**
 * Prometheus text. The pages were written after the exporters' sources, not recorded: neither jmx_exporter nor Micrometer is
 * packaged where these tests run. What holds the names against a real JVM is missing.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createServerGauges } from '../../../../src/jvm/gauges.ts';
import { parsePrometheusJvm } from '../../../../src/jvm/http/prometheus.ts';
import { parsePrometheusText } from '../../../../src/jvm/http/prometheus-text.ts';
import { createServerState } from '../../../../src/jvm/server-reading.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';

const fixture = (file: string) =>
  readFileSync(new URL(`../../../fixtures/jvm/http/prometheus/${file}`, import.meta.url), 'utf8');
const samplesOf = (text: string) => parsePrometheusText(text, () => true);

it.each([
  ['a 1\n', {}, 1],
  ['a{x="1",} -1.0\n', { x: '1' }, -1],
  ['a{ x = "1" , y="" } +Inf\n', { x: '1', y: '' }, Number.POSITIVE_INFINITY],
  ['a{x="q\\" b\\\\ n\\n } , ="} NaN\n', { x: 'q" b\\ n\n } , =' }, Number.NaN],
  ['a 4 # {trace="1"} 3\r\n', {}, 4],
  ['# HELP a b } {\n\n# TYPE a gauge\na 5\n# EOF\n', {}, 5],
  ['{"a.quoted.name"} 1\na 6\n', {}, 6],
])('parsePrometheusText reads %j', (text, labels, value) => {
  const [sample] = samplesOf(text).get('a') ?? [];
  expect([Object.fromEntries(sample?.labels ?? []), sample?.value]).toEqual([labels, value]);
});

it.each([
  ['nothing', ''],
  ['an end within a line', 'a 1\nb 22'],
  ['a line without a value', 'a\n'],
  ['a value that is a word', 'a one\n'],
  ['a label without end', 'a{x="1} 1\n'],
  ['a label twice', 'a{x="1",x="2"} 1\n'],
  ['one series twice', 'a{x="1"} 1\na{x="1"} 2\n'],
  ['more series than are read', Array.from({ length: 5_000 }, (_, index) => `a{x="${index}"} 1\n`).join('')],
])('parsePrometheusText refuses %s', (_, text) => {
  expect(() => samplesOf(text)).toThrow(expect.objectContaining({ code: 'D2S_ERR_JVM_FORMAT' }));
});

it('parsePrometheusText does not parse unwanted lines', () => {
  const text = 'other{broken\nother{broken\na 1\n';
  expect([...parsePrometheusText(text, (name) => name === 'a').keys()]).toEqual(['a']);
});

/** What the pages of jmx_exporter tell, all of them the same. */
const OF_JMX_EXPORTER = {
  classes: { loaded: 1904, unloaded: 22 },
  heap: { used: 2284544, committed: 67108864, max: 67108864, init: 67108864 },
  nonHeap: { used: 8060872, committed: 13500416, max: -1, init: 7667712 },
  pools: new Map([
    ['G1 Old Gen', { used: 1235968, committed: 56623104, max: 67108864, init: 59768832, usedAfterGc: 0 }],
    ["CodeHeap 'profiled nmethods'", { used: 1081216, committed: 2555904, max: 122912768, init: 2555904 }],
  ]),
  collectors: new Map([
    // 1.005 s are 1004.9999999999999 ms as doubles.
    ['G1 Young Generation', { count: 7, timeMs: 1005 }],
    ['G1 Old Generation', { count: 0, timeMs: 0 }],
  ]),
  memory: 'live',
};

const STANDALONE = fixture('standalone-1.txt');
it.each([
  ['of jmx_exporter 0.20', fixture('jmx-exporter-0.20.txt')],
  ['of client_java 1', fixture('client-java-1.txt')],
  ['of a standalone exporter', STANDALONE],
  ['of an agent without its own metrics', STANDALONE.replace('_standalone', '_javaagent').replace(/^jvm_.*\n/gm, '')],
])('parsePrometheusJvm reads every gauge from the page %s', (_, text) => {
  expect(parsePrometheusJvm(text)).toEqual(OF_JMX_EXPORTER);
});

it.each([
  [
    'the metrics of a standalone exporter itself',
    fixture('client-java-1.txt').replace('jmx_prometheus_javaagent', 'jmx_prometheus_httpserver'),
    'standalone',
  ],
  ['a page without metrics of a JVM', 'http_requests_total 7\n', 'excludeJvmMetrics'],
])('parsePrometheusJvm refuses %s, and says what to check', async (_, text, words) => {
  const failure = await failureOf(() => parsePrometheusJvm(text));
  expect(failure).toMatchObject({ code: 'D2S_ERR_JVM_FORMAT', message: expect.stringContaining(words) });
});

it.each(['micrometer-1.15.txt', 'micrometer-1.16.txt'])('parsePrometheusJvm reads %s and sums its pools', (file) => {
  const { classes, heap, nonHeap, pools, collectors } = parsePrometheusJvm(fixture(file));
  expect(classes).toEqual({ loaded: 1904, unloaded: 22 });
  expect(heap).toEqual({ used: 2284544, committed: 67108864, max: 67108864 });
  expect(nonHeap).toEqual({ used: 6115904, committed: 7733248, max: -1 });
  expect(pools.get('G1 Eden Space')).toEqual({ used: 0, committed: 9437184, max: -1 });
  expect(pools.size).toBe(5);
  expect(Object.fromEntries(collectors)).toEqual({ 'G1 Young Generation': { count: 7, timeMs: 1001 } });
});

it.each([
  ['generational ZGC, where each generation may be the whole', ['ZGC Young Generation', 'ZGC Old Generation'], 500],
  ['Serial, by the sum', ['Eden Space', 'Tenured Gen'], 1000],
  ['Parallel, where it is not known', ['PS Eden Space', 'PS Old Gen'], undefined],
])('parsePrometheusJvm finds the heap’s maximum with %s', (_, pools, max) => {
  const lines = pools.flatMap((pool) => [
    `jvm_memory_used_bytes{area="heap",id="${pool}"} 100`,
    `jvm_memory_max_bytes{area="heap",id="${pool}"} 500`,
  ]);
  expect(parsePrometheusJvm(`${lines.join('\n')}\n`).heap.max).toBe(max);
});

it('parsePrometheusJvm leaves out NaN, fractions of a byte and negative numbers', () => {
  const text = fixture('client-java-1.txt')
    .replace('jvm_classes_loaded_total 1904.0', 'jvm_classes_loaded_total NaN')
    .replace('used_bytes{area="heap"} 2284544.0', 'used_bytes{area="heap"} 0.5')
    .replace('committed_bytes{area="heap"} 6.7108864E7', 'committed_bytes{area="heap"} -7');
  const { classes, heap } = parsePrometheusJvm(text);
  expect([classes, heap]).toEqual([{ unloaded: 22 }, { max: 67108864, init: 67108864 }]);
});

const ALL = {
  ...{ 'server.threads.busy': 17, 'server.threads.max': 200, 'server.connections': 40 },
  ...{ 'server.jvm.threads.live': 64, 'server.jvm.threads.daemon': 60, 'server.jvm.threads.peak': 70 },
  ...{ 'server.process.descriptors.open': 120, 'server.process.descriptors.max': 1_024 },
};

it.each([
  ['Micrometer', ALL, 'capacity-micrometer.txt'],
  [
    'client_java, with the example rules for Tomcat',
    { ...ALL, 'server.process.memory': 5e8, 'server.process.cpu': 2.5 },
    'capacity-client-java.txt',
  ],
  [
    'an exporter that stands beside the server, but not what that is itself',
    { 'server.threads.busy': 17 },
    'capacity-standalone.txt',
  ],
])('the capacity of a server is read from %s', (_, capacity, file) => {
  const { server = {} } = parsePrometheusJvm(fixture(file));
  const before = { process: { id: '1700000000', cpuSeconds: 1 }, seconds: 1 };
  const { gauges } = createServerGauges(createServerState(server, 8080, before));
  expect(Object.fromEntries([...gauges].map(([name, { read }]) => [name, read()]))).toEqual(capacity);
});
