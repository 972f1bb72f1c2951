/** The access log of a real sidecar: one line per call, whatever happens to its file. */
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { beforeEach, expect, it, vi } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { useFolder } from '../support/export/access-log/folder.ts';
import { basic } from '../support/monitor/access/access-files.ts';
import { readSamples, sumOf } from '../support/monitor/prometheus/samples.ts';
import { type Application, portOf, send as sendTo, startApplication } from '../support/net.ts';
import { flagsFor, type SidecarProcess, startSidecarBefore, startSidecarProcess } from '../support/sidecar-process.ts';

const REST = '/smartWeb/api/rest/v0';
const CALLS = `${REST}/d2`;
const TEST = `${CALLS}/rpc/E.Demo/S200`;
const COMET = '/smartWeb/api/cometd';
const WAIT = { timeout: 15_000, interval: 20 };
const LONG = { timeout: 60_000 };
const JSON_TYPE = { 'content-type': 'application/json' };

type Line = Readonly<Record<string, string | number | null>>;
type Message = Readonly<Record<string, unknown>>;

const at = useFolder();
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
let upstream: Application;
beforeEach(async () => {
  upstream = await startApplication(({ url = '' }, response, body) => {
    if (url.startsWith(COMET)) response.writeHead(200, JSON_TYPE).end(JSON.stringify(JSON.parse(body).map(toReply)));
    else if (url.includes('/Hold')) upstream.server.emit('held');
    else if (url.includes('/Break')) response.destroy();
    else response.writeHead(Number(/\/S(\d+)/.exec(url)?.[1] ?? 200)).end('{"value":1}');
  }, untilTestEnds);
  untilTestEnds(() => agent.destroy());
});

function toReply({ channel, id }: Message): Message {
  if (channel === '/meta/handshake') return { channel, id, clientId: 'c1', successful: true };
  return { channel, id, data: { result: 1 } };
}

const start = (env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
  startSidecarBefore(upstream.port, { TMPDIR: at(''), ...env }, args, untilTestEnds);

/** Resolves to the status; 0 without an answer. */
function send({ listen }: Pick<SidecarProcess, 'listen'>, target = TEST, body = '[]', headers = {}): Promise<number> {
  const sent = sendTo(portOf(listen), target, { method: 'POST', agent, headers: { ...JSON_TYPE, ...headers }, body });
  return sent.then(
    ({ status }) => status,
    () => 0,
  );
}

function linesOf(...names: string[]): Line[] {
  const text = names.map((name) => readFileSync(at(name), 'utf8')).join('');
  expect(text.endsWith('\n')).toBe(true);
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

it('the access log has one line for each call, with the numbers of /metrics', LONG, async () => {
  const running = await start({ D2_SIDECAR_ACCESS_LOG_FILE: at('access.log') });
  const user = { authorization: basic('anna', 's3cr3t') };
  const targets = ['S200', 'S204', 'S302', 'S404', 'S500', 'Break'].flatMap((method) => [
    `${CALLS}/rpc/E.Demo/${method}?q=s3cr3t`,
    `${CALLS}/sba/E.Files/${method}`,
  ]);
  for (let round = 0; round < 25; round += 1) {
    await Promise.all(targets.map((target) => send(running, target, '["s3cr3t"]', user)));
  }
  await send(running, `${CALLS}/archive/H.Boiler`);
  await send(running, '/smartWeb/page/s3cr3t');
  await sendOverComet(running);
  await abortOne(running);
  const metrics = await readSamples(running.monitor);
  expect(await running.stop()).toBe(0);

  const lines = linesOf('access.log');
  for (const kind of ['rpc', 'sba']) {
    const ofKind = lines.filter((line) => line.kind === kind);
    const counted = (name: string, ...labels: string[]) => sumOf(metrics, name, `kind="${kind}"`, ...labels);
    const outcomes = ofKind.map(({ outcome, status }) => {
      if (outcome !== 'answered') return String(outcome);
      return Number(status) < 400 ? 'ok' : Number(status) < 500 ? 'client_error' : 'error';
    });
    const of = (...wanted: string[]) => outcomes.filter((outcome) => wanted.includes(outcome)).length;
    expect(of('ok')).toBe(counted('d2_calls_total', 'outcome="ok"'));
    expect(of('client_error')).toBe(counted('d2_calls_total', 'outcome="client_error"'));
    expect(of('error', 'failed')).toBe(counted('d2_calls_total', 'outcome="error"'));
    expect(of('aborted')).toBe(counted('d2_calls_aborted_total'));
    expect(of('failed')).toBe(counted('d2_calls_unanswered_total'));
    expect(ofKind).toHaveLength(150 + (kind === 'rpc' ? 3 : 0));
    // Each value is rounded to the microsecond.
    const answered = ofKind.filter(({ outcome }) => outcome === 'answered');
    const seconds = answered.reduce((sum, { duration }) => sum + Number(duration), 0);
    expect(Math.abs(seconds - counted('d2_call_duration_seconds_sum'))).toBeLessThan(answered.length * 1e-6);
  }
  expect(sumOf(metrics, 'd2_calls_aborted_total', 'kind="rpc"')).toBe(1);
  const failed = lines.filter(({ outcome }) => outcome === 'failed');
  expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['D2S_ERR_UPSTREAM_TERMINATED']));
  const [plain] = lines.filter(({ name }) => name === 'E.Demo.S200');
  expect(plain).toMatchObject({ user: 'anna', requestBytes: 10, responseBytes: 11, remoteAddress: '127.0.0.1' });
  expect(lines.filter(({ over }) => over === 'comet')).toMatchObject([
    { kind: 'rpc', name: 'E.Demo.Over', status: 200, method: null },
    { kind: 'rpc', name: 'E.Demo.Over', status: 200 },
  ]);
  expect(lines.filter(({ kind }) => kind === 'object')).toMatchObject([{ name: 'H.Boiler' }]);
  expect(readFileSync(at('access.log'), 'utf8')).not.toContain('s3cr3t');
});

/** Two calls in one body. */
async function sendOverComet(running: SidecarProcess): Promise<void> {
  await send(running, COMET, JSON.stringify([{ channel: '/meta/handshake', id: '1', version: '1.0' }]));
  const data = { eventName: 'E.Demo', rpcName: 'Over', parameters: ['s3cr3t'] };
  const calls = ['2', '3'].map((id) => ({ channel: '/service/d2/rpc', id, clientId: 'c1', data }));
  await send(running, COMET, JSON.stringify(calls));
}

/** A client that leaves once the upstream has its call. */
async function abortOne({ listen, monitor }: SidecarProcess): Promise<void> {
  const isHeld = once(upstream.server, 'held');
  const socket = net.connect(portOf(listen), '127.0.0.1').on('error', () => undefined);
  socket.write(`POST ${CALLS}/rpc/E.Demo/Hold HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
  await isHeld;
  socket.resetAndDestroy();
  const aborted = async () => sumOf(await readSamples(monitor), 'd2_calls_aborted_total', 'kind="rpc"');
  await expect.poll(aborted, WAIT).toBe(1);
}

it('the access log loses no line when SIGHUP rotates it, also with a refused configuration', LONG, async () => {
  const configure = (level: string) => writeFileSync(at('sidecar.yaml'), `log: { level: ${level} }`);
  configure('info');
  const file = at('access.log');
  const running = await start({ D2_SIDECAR_ACCESS_LOG_FILE: file }, '--config', at('sidecar.yaml'));
  let isOver = false;
  let sent = 0;
  const user = async () => {
    for (; !isOver; sent += 1) expect(await send(running)).toBe(200);
  };
  const users = [user(), user(), user(), user()];
  const names = ['access.log.1', 'access.log.2', 'access.log.3'];
  for (const name of names) {
    const before = sent;
    await vi.waitFor(() => expect(sent).toBeGreaterThan(before + 50), WAIT);
    renameSync(file, at(name));
    if (name === names[1]) configure('loud');
    process.kill(running.pid, 'SIGHUP');
    await vi.waitFor(() => expect(readFileSync(file, 'utf8')).not.toBe(''), WAIT);
  }
  isOver = true;
  await Promise.all(users);
  await running.stop();
  expect(linesOf(...names, 'access.log')).toHaveLength(sent);
  const refused = running.logs.filter(({ msg }) => String(msg).startsWith('the configuration was not reloaded'));
  expect(refused).toHaveLength(2);
});

it('an access log on standard error that is a pipe, as in a container, has whole lines', LONG, async () => {
  const env = { TMPDIR: at(''), D2_SIDECAR_JVM_SOURCE: 'none', D2_SIDECAR_ACCESS_LOG_FILE: '/dev/stderr' };
  // Node gives its children sockets.
  // --norc: bash takes a socket for a remote shell, and would read the user's files.
  const piped = ['bash', '--norc', '-c', 'exec "$0" "$@" 2> >(exec cat >&2)', process.execPath];
  const running = await startSidecarProcess(flagsFor(upstream.port), env, piped);
  untilTestEnds(() => running.stop('SIGKILL'));
  for (let i = 0; i < 50; i += 1) await send(running);
  await running.stop();
  await expect.poll(() => running.stderr().split('\n').length, WAIT).toBe(51);
  const lines = running.stderr().split('\n').slice(0, -1);
  expect(lines.map((line) => (JSON.parse(line) as Line).name)).toEqual(Array(50).fill('E.Demo.S200'));
});
