import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { until } from '../support/comet/until.ts';
import { untilTestEnds } from '../support/deferred.ts';
import { useFolder } from '../support/export/access-log/folder.ts';
import { startApplication } from '../support/net.ts';
import {
  exitOf,
  flagsFor,
  MAIN_PATH,
  runSidecar,
  type SidecarProcess,
  startSidecarProcess,
} from '../support/sidecar-process.ts';

type Env = Readonly<Record<string, string>>;

const UPSTREAM = 'http://127.0.0.1:1/smartWeb';
const NOWHERE = flagsFor(1);

const at = useFolder();
const run = (args: readonly string[], env: Env = {}) => runSidecar(args, { TMPDIR: at(''), ...env });

async function start(args: readonly string[] = NOWHERE, env: Env = {}): Promise<SidecarProcess> {
  const sidecar = await startSidecarProcess(args, { TMPDIR: at(''), ...env });
  untilTestEnds(() => sidecar.stop('SIGKILL'));
  return sidecar;
}

function write(name: string, text: string): string {
  writeFileSync(at(name), text);
  return at(name);
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

describe('the command line', () => {
  it('shows the same name and version with --version, in its first line and in /metrics', async () => {
    const sidecar = await start();
    const { msg, version, build, node } = sidecar.logs[0] ?? {};
    expect({ msg, version, node }).toEqual({ msg: 'starting', version: manifest.version, node: process.version });
    expect(build).toMatch(/^(?:unknown|[0-9a-f]{12,}(?:-dirty)?)$/);
    const stdout = `${version} (build ${build}, Node ${node})\n`;
    for (const flag of ['--version', '-v']) expect(await run([flag])).toEqual({ code: 0, stdout, stderr: '' });
    const metrics = await (await fetch(`http://${sidecar.monitor}/metrics`)).text();
    expect(metrics).toContain(`d2_sidecar_build_info{version="${version}",build="${build}",node="${node}"} 1\n`);
  });

  it('says where a file is not YAML, and what to do', async () => {
    const file = write('sidecar.yaml', 'listen:\n  port: 1\n  port: 2\n');
    const { code, stdout, stderr } = await run(['--config', file]);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    const [told, ...advice] = stderr.split('\n');
    expect(told).toContain(`d2-sidecar: ${file}:3:3: not YAML: listen.port is already in line 2, expected once`);
    expect(advice).toEqual([
      ...['Correct it at that line and column; d2-sidecar check --config FILE checks a file and starts nothing.', ''],
    ]);
  });

  it.each<[string, string[], string]>([
    ['no upstream', [], 'upstream.url: missing, expected http://'],
    ['an unknown flag', ['--upstrem', 'x'], '"--upstrem": unknown flag, did you mean --upstream?'],
  ])('exits with 64 and a plain line on standard error: %s', async (_, args, line) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.split('\n')[0]).toContain(`d2-sidecar: ${line}`);
  });

  it('exits with 1 when a port is in use, and names it', async () => {
    const { port } = await startApplication(() => undefined, untilTestEnds);
    const { code, stderr } = await run([...NOWHERE.slice(0, -1), `127.0.0.1:${port}`]);
    expect(code).toBe(1);
    for (const text of ['D2S_ERR_LISTEN', `127.0.0.1:${port}`, 'EADDRINUSE']) expect(stderr).toContain(text);
  });
});

describe('a running sidecar', () => {
  it('logs its real addresses, starts without its upstream, and logs JSON lines only', async () => {
    const sidecar = await start();
    expect(sidecar.listen).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    expect(sidecar.monitor).toMatch(/^127\.0\.0\.1:[1-9]\d*$/);
    expect(await statusOf(`http://${sidecar.monitor}/startupz`)).toBe(200);
    expect(await statusOf(`http://${sidecar.listen}/smartWeb/`)).toBe(502);
    expect(await sidecar.stop()).toBe(0);
    expect(sidecar.logs.filter((line) => 'notJson' in line)).toEqual([]);
    expect(sidecar.stderr()).toBe('');
  });

  it('exits with 0 on SIGINT and closes all sockets', async () => {
    const sidecar = await start();
    const sockets = at(`d2-sidecar-${process.getuid?.()}`);
    expect(readdirSync(sockets)).toEqual([`${sidecar.pid}.sock`]);
    expect(statSync(sockets).mode & 0o777).toBe(0o700);
    expect(await sidecar.stop('SIGINT')).toBe(0);
    expect(readdirSync(sockets)).toEqual([]);
  });

  it('starts without its default control socket and warns of it, but not without the one of the configuration', async () => {
    const sidecar = await start(undefined, { TMPDIR: at('absent') });
    const msg = expect.stringMatching(/^no control socket/);
    expect(sidecar.logs.find(({ level }) => level === 'warn')).toMatchObject({ msg });
    const { code, stderr } = await run(NOWHERE, { D2_SIDECAR_CONTROL_SOCKET: write('a.sock', '') });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/D2S_ERR_CONTROL: control\.socket: .* not a socket$/m)]);
  });

  // After the first one it finishes them: signals.test.ts.
  it('cuts running exchanges on a second signal, then exits with 0', async () => {
    let held = 0;
    const { port } = await startApplication(() => (held += 1), untilTestEnds);
    const sidecar = await start(flagsFor(port));
    const status = statusOf(`http://${sidecar.listen}/smartWeb/x`).catch(() => 'cut');
    await until('the request is held', () => held === 1);
    process.kill(sidecar.pid, 'SIGTERM');
    const stopping = () => sidecar.logs.find(({ msg }) => msg === 'stopping');
    await expect.poll(stopping, { timeout: 15_000 }).toMatchObject({ exchanges: 1 });
    process.kill(sidecar.pid, 'SIGTERM');
    expect(await sidecar.exited).toBe(0);
    expect(await status).toBe('cut');
  });

  it('stops on request even if its log is not read any more', async () => {
    const env = { ...process.env, TMPDIR: at('') };
    const child = spawn(process.execPath, [MAIN_PATH, ...NOWHERE], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    untilTestEnds(() => child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    child.stdout.destroy();
    child.kill('SIGTERM');
    expect(await exitOf(child)).toBe(0);
  });
});

it('drain and shutdown find a sidecar by its process id, its socket, the file and the environment', async () => {
  const socket = at('private/control.sock');
  const file = write('sidecar.yaml', `upstream: { url: '${UPSTREAM}' }\ncontrol: { socket: '${socket}' }\n`);
  const [one, other, configured] = [await start(), await start(), await start(['--config', file, ...NOWHERE])];
  const { code, stderr } = await run(['drain']);
  expect(code).toBe(64);
  expect(stderr).toContain(`--pid ${one.pid}  listens on ${one.listen}, monitor on ${one.monitor}`);
  expect((await run(['shutdown', '--pid', String(other.pid)])).code).toBe(0);
  expect(await other.exited).toBe(0);
  expect((await run(['drain', '--control', socket])).code).toBe(0);
  expect((await run(['drain'], { D2_SIDECAR_CONTROL_SOCKET: socket })).code).toBe(0);
  expect((await run(['shutdown', '--config', file])).code).toBe(0);
  expect(await configured.exited).toBe(0);
  expect((await run(['drain'])).code).toBe(0);
  expect(await statusOf(`http://${one.monitor}/readyz`)).toBe(503);
});
