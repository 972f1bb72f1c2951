/** Targets of a real sidecar: /metrics, the verdict, and what is there after a restart. */
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { portOf, restCall, send, startApplication } from '../support/net.ts';
import { startConfigured } from '../support/sidecar-process.ts';

const defer = deferTo(afterAll);
const VERDICT = '/smartWeb/api/rest/v0/admin/d2/verdict';

const upstream = await startApplication(({ url = '' }, response) => {
  response.statusCode = url.includes('Fails') ? 500 : url.includes('Refused') ? 404 : 200;
  setTimeout(() => response.end('{}'), url.includes('Slow') ? 300 : 0);
});
defer(() => upstream.close());

const state = { file: path.join(temporaryFolder(defer), 'state'), interval: '1s' };
const targets = [
  { name: 'E.Demo.*', within: '150ms', share: 0.9 },
  { name: 'E.Demo.Quick', within: '10s' },
];
const start = () =>
  startConfigured(defer, `http://127.0.0.1:${upstream.port}/smartWeb`, {
    state,
    calls: { targets },
    jvm: { source: 'none' },
  });
type Started = Awaited<ReturnType<typeof start>>;

async function countsOf({ monitor }: Started): Promise<Record<string, string | undefined>> {
  const { body } = await send(portOf(monitor), '/metrics');
  const lines = body.matchAll(/^d2_call_target_(met|missed)_total\{application="smartWeb",target="([^"]+)"\} (\d+)$/gm);
  return Object.fromEntries(Array.from(lines, ([, key, target, count]) => [`${target} ${key}`, count]));
}

it('counts calls that met and missed a target, says so in the verdict, and keeps the counts over a restart', async () => {
  const first = await start();
  const none = { 'E.Demo.* met': '0', 'E.Demo.* missed': '0', 'E.Demo.Quick met': '0', 'E.Demo.Quick missed': '0' };
  expect(await countsOf(first)).toEqual(none);
  for (const name of ['Quick', 'Quick', 'Slow', 'Fails', 'Refused']) {
    await restCall(portOf(first.listen), `rpc/E.Demo/${name}`, 'ann');
  }
  await restCall(portOf(first.listen), 'sba/E.Demo/Quick', 'ann');
  await restCall(portOf(first.listen), 'rpc/P.Other/Slow', 'ann');
  const counts = { 'E.Demo.* met': '3', 'E.Demo.* missed': '3', 'E.Demo.Quick met': '3', 'E.Demo.Quick missed': '0' };
  expect(await countsOf(first)).toEqual(counts);
  // One failed call of seven is no finding of its own.
  const verdict = async () => JSON.parse((await send(portOf(first.monitor), VERDICT)).body) as Record<string, unknown>;
  await vi.waitUntil(async () => (await verdict()).code === 'target-missed', { timeout: 10_000, interval: 100 });
  expect(await verdict()).toMatchObject({
    subject: 'server',
    name: null,
    text: 'The server: a target is missed: E.Demo.*: 50 % of its calls were answered within 150 ms, and 90 % should be (3 of 6).',
  });
  await first.stop();
  expect(await countsOf(await start())).toEqual(counts);
});
