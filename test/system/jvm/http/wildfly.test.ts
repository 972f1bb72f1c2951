/** WildFly's management API. The answer was written after its documented model: there is no WildFly to run these against. */
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { HttpSource } from '../../../../src/jvm/http/http-source.ts';
import { parseWildFly, WILDFLY } from '../../../../src/jvm/http/wildfly.ts';
import { ManualClock } from '../../../support/clock.ts';
import { credentialsOf, failureOf, soon } from '../../../support/jvm/http/sources.ts';
import { startDigestServer } from './digest-server.ts';

const DOCUMENTED = readFileSync(new URL('../../../fixtures/jvm/http/wildfly/composite.json', import.meta.url), 'utf8');

it('parseWildFly reads every gauge, under the names that the beans have in the JVM', () => {
  const { classes, heap, nonHeap, pools, collectors } = parseWildFly(DOCUMENTED);
  expect(classes).toEqual({ loaded: 17312, unloaded: 22 });
  expect(heap).toEqual({ init: 67108864, used: 48103424, committed: 134217728, max: 536870912 });
  expect(nonHeap).toEqual({ init: 7667712, used: 91750400, committed: 98304000, max: -1 });
  expect([pools.size, pools.has("CodeHeap 'non-nmethods'")]).toEqual([4, true]);
  expect(pools.get('G1 Old Gen')?.usedAfterGc).toBe(30408704);
  expect(pools.get('Compressed Class Space')?.usedAfterGc).toBeUndefined();
  expect(collectors.get('G1 Young Generation')).toEqual({ count: 31, timeMs: 214 });
});

it('parseWildFly leaves out the values of a failed step, and undefined ones', () => {
  const answer = JSON.parse(DOCUMENTED);
  answer.result['step-1'] = { outcome: 'failed', 'failure-description': 'WFLYCTL0216', result: { x: 1 } };
  answer.result['step-2'].result['heap-memory-usage'].max = null;
  const { classes, heap } = parseWildFly(JSON.stringify(answer));
  expect([classes, heap]).toEqual([{}, { init: 67108864, used: 48103424, committed: 134217728 }]);
});

it.each([
  ['a failure', { outcome: 'failed', 'failure-description': 'WFLYCTL0313: planted' }, 'WFLYCTL0313'],
  ['a success without a result', { outcome: 'success' }, 'none of the platform'],
])('parseWildFly refuses %s', async (_, answer, words) => {
  const { code, message } = await failureOf(() => parseWildFly(JSON.stringify(answer)));
  expect([code, message]).toEqual(['D2S_ERR_JVM_FORMAT', expect.stringContaining(words)]);
  expect(message).not.toContain('planted');
});

const threads = { 'thread-count': 84, 'daemon-thread-count': 61, 'peak-thread-count': 90 };
const worker = { 'busy-task-thread-count': 7, 'max-pool-size': 64, 'task-max-threads': 128 };
const success = (result: object) => JSON.stringify({ outcome: 'success', result });

it('the further answers of WildFly tell threads, and the default worker as the only connector', () => {
  const { server } = parseWildFly(DOCUMENTED, [success(threads), success(worker)]);
  expect(server?.threads).toEqual({ live: 84, daemon: 61, peak: 90 });
  expect(server?.connectors).toEqual([{ port: undefined, busyThreads: 7, maxThreads: 64, connections: undefined }]);
});

it('WILDFLY reads four types in one composite that changes nothing, after a login by Digest', async () => {
  const server = await startDigestServer({ username: 'monitor', password: 'word', answer: DOCUMENTED });
  onTestFinished(() => server.close());
  const credentials = credentialsOf('monitor', 'word');
  const source = new HttpSource(WILDFLY, { url: server.origin, credentials, clock: new ManualClock() });
  expect((await source.read(soon())).classes.loaded).toBe(17312);
  const { method, url, headers, body } = server.requests[1]!;
  expect([method, url, headers['content-type']]).toEqual(['POST', '/management', 'application/json']);
  expect(headers).not.toHaveProperty('origin');
  const { operation, steps } = JSON.parse(body);
  expect(operation).toBe('composite');
  expect(steps.map((step: Record<string, unknown>) => [step.operation, step.address])).toEqual(
    ['class-loading', 'memory', 'memory-pool', 'garbage-collector'].map((type) => [
      'read-resource',
      [{ 'core-service': 'platform-mbean' }, { type }],
    ]),
  );
});
