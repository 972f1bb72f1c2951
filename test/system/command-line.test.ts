import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { listening } from '../support/net.ts';
import { exitOf, MAIN_PATH, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const UPSTREAM = 'http://127.0.0.1:1/smartWeb';
const FREE = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];

let folder: string;
let started: SidecarProcess[];
let servers: net.Server[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-cli-'));
  started = [];
  servers = [];
});
afterEach(async () => {
  await Promise.all(started.map((sidecar) => sidecar.stop('SIGKILL')));
  for (const server of servers) {
    if (server instanceof http.Server) server.closeAllConnections();
    server.close();
  }
  rmSync(folder, { recursive: true, force: true });
});

/** Without variables that configure a sidecar, and with a temporary directory of its own. */
function toEnv(env: Record<string, string> = {}): Record<string, string> {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('D2_SIDECAR_'));
  return { ...(Object.fromEntries(others) as Record<string, string>), TMPDIR: folder, ...env };
}

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [MAIN_PATH, ...args], { env: toEnv(env), stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  await once(child, 'close');
  return { code: await exitOf(child), stdout, stderr };
}

async function start(args: readonly string[] = ['--upstream', UPSTREAM, ...FREE], env: Record<string, string> = {}) {
  const sidecar = await startSidecarProcess(args, toEnv(env));
  started.push(sidecar);
  return sidecar;
}

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

/** An upstream that holds every request until `answer` is called. */
async function startHoldingUpstream() {
  const held: http.ServerResponse[] = [];
  const server = http.createServer((_, response) => void held.push(response));
  servers.push(server);
  const port = await listening(server);
  return { held, url: `http://127.0.0.1:${port}/smartWeb` };
}

async function statusOf(url: string): Promise<number> {
  const response = await fetch(url);
  await response.arrayBuffer();
  return response.status;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('the command line', () => {
  it('prints its help and exits with 0', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('d2-sidecar --upstream http://127.0.0.1:8080/smartWeb');
  });

  it.each(['--version', '-v'])('prints its version and exits with 0: %s', async (flag) => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const { code, stdout, stderr } = await run([flag]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [, printed, build, node] = /^(\S+) \(build (\S+), Node (\S+)\)\n$/.exec(stdout) ?? [];
    expect({ printed, node }).toEqual({ printed: version, node: process.version });
    expect(build).toMatch(/^(?:unknown|[0-9a-f]{12,}(?:-dirty)?)$/);
  });

  it.each([[[]], [['check']]])('says where a file is not YAML, and what to do: %j', async (command) => {
    const file = write('sidecar.yaml', 'listen:\n  port: 1\n  port: 2\n');
    const { code, stdout, stderr } = await run([...command, '--config', file]);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.split('\n')).toEqual([
      `d2-sidecar: ${file}:3:3: not YAML: listen.port is already in line 2, expected once`,
      'Correct it at that line and column; d2-sidecar check --config FILE tries a file and starts nothing.',
      '',
    ]);
  });

  it('logs the same name and version in its first line as --version and /metrics show', async () => {
    const sidecar = await start();
    const { stdout } = await run(['--version']);
    const { msg, version, build, node } = sidecar.logs[0] ?? {};
    expect(msg).toBe('starting');
    expect(stdout).toBe(`${version} (build ${build}, Node ${node})\n`);
    const metrics = await (await fetch(`http://${sidecar.monitor}/metrics`)).text();
    expect(metrics).toContain(`d2_sidecar_build_info{version="${version}",build="${build}",node="${node}"} 1\n`);
  });

  it.each<[string, string[], string]>([
    ['no upstream', [], 'upstream.url: missing, expected http://'],
    ['an unknown flag', ['--upstrem', 'x'], '"--upstrem": unknown flag, did you mean --upstream?'],
    ['an unknown command', ['chek'], '"chek": unknown command, did you mean check?'],
    ['a bad address', ['--upstream', UPSTREAM, '--listen', 'nowhere'], '--listen: got "nowhere", expected host:port'],
    ['an open monitor', ['--upstream', UPSTREAM, '--monitor', '0.0.0.0:0'], 'monitor.host: 0.0.0.0 can be reached'],
  ])('exits with 64 and a plain line on standard error: %s', async (_, args, line) => {
    const { code, stdout, stderr } = await run(args);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr.split('\n')[0]).toContain(`d2-sidecar: ${line}`);
  });

  it('exits with 64 for a file that is not YAML, and names the line', async () => {
    const file = write('bad.yaml', 'listen:\n\tport: 1\n');
    const { code, stderr } = await run(['--config', file]);
    expect(code).toBe(64);
    expect(stderr).toContain(`${file}:2:1: not YAML: a tab as indentation`);
  });

  it('exits with 1 for a file that cannot be read', async () => {
    const { code, stderr } = await run(['--upstream', UPSTREAM, '--config', path.join(folder, 'absent.yaml')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/D2S_ERR_CONFIG_FILE: .*absent\.yaml cannot be read: ENOENT/);
  });

  it.each(['--listen', '--monitor'])('exits with 1 when the port of %s is in use, and names it', async (flag) => {
    const taken = net.createServer();
    servers.push(taken);
    const port = await listening(taken);
    const other = flag === '--listen' ? '--monitor' : '--listen';
    const { code, stderr } = await run(['--upstream', UPSTREAM, flag, `127.0.0.1:${port}`, other, '127.0.0.1:0']);
    expect(code).toBe(1);
    expect(stderr).toContain('D2S_ERR_LISTEN');
    expect(stderr).toContain(`127.0.0.1:${port}`);
    expect(stderr).toContain('EADDRINUSE');
  });
});

describe('d2-sidecar check', () => {
  it('prints the effective configuration and exits with 0', async () => {
    const file = write(
      'good.yaml',
      `upstream: { url: '${UPSTREAM}' }\nsessions: { apiKeys: [{ user: reports, key: s3cr3t }] }\n`,
    );
    const { code, stdout, stderr } = await run(['check', '--config', file, '--listen', ':0'], {
      D2_SIDECAR_LOG_LEVEL: 'debug',
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).not.toContain('s3cr3t');
    expect(parse(stdout)).toMatchObject({
      listen: { host: '0.0.0.0', port: 0 },
      upstream: { url: 'http://127.0.0.1:1' },
      applications: ['smartWeb'],
      sessions: { apiKeys: [{ user: 'reports', key: '[hidden]' }] },
      log: { level: 'debug' },
    });
  });

  it('prints a configuration that it accepts again', async () => {
    const first = await run(['check', '--upstream', UPSTREAM]);
    const second = await run(['check', '--config', write('effective.yaml', first.stdout)]);
    expect(second).toEqual(first);
  });

  it('accepts the example that is shipped', async () => {
    expect((await run(['check', '--config', path.join(ROOT, 'config/sidecar.yaml')])).code).toBe(0);
  });

  it('exits with 64 for a configuration that a start would refuse, without its secrets', async () => {
    const file = write('bad.yaml', "upstream: { url: 'http://alice:s3cr3t@plant' }\nlisten: { prot: 1 }\n");
    const { code, stdout, stderr } = await run(['check', '--config', file]);
    expect({ code, stdout }).toEqual({ code: 64, stdout: '' });
    expect(stderr).toContain('upstream.url: got "http://[hidden]@plant"');
    expect(stderr).toContain('listen.prot: unknown key, did you mean listen.port?');
    expect(stderr).not.toContain('s3cr3t');
  });

  it('exits with 1 for a file that cannot be read', async () => {
    expect((await run(['check', '--config', folder])).code).toBe(1);
  });

  it('warns of variables that are not keys, by name', async () => {
    const { code, stderr } = await run(['check', '--upstream', UPSTREAM], { D2_SIDECAR_LISTEN_PROT: 's3cr3t' });
    expect(code).toBe(0);
    expect(stderr).toBe(
      'd2-sidecar: warning: D2_SIDECAR_LISTEN_PROT is ignored: there is no such key; did you mean D2_SIDECAR_LISTEN_PORT?\n',
    );
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

  it('logs a warning for variables that Kubernetes sets over a key', async () => {
    const sidecar = await start(undefined, { D2_SIDECAR_MONITOR_PORT: 'tcp://10.0.0.1:9280' });
    expect(sidecar.logs[1]).toMatchObject({
      level: 'warn',
      msg: expect.stringContaining('D2_SIDECAR_MONITOR_PORT is ignored'),
    });
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('exits with 0 on %s and closes all sockets', async (signal) => {
    const sidecar = await start();
    const sockets = path.join(folder, `d2-sidecar-${process.getuid?.()}`);
    expect(readdirSync(sockets)).toEqual([`${sidecar.pid}.sock`]);
    expect(statSync(sockets).mode & 0o777).toBe(0o700);
    expect(await sidecar.stop(signal)).toBe(0);
    expect(readdirSync(sockets)).toEqual([]);
  });

  it('finishes a running exchange after SIGTERM, then exits with 0', async () => {
    const upstream = await startHoldingUpstream();
    const sidecar = await start(['--upstream', upstream.url, ...FREE]);
    const request = statusOf(`http://${sidecar.listen}/smartWeb/x`);
    await until(() => upstream.held.length === 1);
    process.kill(sidecar.pid, 'SIGTERM');
    await until(() => sidecar.logs.some((line) => line.msg === 'stopping'));
    upstream.held[0]?.end('done');
    expect(await request).toBe(200);
    expect(await sidecar.exited).toBe(0);
  });

  it('cuts running exchanges on a second signal, and exits with 0 at once', async () => {
    const upstream = await startHoldingUpstream();
    const sidecar = await start(['--upstream', upstream.url, ...FREE]);
    const request = fetch(`http://${sidecar.listen}/smartWeb/x`).then(
      () => 'answered',
      () => 'cut',
    );
    await until(() => upstream.held.length === 1);
    process.kill(sidecar.pid, 'SIGTERM');
    await until(() => sidecar.logs.some((line) => line.msg === 'stopping'));
    expect(sidecar.logs.find((line) => line.msg === 'stopping')).toMatchObject({ exchanges: 1 });
    process.kill(sidecar.pid, 'SIGTERM');
    expect(await sidecar.exited).toBe(0);
    expect(await request).toBe('cut');
  });

  it('stops on request even if its log is not read any more', async () => {
    const args = [MAIN_PATH, '--upstream', UPSTREAM, ...FREE];
    const child = spawn(process.execPath, args, { env: toEnv(), stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await once(child.stdout, 'data');
      child.stdout.destroy();
      child.kill('SIGTERM');
      expect(await exitOf(child)).toBe(0);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('refuses to start when control.socket cannot be created', async () => {
    const socket = write('not-a-socket', '');
    const { code, stderr } = await run(['--upstream', UPSTREAM, ...FREE], { D2_SIDECAR_CONTROL_SOCKET: socket });
    expect(code).toBe(1);
    expect(stderr).toContain(`D2S_ERR_CONTROL: control.socket: ${socket} exists and is not a socket`);
    expect(existsSync(socket)).toBe(true);
  });

  it('starts with a warning when there is no place for its default control socket', async () => {
    const sidecar = await start(undefined, { TMPDIR: path.join(folder, 'absent') });
    expect(sidecar.logs[1]).toMatchObject({ level: 'warn', msg: expect.stringContaining('no control socket') });
  });
});

describe('drain and shutdown', () => {
  it('turn readiness off and serve on, then wait for the last exchange, then stop the sidecar', async () => {
    const upstream = await startHoldingUpstream();
    const sidecar = await start(['--upstream', upstream.url, ...FREE]);
    expect(await statusOf(`http://${sidecar.monitor}/readyz`)).toBe(200);
    const request = statusOf(`http://${sidecar.listen}/smartWeb/x`);
    await until(() => upstream.held.length === 1);

    const draining = run(['drain', '--wait', '30s']);
    await until(() => sidecar.logs.some((line) => line.msg === 'draining'));
    expect(await statusOf(`http://${sidecar.monitor}/readyz`)).toBe(503);
    expect(await statusOf(`http://${sidecar.monitor}/livez`)).toBe(200);
    upstream.held[0]?.end('done');
    expect(await request).toBe(200);
    expect(await draining).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/1 exchange open\n(.*\n)*drained\n$/),
    });

    const { code, stdout } = await run(['shutdown']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/stopped\n$/);
    expect(await sidecar.exited).toBe(0);
  });

  it('ask which sidecar is meant when several run, and accept --pid', async () => {
    const [one, other] = [await start(), await start()];
    const { code, stderr } = await run(['drain']);
    expect(code).toBe(64);
    expect(stderr).toContain(`--pid ${one.pid}  listens on ${one.listen}, monitor on ${one.monitor}`);
    expect(stderr).toContain(`--pid ${other.pid}  listens on ${other.listen}`);
    expect((await run(['shutdown', '--pid', String(other.pid)])).code).toBe(0);
    expect(await other.exited).toBe(0);
    expect((await run(['drain'])).code).toBe(0);
    expect(await statusOf(`http://${one.monitor}/readyz`)).toBe(503);
  });

  it('find a configured control socket by --control, file or environment', async () => {
    const socket = path.join(folder, 'private/control.sock');
    const file = write('sidecar.yaml', `upstream: { url: '${UPSTREAM}' }\ncontrol: { socket: '${socket}' }\n`);
    const sidecar = await start(['--config', file, ...FREE]);
    expect((await run(['drain', '--control', socket])).code).toBe(0);
    expect((await run(['drain'], { D2_SIDECAR_CONTROL_SOCKET: socket })).code).toBe(0);
    expect((await run(['shutdown', '--config', file])).code).toBe(0);
    expect(await sidecar.exited).toBe(0);
  });

  it.each(['drain', 'shutdown', 'drain --pid 1', 'shutdown --control /nowhere/x.sock'])(
    'exit with 1 when no sidecar runs: %s',
    async (line) => {
      const { code, stderr } = await run(line.split(' '));
      expect(code).toBe(1);
      expect(stderr).toContain('d2-sidecar: D2S_ERR_CONTROL: ');
    },
  );
});
