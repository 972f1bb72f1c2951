/** The text of Tomcat's JMX proxy, as recorded from a real one. */
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import { parseJmxProxy } from '../../../../src/jvm/http/tomcat-jmxproxy.ts';
import { JvmSourceError } from '../../../../src/jvm/jvm-source.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';

const fixture = (file: string) =>
  readFileSync(new URL(`../../../fixtures/jvm/http/tomcat-jmxproxy/${file}`, import.meta.url), 'utf8');
const RECORDED = fixture('one-request-type-o.txt');

it('reads every gauge of the recorded answer', () => {
  const { classes, heap, nonHeap, pools, collectors, memory } = parseJmxProxy(RECORDED);
  expect(memory).toBe('live');
  expect(heap).toEqual({ committed: 69206016, init: 67108864, max: 268435456, used: 18028544 });
  expect(nonHeap).toEqual({ committed: 26935296, init: 7667712, max: -1, used: 23676352 });
  const [, loaded, unloaded] = /TotalLoadedClassCount: (\d+)[\s\S]*?UnloadedClassCount: (\d+)/.exec(RECORDED) ?? [];
  expect(classes).toEqual({ loaded: Number(loaded), unloaded: Number(unloaded) });
  const codeHeaps = ['non-nmethods', 'non-profiled nmethods', 'profiled nmethods'].map((name) => `CodeHeap '${name}'`);
  expect([...pools.keys()].sort()).toEqual([
    ...codeHeaps,
    ...['Compressed Class Space', 'G1 Eden Space', 'G1 Old Gen', 'G1 Survivor Space', 'Metaspace'],
  ]);
  const eden = { committed: 39845888, init: 7340032, max: -1, used: 8388608, usedAfterGc: 0 };
  expect(pools.get('G1 Eden Space')).toEqual(eden);
  expect(pools.get('Metaspace')).toEqual({ committed: 15073280, init: 0, max: -1, used: 14728912 });
  expect(pools.get('G1 Survivor Space')?.usedAfterGc).toBe(1631232);
  expect([...collectors.keys()].sort()).toEqual(['G1 Old Generation', 'G1 Young Generation']);
  expect(collectors.get('G1 Young Generation')).toEqual({ count: 8, timeMs: expect.any(Number) });
});

it('reads lines that end in CRLF or LF, the other form of a composite value, and a JVM that shows only one bean', () => {
  expect(parseJmxProxy(RECORDED.replaceAll('\r\n', '\n'))).toEqual(parseJmxProxy(RECORDED));
  expect(parseJmxProxy(RECORDED.replace(/\r?\n/g, '\r\n'))).toEqual(parseJmxProxy(RECORDED));
  const composite = /= (javax\..*)$/s.exec(fixture('get-composite.txt').trimEnd())?.[1];
  const text = fixture('memory.txt').replace(/(\nHeapMemoryUsage: ).*/, `$1${composite}\r`);
  expect(parseJmxProxy(text).heap).toEqual({ committed: 67108864, init: 67108864, max: 268435456, used: 14519672 });
  const { heap, classes, pools } = parseJmxProxy(fixture('memory.txt'));
  expect([Object.keys(heap).length, classes, pools.size]).toEqual([4, {}, 0]);
});

it('never takes a value from another bean’s lines, an array or LastGcInfo', () => {
  const text = [
    'OK - Number of results: 2\n',
    'Name: java.lang:type=Other,name=x\r\nHeapMemoryUsage: {used=1}\r\n\r',
    'Name: java.lang:type=Memory\r\nA: Array[x] of length 1\r\n\tHeapMemoryUsage: {used=2}\r',
    'LastGcInfo: {HeapMemoryUsage: {used=3}}\r\nNonHeapMemoryUsage: {committed=5, used=4}\r\n\r\n',
  ].join('\n');
  expect(parseJmxProxy(text)).toMatchObject({ heap: {}, nonHeap: { used: 4, committed: 5 } });
});

it.each([
  ['a failure with status 200', fixture('get-error.txt'), 'D2S_ERR_JVM_FORMAT', 'InstanceNotFoundException'],
  ['no result', 'OK - Number of results: 0\n\n', 'D2S_ERR_JVM_NOT_FOUND', 'java.lang'],
  ['the answer to another question', fixture('get-composite.txt'), 'D2S_ERR_JVM_FORMAT', 'jvm.http.url'],
  ['nothing', '', 'D2S_ERR_JVM_FORMAT', 'jvm.http.url'],
  ['an end within a bean', RECORDED.slice(0, RECORDED.indexOf('Valid: true')), 'D2S_ERR_JVM_FORMAT', 'middle'],
  ['other beans alone', 'OK - Number of results: 1\n\nName: a:b=c\r\nX: 1\r\n\r\n', 'D2S_ERR_JVM_FORMAT', 'none'],
])('refuses %s', async (_, text, code, words) => {
  const failure = await failureOf(() => parseJmxProxy(text));
  expect([failure.code, failure.message]).toEqual([code, expect.stringContaining(words)]);
  expect(inspect(failure)).not.toContain('DefaultMBeanServerInterceptor');
});

it.each(['Usage: {used=', 'Usage: used=', 'Name: java.lang:', 'CollectionUsage: ,,=,='])(
  'takes eight times as long for eight times as many %j, not 64 times',
  (hostile) => {
    const quickestMs = (count: number): number => {
      const text = `OK - Number of results: 1\n\nName: java.lang:type=MemoryPool\n${hostile.repeat(count)}\nName: x\n\n`;
      const times = Array.from({ length: 20 }, () => {
        const began = performance.now();
        try {
          parseJmxProxy(text);
        } catch (cause) {
          expect(cause).toBeInstanceOf(JvmSourceError);
        }
        return performance.now() - began;
      });
      return Math.min(...times);
    };
    quickestMs(8_000);
    // What takes less than a millisecond is measured too coarsely.
    expect(quickestMs(64_000) / Math.max(quickestMs(8_000), 1)).toBeLessThan(30);
  },
);
