/** Strangers hold connections to the monitoring port, from one address or many; a reader must still be served. */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { basic, Folder, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { type Answer, send } from '../../support/net.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { listenerTls } from '../../support/tls/ends.ts';
import { type Stand, startStand } from '../../support/wire/stand.ts';

const READER = '127.0.0.9';
const STRANGER = '127.0.0.2';
const ANN = basic('ann', 'annannann');
const { line: tokens, token } = tokenLine('prometheus', 'metrics');
const PROMETHEUS = `Bearer ${token}`;
const LIVE = '/live';
const SOON = { timeout: 10_000 };

const certificates = new CertificateFolder();
const authority = certificates.authority();
const own = certificates.signed(authority, { name: 'localhost' });
const folder = new Folder();
const users = folder.write('users', await userLine('ann', 'sessions', 'annannann'));
const auth = { usersFile: users, tokensFile: folder.write('tokens', tokens) };
afterAll(() => {
  folder.remove();
  certificates.remove();
});

const sockets: net.Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Asking extends http.RequestOptions {
  readonly authorization: string;
  readonly isSecure?: boolean;
}

function ask(port: number, { authorization, isSecure = false, ...options }: Asking): Promise<Answer> {
  return send(port, options.path ?? LIVE, {
    ...{ localAddress: READER, headers: { host: 'localhost', authorization }, ...options },
    ...(isSecure && { protocol: 'https:', ca: textOf(authority.certFile), servername: 'localhost' }),
  });
}

async function hold(port: number, from: string, text = ''): Promise<net.Socket> {
  const socket = net.connect({ host: '127.0.0.1', port, localAddress: from });
  socket.on('error', () => undefined).resume();
  sockets.push(socket);
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}

/** One after the other, so that they arrive in this order. */
async function holdAll(port: number, count: number, addressOf: (index: number) => string, text = '') {
  const held: net.Socket[] = [];
  for (let index = 0; index < count; index++) held.push(await hold(port, addressOf(index), text));
  return held;
}

const openOf = (held: readonly net.Socket[]) => held.filter((socket) => !socket.closed && !socket.readableEnded).length;

async function start(monitor: Partial<Config['monitor']> = {}): Promise<Stand> {
  const stand = await startStand({ config: (base) => ({ monitor: { ...base.monitor, auth, ...monitor } }) });
  onTestFinished(() => stand.close());
  return stand;
}

it('strangers who hold 1,000 connections from one address keep 100, and readers are answered at once', async () => {
  const { monitorPort: port, sidecar } = await start({ tls: listenerTls(own) });
  const held = await holdAll(port, 1_000, () => STRANGER);
  for (const authorization of [ANN, PROMETHEUS]) {
    expect((await ask(port, { authorization, isSecure: true })).status).toBe(200);
  }
  expect((await ask(port, { authorization: PROMETHEUS, isSecure: true, localAddress: STRANGER })).status).toBe(200);
  await expect.poll(() => openOf(held)).toBeLessThanOrEqual(100);
  expect(sidecar.limits.countOf('monitor.maxConnectionsPerAddress')).toBe(901);
  expect(sidecar.limits.countOf('monitor.maxConnections')).toBe(0);
  const { body } = await ask(port, { authorization: PROMETHEUS, isSecure: true, path: '/metrics' });
  expect(body).toContain('d2_sidecar_limit_hits_total{limit="monitor.maxConnectionsPerAddress"} 901');
});

it('at the limit of connections an accepted reader keeps the connection, and nobody else does', async () => {
  const { monitorPort: port } = await start({ maxConnections: 4 });
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const reader = { agent, authorization: PROMETHEUS };
  expect((await ask(port, reader)).status).toBe(200);
  const [used] = Object.values(agent.freeSockets).flat();
  const wrong = `GET ${LIVE} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer no\r\n\r\n`;
  for (const text of ['GET /live HTTP/1.1\r\nX: ', wrong, 'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n']) {
    const held = await holdAll(port, 3, (index) => `127.1.0.${1 + index}`, text);
    expect((await ask(port, { authorization: PROMETHEUS })).status).toBe(200);
    await expect.poll(() => held[0]?.closed).toBe(true);
    expect((await ask(port, reader)).status).toBe(200);
    expect(Object.values(agent.freeSockets).flat(), 'the same connection').toEqual([used]);
  }
});

it('200,000 requests sent ahead on a connection with TLS end it at the fifth', async () => {
  const { monitorPort: port } = await start({ tls: listenerTls(own) });
  const ca = textOf(authority.certFile);
  const stranger = tls.connect({ socket: await hold(port, STRANGER), ca, servername: 'localhost' });
  stranger.on('error', () => undefined).pause();
  stranger.write('GET /page/page.js HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(200_000));
  await expect.poll(() => stranger.closed, SOON).toBe(true);
  const { body } = await ask(port, { authorization: PROMETHEUS, isSecure: true, path: '/metrics' });
  expect(body).toContain('\nd2_sidecar_monitor_overflows_total 1\n');
  expect(body).toContain('\nd2_sidecar_monitor_connections 1\n');
});
