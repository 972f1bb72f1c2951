/**
 * Both servlets of a real Tomcat's manager, against the MXBeans of the same JVM, read just before and just after; and `metrics/server`
 * beside that Tomcat of ten request threads. Needs Debian's `tomcat10-admin`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HttpKind, HttpSource, type HttpSourceOptions } from '../../../../src/jvm/http/http-source.ts';
import { TOMCAT_JMXPROXY } from '../../../../src/jvm/http/tomcat-jmxproxy.ts';
import { TOMCAT_STATUS } from '../../../../src/jvm/http/tomcat-status.ts';
import { ManualClock } from '../../../support/clock.ts';
import { deferTo } from '../../../support/deferred.ts';
import { credentialsOf, failureOf, soon } from '../../../support/jvm/http/sources.ts';
import { compare, type Deviation } from '../../../support/jvm/truth/comparison.ts';
import { basic, Folder } from '../../../support/monitor/access/access-files.ts';
import { jsonOf, type SidecarProcess, startConfigured } from '../../../support/sidecar-process.ts';
import { hasManager, type ManagerTomcat, managerKeys, startManagerTomcat } from './manager-tomcat/manager-tomcat.ts';

const WAIT = { timeout: 15_000, interval: 100 };
const THREADS = ['jvm.threads.daemon', 'jvm.threads.live', 'jvm.threads.peak'];
const PROCESS = ['process.cpu', 'process.descriptors.max', 'process.descriptors.open'];

function optionsFor(tomcat: ManagerTomcat, user: string, password = `word of ${user}`): HttpSourceOptions {
  return { url: `${tomcat.origin}/manager`, credentials: credentialsOf(user, password), clock: new ManualClock() };
}

const isNotOfStatus = ({ gauge }: Deviation) =>
  gauge.startsWith('jvm.classloader.') || gauge.startsWith('jvm.garbagecollector.') || gauge.endsWith('.used-after-gc');

describe.runIf(hasManager).each(['G1', 'Serial', 'Parallel'])('a real Tomcat with %s', (collector) => {
  const defer = deferTo(afterAll);
  let tomcat: ManagerTomcat;
  beforeAll(async () => {
    tomcat = await startManagerTomcat(defer, collector);
  });

  async function look(kind: HttpKind, user: string) {
    const source = new HttpSource(kind, optionsFor(tomcat, user));
    await source.read(soon());
    return await compare(source, tomcat.beans);
  }

  it('shows every gauge through its JMX proxy with the value of its own MXBeans', async () => {
    const { reading, found } = await look(TOMCAT_JMXPROXY, 'jmx');
    expect([found, reading.memory]).toEqual([[], 'live']);
  });

  it('shows only memory through its status page, with the values of its own MXBeans', async () => {
    const { found } = await look(TOMCAT_STATUS, 'status');
    const rest = found.filter((deviation) => !isNotOfStatus(deviation)).map(({ kind, gauge }) => `${kind} ${gauge}`);
    // With these two, no pool contains one of the survivor spaces, so the initial sizes do not add up.
    const missing = collector === 'G1' ? [] : ['missing jvm.memory.heap.init', 'missing jvm.memory.total.init'];
    expect(rest.sort()).toEqual(missing);
    expect(found.filter(isNotOfStatus).every(({ kind }) => kind === 'missing')).toBe(true);
  });

  // The rest does not depend on the collector, so one is enough.
  if (collector !== 'Serial') return;

  it.each([
    [TOMCAT_JMXPROXY, 'role manager-jmx'],
    [TOMCAT_STATUS, 'manager-status'],
  ])('names the missing role', async (kind, role) => {
    const { code, message } = await failureOf(new HttpSource(kind, optionsFor(tomcat, 'nobody')).read(soon()));
    expect([code, message]).toEqual(['D2S_ERR_JVM_ACCESS', expect.stringContaining(role)]);
  });

  it('accepts our Digest over several readings', async () => {
    const options = { ...optionsFor(tomcat, 'status'), url: `${tomcat.origin}/digest` };
    const source = new HttpSource({ ...TOMCAT_STATUS, hasDigest: true }, options);
    for (let poll = 0; poll < 5; poll += 1) {
      expect((await source.read(soon())).pools.has('Eden Space')).toBe(true);
    }
  });

  const folder = new Folder(defer);

  const start = (jvm: object): Promise<SidecarProcess> =>
    startConfigured(defer, `${tomcat.origin}/beans`, { jvm: { interval: '1s', ...jvm } });

  /** The gauges without `server.`; empty before the first reading. */
  const readerOf = (sidecar: SidecarProcess) => async (): Promise<Readonly<Record<string, number>>> => {
    const url = `http://${sidecar.monitor}/beans/api/rest/v0/admin/metrics/server`;
    const { gauges = {} } = await jsonOf<{ gauges?: Record<string, { value: number }> }>(url);
    return Object.fromEntries(Object.entries(gauges).map(([name, { value }]) => [name.replace('server.', ''), value]));
  };

  it('tells its busy request threads, by the status page', async () => {
    const read = readerOf(await start(managerKeys(tomcat, folder, 'status')));
    // The request for the status page occupies one itself.
    await expect.poll(read, WAIT).toMatchObject({ 'threads.busy': 1, 'threads.max': 10 });
    defer(() => fetch(`${tomcat.origin}/beans/hold?release`));
    for (let held = 0; held < 6; held += 1) void fetch(`${tomcat.origin}/beans/hold`).catch(() => undefined);
    await expect.poll(read, WAIT).toMatchObject({ 'threads.busy': 7, 'threads.max': 10 });
  });

  it('tells threads, processors and descriptors, by the JMX proxy', async () => {
    const read = readerOf(await start(managerKeys(tomcat, folder, 'jmx')));
    const names = ['connections', ...THREADS, ...PROCESS, 'threads.busy', 'threads.max'];
    await expect.poll(async () => Object.keys(await read()).sort(), WAIT).toEqual(names);
    // The previous test holds six, and the request for the proxy occupies one; that test's sidecar may ask at the same moment.
    await expect.poll(read, WAIT).toMatchObject({ 'threads.busy': 7, 'threads.max': 10 });
  });

  it('tells its threads, processor time, memory and descriptors, by its counters and /proc', async () => {
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
