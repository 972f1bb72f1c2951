/** Tomcat's status page, as recorded from a real one. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseTomcatStatus } from '../../../../src/jvm/http/tomcat-status.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';

const RECORDED = readFileSync(
  new URL('../../../fixtures/jvm/http/tomcat-jmxproxy/status-json.txt', import.meta.url),
  'utf8',
);

describe('parseTomcatStatus', () => {
  it('reads and sums the pools of the recorded page, without classes and collectors', () => {
    const { classes, heap, nonHeap, pools, collectors } = parseTomcatStatus(RECORDED);
    expect([classes, collectors.size, pools.size]).toEqual([{}, 0, 8]);
    expect(heap).toEqual({ init: 67108864, used: 14519672, committed: 67108864, max: 268435456 });
    expect(nonHeap).toEqual({ init: 7667712, used: 37708560, committed: 40435712, max: -1 });
    expect(pools.get('G1 Old Gen')).toEqual({ init: 59768832, used: 11373944, committed: 25165824, max: 268435456 });
  });

  it('leaves out the heap’s initial size if a survivor space is in no pool', () => {
    const serial = RECORDED.replace('G1 Eden Space', 'Eden Space').replace('G1 Old Gen', 'Tenured Gen');
    expect(parseTomcatStatus(serial).heap).toEqual({ used: 14519672, committed: 67108864, max: 268435456 });
  });

  it.each([
    ['ZHeap', 'knows the smallest size only', { committed: 67108864 }],
    ['Shenandoah Young Gen', 'leaves out what is committed and free', {}],
  ])('leaves out a heap size that the pool %s, which %s, would make wrong', (pool, _, committed) => {
    const { heap } = parseTomcatStatus(RECORDED.replace('G1 Old Gen', pool));
    expect(heap).toEqual({ used: 14519672, max: 268435456, ...committed });
  });

  it('leaves out a sum with a missing part', () => {
    const { heap, nonHeap } = parseTomcatStatus(RECORDED.replace('"usageUsed":11373944', '"usageUsed":null'));
    expect([heap.used, heap.committed, nonHeap.used]).toEqual([undefined, 67108864, 37708560]);
  });

  it.each([
    ['the page as HTML', '<html><body>Server Status</body></html>'],
    ['other JSON', '{"tomcat":{"jvm":{"memory":{}}}}'],
    ['no pool', '{"tomcat":{"jvm":{"memorypool":[]}}}'],
    ['more pools than a JVM has', `{"tomcat":{"jvm":{"memorypool":[${many(65)}]}}}`],
    ['a page cut off', RECORDED.slice(0, -1)],
  ])('refuses %s', async (_, text) => {
    expect((await failureOf(() => parseTomcatStatus(text))).code).toBe('D2S_ERR_JVM_FORMAT');
  });
});

function many(count: number): string {
  return Array.from({ length: count }, (_, index) => `{"name":"p${index}","usageUsed":1}`).join();
}
