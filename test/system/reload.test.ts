import { once } from 'node:events';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import type http from 'node:http';
import net from 'node:net';
import { afterAll, afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { deferTo } from '../support/deferred.ts';
import { useFolder } from '../support/export/access-log/folder.ts';
import { basic, tokenLine } from '../support/monitor/access/access-files.ts';
import { readSamples } from '../support/monitor/prometheus/samples.ts';
import { portOf, send, startApplication } from '../support/net.ts';
import { runSidecar, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { CertificateFolder } from '../support/tls/certificates.ts';
import { connected } from '../support/tls/ends.ts';
import { Peer } from '../support/wire/peer.ts';

const REST = '/smartWeb/api/rest/v0';
const ADMIN = `${REST}/admin`;
const SECRET = 's3cr3t-key-of-ann';

/** Long polls, which wait until they are released. */
const held: http.ServerResponse[] = [];
/** Uploads are answered with their size. */
const application = await startApplication(({ url }, response, body) => {
  if (url?.endsWith('/hold') === true) held.push(response);
  else response.end(String(body.length));
});
/** Body bytes of all requests. */
let received = 0;
application.server.on('request', (request) => request.on('data', (text: string) => (received += text.length)));
const sockets = new WebSocketServer({ server: application.server });
sockets.on('connection', (socket) => socket.on('message', (text) => socket.send(`echo ${String(text)}`)));
afterAll(() => application.close());

const at = useFolder();
const defer = deferTo(afterEach);

const file = () => at('sidecar.yaml');

function write(config: Record<string, unknown>): void {
  const { listen = {}, monitor = {}, ...rest } = config;
  const whole = {
    upstream: { url: `http://127.0.0.1:${application.port}/smartWeb` },
    listen: { host: '127.0.0.1', port: 0, ...(listen as object) },
    monitor: { port: 0, ...(monitor as object) },
    control: { socket: at('control.sock') },
    stop: { delay: 0, window: 0, deadline: 2 },
    ...rest,
  };
  // JSON is YAML. Renamed, so that no reader sees half of it.
  writeFileSync(`${file()}.new`, JSON.stringify(whole));
  renameSync(`${file()}.new`, file());
}

async function start(config: Record<string, unknown>): Promise<SidecarProcess> {
  write(config);
  const sidecar = await startSidecarProcess(['--config', file()]);
  defer(async () => expect(await sidecar.stop()).toBe(0));
  return sidecar;
}

/** Resolves to the result of `find` once it has one. */
const until = <T>(find: () => T) => vi.waitUntil(find, { timeout: 15_000, interval: 5 });

/** Sends SIGHUP and returns the log line with its result. */
async function hangUp({ pid, logs }: SidecarProcess) {
  const seen = logs.length;
  process.kill(pid, 'SIGHUP');
  return await until(() => logs.slice(seen).find(({ msg }) => /configuration was (?:not )?reloaded/.test(String(msg))));
}

async function json(running: SidecarProcess, target: string): Promise<unknown> {
  return JSON.parse((await send(portOf(running.monitor), target)).body);
}

async function metric({ monitor }: SidecarProcess, name: string): Promise<number | undefined> {
  return (await readSamples(monitor)).get(name);
}

async function connect({ listen }: SidecarProcess): Promise<Peer> {
  const peer = new Peer(net.connect(portOf(listen), '127.0.0.1'));
  onTestFinished(() => void peer.socket.destroy());
  await once(peer.socket, 'connect');
  return peer;
}

function head(method: string, target: string, fields = ''): string {
  return `${method} ${REST}/${target} HTTP/1.1\r\nHost: plant\r\nAuthorization: ${basic('ann', 'password')}\r\n${fields}\r\n`;
}

describe('SIGHUP', () => {
  it('interrupts nothing in progress: a held poll, a WebSocket, half a head, half an upload; new traffic gets the new settings', async () => {
    const running = await start({});
    const caller = await connect(running);
    await caller.ask(head('POST', 'd2/rpc/E.Demo/Run', 'Content-Length: 0\r\n'));
    const [before] = (await json(running, `${ADMIN}/d2/sessions`)) as { id: string; userName: string }[];
    expect(before?.userName).toBe('ann');

    const poll = await connect(running);
    poll.send(head('GET', 'hold'));
    await until(() => held.length === 1);
    const webSocket = new WebSocket(`ws://${running.listen}/smartWeb/socket`);
    onTestFinished(() => webSocket.terminate());
    await once(webSocket, 'open');
    const half = await connect(running);
    half.send(head('GET', 'own/half').slice(0, -20));
    const upload = await connect(running);
    const bytesBefore = received;
    upload.send(`${head('POST', 'd2/rpc/E.Demo/Run', 'Content-Length: 200000\r\n')}${'x'.repeat(100_000)}`);
    await until(() => received === bytesBefore + 100_000);

    write({
      listen: { port: 1 },
      limits: { connections: 1 },
      rest: { rules: [{ methods: ['GET'], path: 'own/{name}', kind: 'rpc', name: 'Own.{name}' }] },
    });
    const line = await hangUp(running);
    expect(line).toMatchObject({ level: 'info', changed: ['rest.rules', 'limits.connections'] });
    const warning = await until(() => running.logs.find(({ keys }) => keys !== undefined));
    const msg = expect.stringMatching(/^needs a restart: listen\.port;/);
    expect(warning).toMatchObject({ level: 'warn', keys: ['listen.port'], msg });
    expect([caller, poll, half, upload].map(({ isClosed }) => isClosed)).toEqual(Array(4).fill(false));
    expect(webSocket.readyState).toBe(WebSocket.OPEN);
    await (await connect(running)).ended();

    half.send(head('GET', 'own/half').slice(-20));
    expect(await half.response()).toMatchObject({ status: 200, body: '0' });
    upload.send('x'.repeat(100_000));
    expect(await upload.response()).toMatchObject({ status: 200, body: '200000' });
    webSocket.send('still here');
    const [echo] = (await once(webSocket, 'message')) as [Buffer];
    expect(String(echo)).toBe('echo still here');
    held.shift()?.end('released');
    await poll.take('released');
    await caller.ask(head('POST', 'd2/rpc/E.Demo/Run', 'Content-Length: 0\r\n'));

    const { timers } = (await json(running, `${ADMIN}/metrics/d2/rpc`)) as { timers: object };
    const counts = { rpc: { count: 4 }, 'rpc.E.Demo.Run': { count: 3 }, 'rpc.Own.half': { count: 1 } };
    expect(timers).toMatchObject(counts);
    expect(Object.keys(timers).sort()).toEqual(Object.keys(counts).sort());
    expect(await json(running, `${ADMIN}/d2/sessions`)).toMatchObject([{ id: before?.id, requests: 4 }]);
    expect(await metric(running, 'd2_sidecar_config_reloads_total{result="applied"}')).toBe(1);
    expect(await metric(running, 'd2_sidecar_config_keys_waiting_for_restart')).toBe(1);
  });

  it('with an unusable file changes nothing, and logs in one line what a start would say, without secrets', async () => {
    const running = await start({});
    write({ limits: { connections: 0 }, sessions: { apiKeys: [{ user: 'ann', key: SECRET, more: SECRET }] } });
    const { stderr } = await runSidecar(['check', '--config', file()]);
    const line = await hangUp(running);
    const problems = line.problems as string[];
    expect(line).toMatchObject({ level: 'error', code: 'D2S_ERR_CONFIG', reason: 'SIGHUP' });
    expect(problems).toHaveLength(2);
    const lines = problems.map((one) => `d2-sidecar: ${one}\n`);
    expect(stderr).toBe(`${lines.join('')}d2-sidecar --help lists what can be set.\n`);
    expect(await metric(running, 'd2_sidecar_config_last_reload_successful')).toBe(0);
    rmSync(file());
    const unreadable = { code: 'D2S_ERR_CONFIG_FILE', problems: [`${file()} cannot be read: ENOENT`] };
    expect(await hangUp(running)).toMatchObject(unreadable);
    expect(JSON.stringify(running.logs) + stderr).not.toContain(SECRET);
    write({});
    const stdout = `d2-sidecar ${running.pid} reloaded its configuration, nothing changed\n`;
    expect(await runSidecar(['reload', '--control', at('control.sock')])).toEqual({ code: 0, stdout, stderr: '' });
    expect(await metric(running, 'd2_sidecar_config_last_reload_successful')).toBe(1);
  });
});

it('certificates and credentials are replaced by a reload, for new connections and requests', async () => {
  const certificates = new CertificateFolder();
  onTestFinished(() => certificates.remove());
  const authority = certificates.authority();
  const [first, second] = [
    certificates.signed(authority, { name: 'first' }),
    certificates.signed(authority, { name: 'second' }),
  ];
  const running = await start({ listen: { tls: first } });
  const shown = async (token?: string) => {
    const socket = await connected(portOf(running.listen), authority);
    onTestFinished(() => void socket.destroy());
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const { status } = await send(portOf(running.monitor), `${ADMIN}/d2/sessions`, { headers });
    return [socket.getPeerCertificate().subject.CN, status];
  };
  expect(await shown()).toEqual(['first', 200]);
  const { line, token } = tokenLine('prometheus', 'sessions');
  const tokensFile = at('tokens');
  writeFileSync(tokensFile, line, { mode: 0o600 });
  write({ listen: { tls: second }, monitor: { auth: { tokensFile } } });
  expect((await hangUp(running)).changed).toEqual(['listen.tls.certFile', 'listen.tls.keyFile', 'monitor.auth']);
  expect(await shown()).toEqual(['second', 401]);
  expect(await shown(token)).toEqual(['second', 200]);
});
