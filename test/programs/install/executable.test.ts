/**
 * The program as one executable (scripts/executable.mjs), in a root that has only the C library: no Node.js, no shell. Its Node.js comes
 * from npm. Needs root, for chroot(1), and Debian's `tomcat10`.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { makeExecutable, runtimeIn } from '../../support/install/executable.ts';
import { ROOT, run } from '../../support/install/run.ts';
import { portOf, restCall, send, startApplication } from '../../support/net.ts';
import { isAvailable } from '../../support/programs.ts';
import { flagsFor, runSidecar, type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts';
import { hasTomcat, startTomcat } from '../../support/tomcat/tomcat.ts';
import { dataPathCases } from '../../system/data-path.cases.ts';
import { Comparison } from '../../system/wire/comparison.ts';
import { CaseRunner } from '../../system/wire/run-case.ts';

const SLOW_MS = 300_000;
const canRun = hasTomcat() && isAvailable('an empty root, as root', process.getuid?.() === 0);
const defer = deferTo(afterAll);

const folder = temporaryFolder(defer);
const file = path.join(folder, 'd2-sidecar');
const root = path.join(folder, 'root');
/**
 * Runs the executable in the root, in the same process. Its first argument, dist/main.js, is left out. The mounted /proc vanishes with
 * the process.
 */
const inRoot = [
  ...['unshare', '--mount', 'sh', '-c'],
  `mount -t proc proc ${root}/proc && shift && exec env -u NODE_OPTIONS chroot ${root} /d2-sidecar "$@"`,
  'sh',
];

const node = () => runtimeIn(folder);
const make = (target: string, ...flags: readonly string[]) =>
  run(process.execPath, ['scripts/executable.mjs', target, '--node', node(), ...flags]);

/** The executable, and the libraries that it is linked with. */
function layRoot(): void {
  const libraries = execFileSync('ldd', [node()], { encoding: 'utf8' }).match(/\/\S+/g) ?? [];
  for (const library of libraries) {
    mkdirSync(path.join(root, path.dirname(library)), { recursive: true });
    copyFileSync(library, path.join(root, library));
  }
  for (const name of ['proc', 'tmp', 'etc']) mkdirSync(path.join(root, name));
  writeFileSync(path.join(root, 'etc/hosts'), '127.0.0.1 localhost\n');
  copyFileSync(file, path.join(root, 'd2-sidecar'));
}

async function start(port: number, env: Record<string, string> = {}): Promise<SidecarProcess> {
  const sidecar = await startSidecarProcess(flagsFor(port), env, inRoot);
  defer(() => sidecar.stop());
  return sidecar;
}

describe.runIf(canRun)('the executable', { timeout: SLOW_MS }, () => {
  beforeAll(async () => {
    await makeExecutable(folder);
    layRoot();
  }, SLOW_MS);

  it('contains program, schema and licences, and needs nothing', async () => {
    expect(existsSync(path.join(root, 'bin'))).toBe(false);
    const version = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).version;
    expect((await runSidecar(['--version'], {}, inRoot)).stdout).toMatch(`${version} (build `);
    const { stdout: schema } = await runSidecar(['print', 'schema'], {}, inRoot);
    expect(schema).toBe(readFileSync(path.join(ROOT, 'config/schema.json'), 'utf8'));
    const { stdout: licences } = await runSidecar(['print', 'licences'], {}, inRoot);
    for (const name of ['fastify 5', 'Node.js 26', 'OpenSSL']) expect(licences).toContain(name);
    const checked = await runSidecar(['check', '--upstream', 'http://127.0.0.1:8080/smartWeb'], {}, inRoot);
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringContaining('url: http://127.0.0.1:8080\n')]);
  });

  it('serves, counts, shows the page, and reads a JVM of the machine', async () => {
    const tomcat = await startTomcat(defer);
    const sidecar = await start(tomcat.port);
    expect((await restCall(portOf(sidecar.listen), 'rpc/E.Demo/Greet')).status).toBeLessThan(500);
    const ask = async (target: string) => (await send(portOf(sidecar.monitor), target)).body;
    expect(await ask('/')).toBe(readFileSync(path.join(ROOT, 'dist/page/index.html'), 'utf8'));
    await expect
      .poll(() => ask('/metrics'), { timeout: 20_000 })
      .toMatch(/^jvm_memory_used_bytes\{area="heap"\} [1-9]/m);
    expect(await ask('/smartWeb/api/rest/v0/admin/metrics/d2/rpc')).toMatch(/"timers":\{"rpc":\{"count":1,/);
    expect(await sidecar.stop()).toBe(0);
  });

  it('passes every wire case', async () => {
    const comparison = await Comparison.start();
    defer(() => comparison.close());
    const sidecar = await start(comparison.upstream.port, { D2_SIDECAR_JVM_SOURCE: 'none' });
    // It answers after it has noticed what came before.
    const settle = async () => {
      for (let turn = 0; turn < 3; turn += 1) await send(portOf(sidecar.monitor), '/livez');
    };
    const runner = new CaseRunner(comparison.upstream, undefined, settle);
    // One after the other: some depend on times, which others at once would stretch.
    for (const subject of dataPathCases) await comparison.play(subject, portOf(sidecar.listen), 'fields', runner);
  });

  it('has different session ids at each start (CVE-2026-106074)', async () => {
    const upstream = await startApplication((_, response) => response.end('{}'), defer);
    const ids: string[] = [];
    for (const _ of [1, 2]) {
      const sidecar = await start(upstream.port, { D2_SIDECAR_JVM_SOURCE: 'none' });
      await restCall(portOf(sidecar.listen), 'rpc/E.Demo/Greet', 'ann');
      const { body } = await send(portOf(sidecar.monitor), '/smartWeb/api/rest/v0/admin/d2/sessions');
      ids.push(body.match(/[0-9a-f-]{36}/)?.[0] ?? '');
      await sidecar.stop();
    }
    expect(ids[0]).not.toBe('');
    expect(ids[0]).not.toBe(ids[1]);
  });

  it('is the same for the same files; an unsafe Node.js and a wrong checksum are refused', async () => {
    const second = path.join(folder, 'second');
    expect((await make(second, '--trial')).code).toBe(0);
    const hash = (name: string) => createHash('sha256').update(readFileSync(name)).digest('hex');
    expect(hash(second)).toBe(hash(file));
    const refused = await make(second, '--trial', '--sha256', '0'.repeat(64));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('has the SHA-256')]);
    const released = await make(second);
    const isSafe = (await run(node(), ['scripts/runtime.mjs', 'yes'])).code === 0;
    expect(released.code).toBe(isSafe ? 0 : 1);
  });
});
