/** `metrics/server` beside a real Tomcat of ten request threads, by its status page and by its counters. Needs Debian's `tomcat10-admin`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonOf, startConfigured } from '../../../support/configured-sidecar.ts';
import { deferTo } from '../../../support/deferred.ts';
import { basic, Folder } from '../../../support/monitor/access/access-files.ts';
import type { SidecarProcess } from '../../../support/sidecar-process.ts';
import { hasManager, type ManagerTomcat, managerKeys, startManagerTomcat } from './manager-tomcat/manager-tomcat.ts';

const WAIT = { timeout: 15_000, interval: 100 };
const THREADS = ['jvm.threads.daemon', 'jvm.threads.live', 'jvm.threads.peak'];
const PROCESS = ['process.cpu', 'process.descriptors.max', 'process.descriptors.open'];

describe.runIf(hasManager)('the capacity of a real Tomcat', () => {
  const defer = deferTo(afterAll);
  const folder = new Folder();
  defer(() => folder.remove());
  let tomcat: ManagerTomcat;

  beforeAll(async () => {
    tomcat = await startManagerTomcat(defer);
    defer(() => fetch(`${tomcat.origin}/beans/hold?release`));
  });

  const start = (jvm: object): Promise<SidecarProcess> =>
    startConfigured(defer, `${tomcat.origin}/beans`, { jvm: { interval: '1s', ...jvm } });

  /** The gauges without `server.`; empty before the first reading. */
  const readerOf = (sidecar: SidecarProcess) => async (): Promise<Readonly<Record<string, number>>> => {
    const url = `http://${sidecar.monitor}/beans/api/rest/v0/admin/metrics/server`;
    const { gauges = {} } = await jsonOf<{ gauges?: Record<string, { value: number }> }>(url);
    return Object.fromEntries(Object.entries(gauges).map(([name, { value }]) => [name.replace('server.', ''), value]));
  };

  it('has its busy request threads, by the status page', async () => {
    const read = readerOf(await start(managerKeys(tomcat, folder, 'status')));
    // The request for the status page occupies one itself.
    await expect.poll(read, WAIT).toMatchObject({ 'threads.busy': 1, 'threads.max': 10 });
    for (let held = 0; held < 6; held += 1) void fetch(`${tomcat.origin}/beans/hold`).catch(() => undefined);
    await expect.poll(read, WAIT).toMatchObject({ 'threads.busy': 7, 'threads.max': 10 });
  });

  it('has threads, processors and descriptors, by the JMX proxy', async () => {
    const read = readerOf(await start(managerKeys(tomcat, folder, 'jmx')));
    const names = ['connections', ...THREADS, ...PROCESS, 'threads.busy', 'threads.max'];
    await expect.poll(async () => Object.keys(await read()).sort(), WAIT).toEqual(names);
    // The previous test holds six, and the request for the proxy occupies one itself.
    expect(await read()).toMatchObject({ 'threads.busy': 7, 'threads.max': 10 });
  });

  it('has its threads, processor time, memory and descriptors, by its counters and /proc', async () => {
    const read = readerOf(await start({ source: 'hsperfdata' }));
    const names = [...THREADS, ...PROCESS, 'process.memory'];
    await expect.poll(async () => Object.keys(await read()).sort(), WAIT).toEqual(names);
    const threading = async (name: string) => {
      const url = `${tomcat.origin}/manager/jmxproxy?get=java.lang:type=Threading&att=${name}`;
      const text = await (await fetch(url, { headers: { authorization: basic('jmx', 'word of jmx') } })).text();
      return Number(/ = (\d+)\s*$/.exec(text)?.[1]);
    };
    const differences = async () => {
      const own: number[] = [];
      for (const name of ['Daemon', '', 'Peak']) own.push(await threading(`${name}ThreadCount`));
      const seen = await read();
      return THREADS.map((name, index) => (seen[name] ?? 0) - (own[index] ?? 0));
    };
    await expect.poll(differences, WAIT).toEqual([0, 0, 0]);
    const { 'process.cpu': cores = -1, 'process.memory': memory = 0 } = await read();
    expect(cores).toBeGreaterThanOrEqual(0);
    expect(memory).toBeGreaterThan(50e6);
  });
});
