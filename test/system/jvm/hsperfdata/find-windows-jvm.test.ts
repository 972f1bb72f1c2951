/** The search of Windows, in folders of this machine. Wine runs the rest (test/programs/windows). */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findWindowsJvm } from '../../../../src/jvm/hsperfdata/find-windows-jvm.ts';
import { HsperfdataSource } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { deferTo, temporaryFolder } from '../../../support/deferred.ts';
import { fileOf, TOMCAT } from '../fake-machine.ts';

const root = temporaryFolder(deferTo(afterAll));
const [own, ofService, closed] = ['own', 'service', 'absent'].map((name) => path.join(root, name));
const folders = [own, closed, ofService] as readonly string[];
const listening = (...pids: readonly number[]) => ({
  folders,
  netstat: async () => pids.map((pid) => `  TCP    0.0.0.0:8080    0.0.0.0:0    LISTENING    ${pid}\r\n`).join(''),
});

function add(folder: string | undefined, user: string, pid: number, bytes = fileOf(TOMCAT)): string {
  const place = path.join(folder ?? '', `hsperfdata_${user}`);
  mkdirSync(place, { recursive: true, mode: 0o755 });
  writeFileSync(path.join(place, String(pid)), bytes);
  return path.join(place, String(pid));
}

function createSource(pids: readonly number[], options: { pid?: number; user?: string; upstreamHost?: string } = {}) {
  const system = listening(...pids);
  return new HsperfdataSource({
    ...{ upstreamHost: '127.0.0.1', upstreamPort: 8080, procPath: path.join(root, 'no-proc'), ...options },
    find: (search, signal) => findWindowsJvm(search, signal, system),
  });
}

beforeAll(() => {
  add(own, 'ann', 7, fileOf('com.example.Main'));
  add(ofService, 'LOCAL SERVICE', 812);
  add(ofService, 'PLANT$', 813, Buffer.from('no counters'));
});

it('the JVM that listens is read, with its user; when its file has vanished, it has ended', async () => {
  const file = add(ofService, 'LOCAL SERVICE', 900);
  const source = createSource([900]);
  const reading = await source.read(AbortSignal.timeout(5_000));
  expect(reading.heap.used).toBeGreaterThan(0);
  expect(source.found?.description).toBe('pid 900 (user LOCAL SERVICE, org.apache.catalina.startup.Bootstrap)');
  rmSync(file);
  await expect(source.read(AbortSignal.timeout(5_000))).rejects.toMatchObject({ code: 'D2S_ERR_JVM_GONE' });
});

const NO_FILE = /process 11, which listens .* no counters file hsperfdata_\*\\11 .*jvm\.http/;

it.each<[string, readonly number[], Parameters<typeof createSource>[1], string, RegExp]>([
  ['nothing listens', [], {}, 'NOT_FOUND', /nothing listens on the upstream’s port 8080/],
  ['no JVM listens', [11], {}, 'NOT_FOUND', NO_FILE],
  ['the upstream is elsewhere', [812], { upstreamHost: 'app.example.com' }, 'NOT_FOUND', /is not this machine/],
  ['two JVMs listen', [7, 812], {}, 'AMBIGUOUS', /2 JVMs are candidates.*jvm\.pid/],
  ['jvm.user names another user', [812], { user: 'ann' }, 'NOT_FOUND', /process 812/],
  ['jvm.pid has no file', [], { pid: 99 }, 'NOT_FOUND', /process 99 \(jvm\.pid\)/],
  ['its file is damaged', [813], {}, 'FORMAT', /hsperfdata_PLANT\$\/813 cannot be read/],
])('if %s, the reason says what to change', async (_, pids, options, code, message) => {
  const failed = createSource(pids, options).read(AbortSignal.timeout(5_000));
  await expect(failed).rejects.toMatchObject({ code: `D2S_ERR_JVM_${code}`, message: expect.stringMatching(message) });
});
