/** The access log of a real sidecar: one line per call, whatever happens to its file. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listening } from '../support/net.ts';
import { flagsFor, MAIN_PATH, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

const run = promisify(execFile);
const REST = '/smartWeb/api/rest/v0/d2';
const COMET = '/smartWeb/api/cometd';
const WAIT = { timeout: 15_000, interval: 20 };

type Line = Readonly<Record<string, string | number | null>>;
type Message = Readonly<Record<string, unknown>>;

let folder: string;
let upstream: http.Server;
let sidecar: SidecarProcess | undefined;
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
/** Requests that the upstream holds. */
let held: http.ServerResponse[];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-access-log-'));
  held = [];
  upstream = http.createServer((request, response) => {
    let body = '';
    request.on('data', (text: Buffer) => {
      body += text.toString('utf8');
    });
    request.on('error', () => undefined);
    request.on('end', () => answer(request.url ?? '', body, response));
  });
  await listening(upstream);
});
afterEach(async () => {
  await sidecar?.stop('SIGKILL');
  sidecar = undefined;
  for (const response of held) response.destroy();
  agent.destroy();
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

function answer(target: string, body: string, response: http.ServerResponse): void {
  if (target.startsWith(COMET)) {
    const replies = (JSON.parse(body) as Message[]).map((message) => toReply(message));
    response.setHeader('content-type', 'application/json').end(JSON.stringify(replies));
  } else if (target.includes('/Hold')) {
    held.push(response);
    upstream.emit('held');
  } else if (target.includes('/Break')) response.destroy();
  else response.writeHead(Number(/\/S(\d+)/.exec(target)?.[1] ?? 200)).end('{"value":1}');
}

function toReply({ channel, id }: Message): Message {
  if (channel === '/meta/handshake') return { channel, id, clientId: 'c1', successful: true };
  return { channel, id, data: { result: 1 } };
}

const at = (name: string) => path.join(folder, name);

async function start(env: Readonly<Record<string, string>>): Promise<SidecarProcess> {
  const { port } = upstream.address() as AddressInfo;
  const places = flagsFor(port);
  sidecar = await startSidecarProcess(places, { D2_SIDECAR_JVM_SOURCE: 'none', TMPDIR: folder, ...env });
  return sidecar;
}

/** Resolves to the status; 0 without an answer. */
function send(listen: string, target: string, body = '[]', fields: http.OutgoingHttpHeaders = {}): Promise<number> {
  const [host, port] = listen.split(':');
  return new Promise((resolve) => {
    const request = http.request(
      { host, port, method: 'POST', path: target, agent, headers: { 'content-type': 'application/json', ...fields } },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', () => resolve(0));
      },
    );
    request.on('error', () => resolve(0));
    request.end(body);
  });
}

async function metricsOf({ monitor }: SidecarProcess): Promise<ReadonlyMap<string, number>> {
  const text = await (await fetch(`http://${monitor}/metrics`)).text();
  const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

function sumOf(metrics: ReadonlyMap<string, number>, name: string, ...labels: string[]): number {
  const found = [...metrics].filter(
    ([key]) => key.startsWith(`${name}{`) && labels.every((label) => key.includes(label)),
  );
  return found.reduce((sum, [, value]) => sum + value, 0);
}

function linesOf(...names: string[]): Line[] {
  const text = names.map((name) => readFileSync(at(name), 'utf8')).join('');
  expect(text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

describe.each(['auto', 'gateway'])('the access log, with dataPath %s', (dataPath) => {
  it('has one line for each call, with the numbers of /metrics', { timeout: 60_000 }, async () => {
    const user = { authorization: `Basic ${Buffer.from('anna:s3cr3t').toString('base64')}` };
    const { listen, ...process } = await start({
      D2_SIDECAR_ACCESS_LOG_FILE: at('access.log'),
      D2_SIDECAR_DATA_PATH: dataPath,
    });
    const targets = ['S200', 'S204', 'S302', 'S404', 'S500', 'Break'].flatMap((method) => [
      `${REST}/rpc/E.Demo/${method}?q=s3cr3t`,
      `${REST}/sba/E.Files/${method}`,
    ]);
    for (let round = 0; round < 25; round += 1) {
      await Promise.all(targets.map((target) => send(listen, target, '["s3cr3t"]', user)));
    }
    await send(listen, `${REST}/archive/H.Boiler`);
    await send(listen, '/smartWeb/page/s3cr3t');
    await comet(listen);
    await abortOne(listen);
    const metrics = await metricsOf({ listen, ...process });
    expect(await sidecar?.stop()).toBe(0);

    const lines = linesOf('access.log');
    for (const kind of ['rpc', 'sba']) {
      const of = (wanted: (line: Line) => boolean) => lines.filter((line) => line.kind === kind && wanted(line)).length;
      const counted = (outcome: string) => sumOf(metrics, 'd2_calls_total', `kind="${kind}"`, `outcome="${outcome}"`);
      const statusOf = ({ status }: Line) => Number(status);
      expect(of((line) => line.outcome === 'answered' && statusOf(line) < 400)).toBe(counted('ok'));
      expect(of((line) => line.outcome === 'answered' && Math.floor(statusOf(line) / 100) === 4)).toBe(
        counted('client_error'),
      );
      expect(of((line) => line.outcome === 'failed' || statusOf(line) >= 500)).toBe(counted('error'));
      expect(of(({ outcome }) => outcome === 'aborted')).toBe(
        sumOf(metrics, 'd2_calls_aborted_total', `kind="${kind}"`),
      );
      expect(of(({ outcome }) => outcome === 'failed')).toBe(
        sumOf(metrics, 'd2_calls_unanswered_total', `kind="${kind}"`),
      );
      expect(of(() => true)).toBe(150 + (kind === 'rpc' ? 3 : 0));
      // Each value is rounded to the microsecond.
      const answered = lines.filter((line) => line.kind === kind && line.outcome === 'answered');
      const seconds = answered.reduce((sum, { duration }) => sum + Number(duration), 0);
      const counts = sumOf(metrics, 'd2_call_duration_seconds_sum', `kind="${kind}"`);
      expect(Math.abs(seconds - counts)).toBeLessThan(answered.length * 1e-6);
    }
    expect(sumOf(metrics, 'd2_calls_aborted_total', 'kind="rpc"')).toBe(1);
    const failed = lines.filter(({ outcome }) => outcome === 'failed');
    expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['D2S_ERR_UPSTREAM_TERMINATED']));
    const paths = new Set(lines.map((line) => line.dataPath));
    expect(paths).toEqual(new Set([dataPath === 'auto' ? 'relay' : 'gateway']));
    const [plain] = lines.filter(({ name }) => name === 'E.Demo.S200');
    expect(plain).toMatchObject({ user: 'anna', requestBytes: 10, responseBytes: 11, remoteAddress: '127.0.0.1' });
    expect(lines.filter(({ over }) => over === 'comet')).toMatchObject([
      { kind: 'rpc', name: 'E.Demo.Over', status: 200, method: null },
      { kind: 'rpc', name: 'E.Demo.Over', status: 200 },
    ]);
    expect(lines.filter(({ kind }) => kind === 'object')).toMatchObject([{ name: 'H.Boiler' }]);
    expect(readFileSync(at('access.log'), 'utf8')).not.toContain('s3cr3t');
  });
});

/** Two calls in one body. */
async function comet(listen: string): Promise<void> {
  await send(listen, COMET, JSON.stringify([{ channel: '/meta/handshake', id: '1', version: '1.0' }]));
  const data = { eventName: 'E.Demo', rpcName: 'Over', parameters: ['s3cr3t'] };
  const calls = ['2', '3'].map((id) => ({ channel: '/service/d2/rpc', id, clientId: 'c1', data }));
  await send(listen, COMET, JSON.stringify(calls));
}

/** A client that leaves once the upstream has its call. */
async function abortOne(listen: string): Promise<void> {
  const isHeld = once(upstream, 'held');
  const socket = net.connect(Number(listen.split(':')[1]), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`POST ${REST}/rpc/E.Demo/Hold HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
  await isHeld;
  socket.resetAndDestroy();
  await vi.waitFor(async () => {
    expect(sumOf(await metricsOf(sidecar as SidecarProcess), 'd2_calls_aborted_total', 'kind="rpc"')).toBe(1);
  }, WAIT);
}

it('the access log loses no line when it is rotated by SIGHUP, even if the configuration is then refused', {
  timeout: 60_000,
}, async () => {
  const config = at('sidecar.yaml');
  execFileSync('sh', ['-c', `echo 'log: { level: info }' > ${config}`]);
  const { port } = upstream.address() as AddressInfo;
  const places = flagsFor(port);
  sidecar = await startSidecarProcess([...places, '--config', config], {
    ...{ D2_SIDECAR_JVM_SOURCE: 'none', TMPDIR: folder, D2_SIDECAR_ACCESS_LOG_FILE: at('access.log') },
  });
  const { listen, pid } = sidecar;
  let isOver = false;
  let sent = 0;
  const user = async () => {
    while (!isOver) {
      expect(await send(listen, `${REST}/rpc/E.Demo/S200`)).toBe(200);
      sent += 1;
    }
  };
  const users = [user(), user(), user(), user()];
  const names = ['access.log.1', 'access.log.2', 'access.log.3'];
  for (const name of names) {
    const before = sent;
    await vi.waitFor(() => expect(sent).toBeGreaterThan(before + 50), WAIT);
    renameSync(at('access.log'), at(name));
    if (name === names[1]) execFileSync('sh', ['-c', `echo 'log: { level: loud }' > ${config}`]);
    process.kill(pid, 'SIGHUP');
    await vi.waitFor(() => expect(readFileSync(at('access.log'), 'utf8')).not.toBe(''), WAIT);
  }
  isOver = true;
  await Promise.all(users);
  await sidecar.stop();
  expect(linesOf(...names, 'access.log')).toHaveLength(sent);
  expect(sidecar.logs.filter(({ msg }) => String(msg).startsWith('the configuration was not reloaded'))).toHaveLength(
    2,
  );
});

it('calls continue when the access log is on a full disk, and the lost lines are logged and counted', {
  timeout: 60_000,
}, async () => {
  const process = await start({ D2_SIDECAR_ACCESS_LOG_FILE: '/dev/full' });
  for (let i = 0; i < 20; i += 1) expect(await send(process.listen, `${REST}/rpc/E.Demo/S200`)).toBe(200);
  await vi.waitFor(async () => {
    expect((await metricsOf(process)).get('d2_sidecar_access_log_failures_total')).toBeGreaterThan(1);
  }, WAIT);
  const metrics = await metricsOf(process);
  expect(metrics.get('d2_sidecar_access_log_lines_total')).toBe(0);
  expect(metrics.get('d2_sidecar_access_log_waiting_bytes')).toBeGreaterThan(20 * 100);
  expect(await process.stop()).toBe(0);
  const told = process.logs.filter(({ code }) => code === 'D2S_ERR_ACCESS_LOG');
  expect(told).toEqual([expect.objectContaining({ level: 'warn', file: '/dev/full', reason: 'ENOSPC' })]);
});

it('a sidecar starts and serves when the folder of the access log is missing', { timeout: 60_000 }, async () => {
  const process = await start({ D2_SIDECAR_ACCESS_LOG_FILE: at('later/access.log') });
  expect(await send(process.listen, `${REST}/rpc/E.Demo/S200`)).toBe(200);
  execFileSync('mkdir', [at('later')]);
  await vi.waitFor(() => expect(linesOf('later/access.log')).toHaveLength(1), WAIT);
  expect(process.logs.filter(({ code }) => code === 'D2S_ERR_ACCESS_LOG')).toHaveLength(1);
});

it('an access log in a FIFO that is not read delays neither calls nor the end', { timeout: 60_000 }, async () => {
  execFileSync('mkfifo', [at('fifo')]);
  const reader = await open(at('fifo'), constants.O_RDONLY | constants.O_NONBLOCK);
  const process = await start({ D2_SIDECAR_ACCESS_LOG_FILE: at('fifo') });
  // More than the 64 KiB of a pipe buffer.
  for (let i = 0; i < 300; i += 1) expect(await send(process.listen, `${REST}/rpc/E.Demo/S200`)).toBe(200);
  await vi.waitFor(async () => {
    expect((await metricsOf(process)).get('d2_sidecar_access_log_waiting_bytes')).toBeGreaterThan(10_000);
  }, WAIT);
  expect((await metricsOf(process)).get('d2_sidecar_access_log_lost_lines_total')).toBe(0);
  expect(await process.stop()).toBe(0);
  await reader.close();
});

it('an access log on standard error that is a pipe, as in a container, has whole lines', {
  timeout: 60_000,
}, async () => {
  const { port } = upstream.address() as AddressInfo;
  const places = flagsFor(port);
  // Node gives its children sockets.
  // --norc: bash takes a socket for a remote shell, and would read the user's files.
  const child = spawn(
    'bash',
    ['--norc', '-c', 'exec "$0" "$@" 2> >(exec cat >&2)', process.execPath, MAIN_PATH, ...places],
    {
      env: {
        ...process.env,
        ...{ TMPDIR: folder, D2_SIDECAR_ACCESS_LOG_FILE: '/dev/stderr', D2_SIDECAR_STOP_DELAY: '0' },
      },
    },
  );
  const closed = once(child, 'close');
  let [output, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  try {
    await vi.waitFor(() => expect(output).toContain('"msg":"listening"'), WAIT);
    const [, listen = ''] = /"listen":"([^"]+)"/.exec(output) ?? [];
    for (let i = 0; i < 50; i += 1) await send(listen, `${REST}/rpc/E.Demo/S200`);
  } finally {
    child.kill('SIGTERM');
    await closed;
  }
  const lines = errors.split('\n').slice(0, -1);
  expect(lines.map((line) => (JSON.parse(line) as Line).name)).toEqual(Array(50).fill('E.Demo.S200'));
});

it('an access log on standard output, where the program’s own log goes, is refused', async () => {
  const started = run(process.execPath, [MAIN_PATH, 'check', '--upstream', 'http://h/a'], {
    env: { ...process.env, D2_SIDECAR_ACCESS_LOG_FILE: '-' },
  });
  await expect(started).rejects.toMatchObject({
    code: 64,
    stderr: expect.stringContaining('ACCESS_LOG_FILE') as string,
  });
});
