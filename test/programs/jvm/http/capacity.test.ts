/** `metrics/server` beside a real Tomcat of ten request threads, by its status page and by its counters. Needs Debian's `tomcat10-admin`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { basic, Folder } from '../../../support/monitor/access/access-files.ts';
import { isAvailable } from '../../../support/programs.ts';
import { MAIN_PATH, type SidecarProcess, startSidecarProcess } from '../../../support/sidecar-process.ts';
import { isManagerInstalled, type ManagerTomcat, startManagerTomcat } from './manager-tomcat/manager-tomcat.ts';

const run = promisify(execFile);
const SPACE = { maxBuffer: 16 * 1_024 * 1_024 };
const WAIT = { timeout: 15_000, interval: 100 };

describe.runIf(isAvailable('Tomcat’s manager', isManagerInstalled()))('the capacity of a real Tomcat', () => {
  const folder = new Folder();
  let tomcat: ManagerTomcat;
  const sidecars: SidecarProcess[] = [];

  beforeAll(async () => {
    tomcat = await startManagerTomcat(['-XX:+UseG1GC']);
  });

  afterAll(async () => {
    await fetch(`${tomcat.origin}/beans/hold?release`);
    for (const sidecar of sidecars) await sidecar.stop();
    await tomcat.stop();
    folder.remove();
  });

  async function start(jvm: string): Promise<() => Promise<Readonly<Record<string, number>>>> {
    const file = folder.write(`sidecar${sidecars.length}.yaml`, `jvm:\n  interval: 1s\n${jvm}`);
    const flags = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0', '--config', file];
    const sidecar = await startSidecarProcess(['--upstream', `${tomcat.origin}/beans`, ...flags]);
    sidecars.push(sidecar);
    return async () => {
      const answer = await fetch(`http://${sidecar.monitor}/beans/api/rest/v0/admin/metrics/server`);
      if (answer.status !== 200) return {};
      const { gauges } = (await answer.json()) as { gauges: Record<string, { value: number }> };
      return Object.fromEntries(Object.entries(gauges).map(([name, { value }]) => [name, value]));
    };
  }

  it('has its busy request threads, by the status page', async () => {
    folder.write('password', 'word of status\n');
    const http = `  http:\n    kind: tomcat-status\n    url: ${tomcat.origin}/manager\n    username: status\n    passwordFile: ${folder.path}/password\n`;
    const read = await start(`  source: http\n${http}`);
    // The request for the status page takes one itself.
    await expect.poll(read, WAIT).toMatchObject({ 'server.threads.busy': 1, 'server.threads.max': 10 });
    for (let held = 0; held < 6; held += 1) void fetch(`${tomcat.origin}/beans/hold`).catch(() => undefined);
    await expect.poll(read, WAIT).toMatchObject({ 'server.threads.busy': 7, 'server.threads.max': 10 });
  });

  it('has threads, processors and descriptors, by the JMX proxy', async () => {
    folder.write('jmx-password', 'word of jmx\n');
    const http = `  http:\n    kind: tomcat-jmxproxy\n    url: ${tomcat.origin}/manager\n    username: jmx\n    passwordFile: ${folder.path}/jmx-password\n`;
    const read = await start(`  source: http\n${http}`);
    // Six are held by the test before, and the request for the proxy takes one itself.
    await expect
      .poll(async () => Object.keys(await read()).sort(), WAIT)
      .toEqual(
        ['threads.busy', 'threads.max', 'connections', 'jvm.threads.daemon', 'jvm.threads.live', 'jvm.threads.peak']
          .concat(['process.cpu', 'process.descriptors.max', 'process.descriptors.open'])
          .map((name) => `server.${name}`)
          .sort(),
      );
    expect(await read()).toMatchObject({ 'server.threads.busy': 7, 'server.threads.max': 10 });
  });

  it('shows what its request threads do, and a deadlock, in a thread dump', async () => {
    await start('  source: auto\n  attach: true\n');
    const { pid } = sidecars.at(-1) as SidecarProcess;
    const dump = async () => (await run(process.execPath, [MAIN_PATH, 'threads', '--pid', String(pid)], SPACE)).stdout;
    await expect.poll(() => dump().catch(() => ''), WAIT).toContain('Deadlocks: none');
    expect(await dump()).toMatch(/^Request threads: 10, 6 of them busy\n +6 {2}in .*hold_jsp/m);
    expect(await (await fetch(`${tomcat.origin}/beans/deadlock`)).text()).toBe('deadlocked');
    await expect.poll(dump, WAIT).toMatch(/^DEADLOCK\nFound one Java-level deadlock:/);
    const text = await dump();
    expect(text).toMatch(/"deadlocked one":\n +waiting to lock monitor/);
    expect(text).toContain('"deadlocked other"');
    // The whole dump follows the summary.
    expect(text).toMatch(/^Full thread dump /m);
  });

  it('has its threads, processor time, memory and descriptors, by its counters and /proc', async () => {
    const read = await start('  source: hsperfdata\n');
    await expect
      .poll(async () => Object.keys(await read()).sort(), WAIT)
      .toEqual([
        ...['server.jvm.threads.daemon', 'server.jvm.threads.live', 'server.jvm.threads.peak'],
        ...[
          'server.process.cpu',
          'server.process.descriptors.max',
          'server.process.descriptors.open',
          'server.process.memory',
        ],
      ]);
    const threading = async (name: string) => {
      const url = `${tomcat.origin}/manager/jmxproxy?get=java.lang:type=Threading&att=${name}`;
      const text = await (await fetch(url, { headers: { authorization: basic('jmx', 'word of jmx') } })).text();
      return Number(/ = (\d+)\s*$/.exec(text)?.[1]);
    };
    await expect
      .poll(async () => {
        const own = [
          await threading('ThreadCount'),
          await threading('DaemonThreadCount'),
          await threading('PeakThreadCount'),
        ];
        const seen = await read();
        return ['live', 'daemon', 'peak'].map(
          (what, index) => (seen[`server.jvm.threads.${what}`] ?? 0) - (own[index] ?? 0),
        );
      }, WAIT)
      .toEqual([0, 0, 0]);
    const { 'server.process.cpu': cores = -1, 'server.process.memory': memory = 0 } = await read();
    expect(cores).toBeGreaterThanOrEqual(0);
    expect(memory).toBeGreaterThan(50e6);
  });
});
