/** A real Tomcat of ten threads whose calls hang, deadlock and burn: named within ten seconds, on each JDK. Needs `tomcat10-admin`. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { Folder } from '../support/monitor/access/access-files.ts';
import { jsonOf, runSidecar, type SidecarProcess, startConfigured, verdictOf } from '../support/sidecar-process.ts';
import {
  hasManager,
  type ManagerTomcat,
  managerKeys,
  pinToOneProcessor,
  startManagerTomcat,
} from './jvm/http/manager-tomcat/manager-tomcat.ts';
import { JVMS } from './jvm/truth/truth.ts';

const WITHIN = { timeout: 10_000, interval: 250 };
describe.runIf(hasManager).each(JVMS)('a real Tomcat on JDK $major whose calls hang', ({ home }) => {
  const defer = deferTo(afterAll);
  const folder = new Folder(defer);
  const dumps = temporaryFolder(defer);
  let tomcat: ManagerTomcat;
  let sidecar: SidecarProcess;

  beforeAll(async () => {
    tomcat = await startManagerTomcat(defer, 'G1', path.join(home, 'bin/java'));
    const rpc = (target: string, name: string) => ({ methods: ['GET'], path: target, kind: 'rpc', name });
    sidecar = await startConfigured(defer, `${tomcat.origin}/beans`, {
      jvm: { ...managerKeys(tomcat, folder, 'status'), attach: true, interval: '1s' },
      rest: { rules: [rpc('/hold', 'Plant.Hold'), rpc('/burn', 'Plant.Burn')] },
      diagnosis: { threads: { whenCallRuns: '2s', folder: dumps, keep: 3, atMostEvery: '1s' } },
    });
    for (const name of ['hold', 'burn']) defer(() => fetch(`${tomcat.origin}/beans/${name}?release`));
  });

  const call = (name: string) => void fetch(`http://${sidecar.listen}/beans/${name}`).catch(() => undefined);

  const ask = async (...words: readonly string[]) =>
    (await runSidecar([...words, '--pid', String(sidecar.pid)])).stdout;
  const top = () => ask('top', '--once');
  /** Empty while another one is taken. */
  const dump = () => ask('threads');
  const verdict = () => verdictOf(sidecar, 'beans');

  it('names the hung call and the waiting users in every place', async () => {
    for (let held = 0; held < 4; held += 1) call('hold');
    await expect.poll(top, WITHIN).toMatch(/The server: rpc Plant\.Hold hangs: 4 calls for .*none was answered yet/);
    expect(await top()).toMatch(/^Running now: 4$/m);
    expect((await verdict()).text).toContain('rpc Plant.Hold hangs: 4 calls');
    const metrics = await (await fetch(`http://${sidecar.monitor}/metrics`)).text();
    // The name has no answered call yet.
    expect(metrics).toContain('d2_calls_hung{application="beans",kind="rpc",name="(not answered yet)"} 4');
  });

  /** Without those that are being saved. */
  const listDumps = () => readdirSync(dumps, 'utf8').filter((name) => name.endsWith('.txt'));

  it('has taken a dump automatically, which the running calls name', async () => {
    const url = `http://${sidecar.monitor}/beans/api/rest/v0/admin/d2/calls`;
    const dumpOfCall = async () => (await jsonOf<{ threadDump?: string }[]>(url))[0]?.threadDump;
    await expect.poll(dumpOfCall, WITHIN).toMatch(/^threads-\d{8}T\d{6}Z\.txt$/);
    const newest = listDumps().sort().at(-1) ?? '';
    const text = readFileSync(path.join(dumps, newest), 'utf8');
    expect(text).toMatch(/^2.*Z: rpc Plant\.Hold has run for \d+ s\n\nDeadlocks: none\n/);
    expect(text).toMatch(/^ +4 {2}in .*hold_jsp/m);
    expect(statSync(path.join(dumps, newest)).mode & 0o777).toBe(0o600);
    await expect.poll(() => listDumps().length, WITHIN).toBe(3);
  });

  it('has no request thread left', async () => {
    for (let held = 4; held < 9; held += 1) call('hold');
    // The status page takes the tenth.
    await expect.poll(top, WITHIN).toContain('all its 10 request threads are busy');
    expect(await top()).toContain('request threads 10 of 10 busy');
  });

  it('is in a deadlock', async () => {
    const deadlock = await fetch(`${tomcat.origin}/beans/deadlock`);
    expect(await deadlock.text()).toBe('deadlocked');
    await expect
      .poll(top, WITHIN)
      .toMatch(/The server: a deadlock, which only a restart ends \(2 threads, in threads-/);
    expect((await verdict()).subject).toBe('server');
    const lines = [
      ...[/^DEADLOCK\nFound one Java-level deadlock:/, /"deadlocked one":\n +waiting to lock monitor/],
      ...[/^Request threads: 10, 9 of them busy\n +9 {2}in .*hold_jsp/m, /^Full thread dump /m],
    ];
    const missing = async () => {
      const text = await dump();
      return lines.filter((line) => !line.test(text));
    };
    await expect.poll(missing, WITHIN).toEqual([]);
  });

  it('burns all the processors that it may use', async () => {
    await (await fetch(`${tomcat.origin}/beans/hold?release`)).text();
    pinToOneProcessor(tomcat.pid, (close) => onTestFinished(async () => void (await close())));
    for (let burning = 0; burning < 4; burning += 1) call('burn');
    const rule = async () => (await verdict()).rules.find(({ code }) => code === 'processors');
    await expect
      .poll(rule, WITHIN)
      .toMatchObject({ applies: true, text: expect.stringMatching(/Now: (?:0\.9\d|1\.0\d) of 1\.$/) });
    await expect.poll(top, WITHIN).toMatch(/Server .*(?:0\.9\d|1\.0\d) of 1 cores/);
    await expect.poll(dump, WITHIN).toMatch(/^ +4 {2}in .*burn_jsp/m);
  });
});
