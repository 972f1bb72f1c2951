/** Tomcat's status page, as recorded from a real one. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseTomcatStatus } from '../../../../src/jvm/http/tomcat-status.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';

const FILE = new URL('../../../fixtures/jvm/http/tomcat-jmxproxy/status-json.txt', import.meta.url);
const RECORDED = readFileSync(FILE, 'utf8');

it('the pools of the recorded page are read and summed, without classes and collectors', () => {
  const { classes, heap, nonHeap, pools, collectors } = parseTomcatStatus(RECORDED);
  expect([classes, collectors.size, pools.size]).toEqual([{}, 0, 8]);
  expect(heap).toEqual({ init: 67108864, used: 14519672, committed: 67108864, max: 268435456 });
  expect(nonHeap).toEqual({ init: 7667712, used: 37708560, committed: 40435712, max: -1 });
  expect(pools.get('G1 Old Gen')).toEqual({ init: 59768832, used: 11373944, committed: 25165824, max: 268435456 });
});

it('a sum with a missing part is left out', () => {
  const { heap, nonHeap } = parseTomcatStatus(RECORDED.replace('"usageUsed":11373944', '"usageUsed":null'));
  expect([heap.used, heap.committed, nonHeap.used]).toEqual([undefined, 67108864, 37708560]);
});

const MANY = Array.from({ length: 65 }, (_, index) => `{"name":"p${index}","usageUsed":1}`);
it.each([
  ['the page as HTML', '<html><body>Server Status</body></html>'],
  ['other JSON', '{"tomcat":{"jvm":{"memory":{}}}}'],
  ['no pool', '{"tomcat":{"jvm":{"memorypool":[]}}}'],
  ['more pools than a JVM has', `{"tomcat":{"jvm":{"memorypool":[${MANY}]}}}`],
  ['a page cut off', RECORDED.slice(0, -1)],
])('%s is refused', async (_, text) => {
  expect((await failureOf(() => parseTomcatStatus(text))).code).toBe('D2S_ERR_JVM_FORMAT');
});
