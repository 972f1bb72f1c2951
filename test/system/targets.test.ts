/** Targets of a real sidecar: /metrics, the verdict, and what is there after a restart. */
import path from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import type { Live } from '../../src/page/live-data.ts';
import { NO_SQLITE } from '../support/archive/minutes.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { portOf, restCall, send, startApplication } from '../support/net.ts';
import { runSidecar, startConfigured } from '../support/sidecar-process.ts';

const defer = deferTo(afterAll);
const VERDICT = '/smartWeb/api/rest/v0/admin/d2/verdict';

const upstream = await startApplication(({ url = '' }, response) => {
  response.statusCode = url.includes('Fails') ? 500 : url.includes('Refused') ? 404 : 200;
  setTimeout(() => response.end('{}'), url.includes('Slow') ? 300 : 0);
}, defer);

const state = { file: path.join(temporaryFolder(defer), 'state'), interval: '1s' };
const targets = [
  { name: 'E.Demo.*', within: '150ms', share: 0.9 },
  { name: 'E.Demo.Quick', within: '10s', share: 1 },
];
const history = NO_SQLITE ? {} : { history: { file: path.join(temporaryFolder(defer), 'history.db') } };
const start = () =>
  startConfigured(defer, `http://127.0.0.1:${upstream.port}/smartWeb`, {
    state,
    ...history,
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
  await expectMonth(first, 0.5);
  await first.stop();
  const second = await start();
  expect(await countsOf(second)).toEqual(counts);
  await expectMonth(second);
});

/** Half of 6 calls missed, where a tenth may. */
async function expectMonth({ monitor, pid }: Started, ...hour: readonly number[]): Promise<void> {
  const { applications } = JSON.parse((await send(portOf(monitor), '/live')).body) as Pick<Live, 'applications'>;
  const month = { met: 3, missed: 3 };
  expect(applications[0]?.targets).toMatchObject([
    {
      name: 'E.Demo.*',
      kind: 'rpc',
      within: 0.15,
      share: 0.9,
      month,
      allowanceUsed: 5,
      hour: expect.arrayContaining([...hour]),
    },
    { name: 'E.Demo.Quick', share: 1, month: { met: 3, missed: 0 }, allowanceUsed: null },
  ]);
  const { body } = await send(portOf(monitor), '/metrics');
  expect(body.match(/^d2_call_target_allowance_used_ratio.*$/gm)).toEqual([
    'd2_call_target_allowance_used_ratio{application="smartWeb",target="E.Demo.*"} 5',
  ]);
  if (NO_SQLITE) return;
  const { stdout } = await runSidecar(['summary', '--pid', String(pid)]);
  expect(stdout).toContain(`Targets, of the calls of this month (UTC)
  /smartWeb E.Demo.* within 150 ms: 50 % of 6 calls, 90 % wanted, 500 % of the allowance used
  /smartWeb E.Demo.Quick within 10.0 s: 100 % of 3 calls, 100 % wanted, none may miss it
`);
}
