/** A real sidecar with known statistics to compare its readers with: calls, objects, sessions, and a JVM with fixed numbers. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, vi } from 'vitest';
import type { Defer } from '../deferred.ts';
import { basic, Folder, userLine } from '../monitor/access/access-files.ts';
import { portOf, restCall, send, startApplication } from '../net.ts';
import { type SidecarProcess, startConfigured } from '../sidecar-process.ts';

export const ROOT = path.join(import.meta.dirname, '../../..');

export const PASSWORD = 'change-me';
export const SHIPPED_ADDRESS = '127.0.0.1:9280';

/** The calls sent, and the numbers of the JVM's exporter (test/fixtures/jvm/http/prometheus). */
export const SENT = {
  ...{ rpcCalls: 6, rpcErrors: 1, testInOut: 4, slow: 1, sbaCalls: 2 },
  ...{ values: 3, sessions: 2, heapUsed: 2_284_544, heapMax: 67_108_864, classesLoaded: 1_904 },
  slowMs: 120,
} as const;

const JVM = readFileSync(path.join(ROOT, 'test/fixtures/jvm/http/prometheus/client-java-1.txt'));

export type ConsumedSidecar = Awaited<ReturnType<typeof startConsumedSidecar>>;

/** Readers are `collectd`, `telegraf` and `zabbix`, each with the role `metrics`. */
export async function startConsumedSidecar(defer: Defer) {
  const upstream = await startApplication(({ url = '' }, response) => {
    response.statusCode = url.includes('Fail') ? 500 : 200;
    setTimeout(() => response.end('ok'), url.includes('Slow') ? SENT.slowMs : 0);
  }, defer);
  const exporter = await startApplication((_request, response) => response.end(JVM), defer);
  const folder = new Folder(defer);
  const users = ['collectd', 'telegraf', 'zabbix'].map((name) => userLine(name, 'metrics', PASSWORD));
  const usersFile = folder.write('users', (await Promise.all(users)).join('\n'));
  const jvm = { source: 'http', http: { kind: 'prometheus', url: `http://127.0.0.1:${exporter.port}/metrics` } };
  const url = `http://127.0.0.1:${upstream.port}/smartWeb`;
  const sidecar = await startConfigured(defer, url, { monitor: { auth: { usersFile } }, jvm });
  const call = (target: string, user?: string) => restCall(portOf(sidecar.listen), target, user);
  for (const user of ['ann', 'bob', 'ann', 'ann']) await call('rpc/E.Demo/TestInOut', user);
  await call('rpc/E.Demo/Slow');
  await call('rpc/E.Demo/Fail');
  for (let count = 0; count < SENT.sbaCalls; count += 1) await call('sba/Trend/Read');
  for (const name of ['H.Level', 'H.Level', 'H.Temp']) await call(`object/${name}`);
  await vi.waitFor(async () => expect(await jvmStatusOf(sidecar)).toBe(200), { timeout: 15_000, interval: 100 });
  return { monitor: sidecar.monitor, call };
}

async function jvmStatusOf({ monitor }: SidecarProcess): Promise<number> {
  const headers = { authorization: basic('collectd', PASSWORD) };
  return (await send(portOf(monitor), '/smartWeb/api/rest/v0/admin/metrics/jvm', { headers })).status;
}
