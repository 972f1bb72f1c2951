import { constants } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Config, UpstreamTlsConfig } from '../../../src/config/config.ts';
import { Upstream } from '../../../src/proxy/upstream/upstream.ts';
import { UpstreamTls } from '../../../src/proxy/upstream/upstream-tls.ts';
import { describeTlsFault, type TlsFaultKind } from '../../../src/tls/tls-fault.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { listening } from '../../support/net.ts';
import { type Pair, pemOf, textOf, type Wanted } from '../../support/tls/certificates.ts';
import { get, upstreamTls, useCertificates } from '../../support/tls/ends.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';
import { OK, type Stand, type StandOptions, startStand } from '../../support/wire/stand.ts';

const folder = useCertificates();
const authority = folder.authority();
const another = folder.authority('another');
const own = folder.signed(authority, { name: 'plant' });
const ours = folder.signed(another, { name: 'd2-sidecar', usage: 'clientAuth' });

let stand: Stand;
/** What came to servers through TLS, and the names that clients asked for. */
let received = '';
let names: (string | false | null)[] = [];

beforeEach(() => {
  [received, names] = ['', []];
});

async function listen(server: net.Server): Promise<number> {
  const sockets: net.Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket.on('error', () => undefined)));
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  untilTestEnds(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return await listening(server);
}

/** An upstream that answers each read, behind TLS, with `ok`. */
async function secure(pair: Pair = own, more: tls.TlsOptions = {}): Promise<number> {
  const server = tls.createServer({ ...pemOf(pair), ...more }, (socket) => {
    names.push(socket.servername);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received += String(bytes);
      socket.write(OK);
    });
  });
  return await listen(server);
}

async function start(
  upstreamPort: number,
  config: Partial<UpstreamTlsConfig> = {},
  more: Partial<Config['upstream']> = {},
  monitor: Partial<Config['monitor']> = {},
): Promise<void> {
  const both: StandOptions['config'] = (base) => ({
    upstream: { ...base.upstream, tls: upstreamTls(authority, config), ...more },
    monitor: { ...base.monitor, ...monitor },
  });
  stand = await startStand({ upstreamPort, config: both }, untilTestEnds);
}

const ask = () => get(stand.port, '/secret-path');
const warnings = () => stand.logged.filter(({ level }) => level === 'warn').map(({ details }) => details);

const signed = (wanted: Partial<Wanted>) => secure(folder.signed(authority, { name: 'plant', ...wanted }));
const plain = (answer: string) =>
  listen(net.createServer((socket) => socket.once('data', () => (answer === '' ? socket.end() : socket.end(answer)))));

const ASKING: tls.TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: textOf(authority.certFile) };
const asking = (maxVersion: tls.SecureVersion) => secure(own, { ...ASKING, maxVersion });
const OLD: tls.TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' };
const WEAK: tls.TlsOptions = { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' };
/** A fatal alert of RFC 8446 §6 instead of a ServerHello. */
const alerting = (description: number) =>
  listen(
    net.createServer((socket) => socket.once('data', () => socket.end(Buffer.of(21, 3, 3, 0, 2, 2, description)))),
  );

/** `error`: of RFC 9209, in the answer to a client. */
type Case = [
  ...[what: string, kind: TlsFaultKind, start: () => Promise<number>],
  ...[config?: Partial<UpstreamTlsConfig>, error?: string],
];

const WRONG = 'tls_certificate_error';
const NO_TLS = 'tls_protocol_error';
const ALERT = 'tls_alert_received';

const ALERTS: readonly [alert: number, kind: TlsFaultKind][] = [
  ...[41, 42, 43, 44, 45, 46, 48, 49, 116].map((alert): [number, TlsFaultKind] => [alert, 'client-certificate']),
  ...[70, 71].map((alert): [number, TlsFaultKind] => [alert, 'protocol']),
  [40, 'refused'],
  [112, 'other-name'],
  [80, 'other'],
];

const CASES: Case[] = [
  ['has an expired certificate', 'expired', () => signed({ days: -1 }), {}, WRONG],
  ['has a certificate of tomorrow', 'not-yet-valid', () => signed({ fromDays: 1 })],
  ['is signed by an unknown authority', 'untrusted', secure, { caFile: another.certFile }, WRONG],
  ['is signed by an authority that is not public', 'untrusted', secure, { caFile: undefined }, WRONG],
  ['has a self-signed certificate', 'untrusted', () => secure(folder.selfSigned({ name: 'plant' }))],
  ['has a certificate for clients', 'not-for-servers', () => signed({ usage: 'clientAuth' }), {}, WRONG],
  ['has a certificate for another name', 'other-name', secure, { serverName: 'smartweb.plant' }, WRONG],
  ['answers with HTTP', 'no-tls', () => plain('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n'), {}, NO_TLS],
  ['answers with zeros', 'no-tls', () => plain('\0'.repeat(64))],
  ['closes', 'broken-off', () => plain(''), {}, NO_TLS],
  ['speaks TLS 1.1', 'protocol', () => secure(own, OLD), {}, ALERT],
  ['has an old cipher only', 'refused', () => secure(own, WEAK)],
  ['wants a certificate in TLS 1.3', 'client-certificate', () => asking('TLSv1.3'), {}, ALERT],
  ['wants a certificate in TLS 1.2', 'refused', () => asking('TLSv1.2'), {}, ALERT],
  ['closes at our certificate, in TLS 1.3', 'broken-off', () => asking('TLSv1.3'), ours],
  ['closes at our certificate, in TLS 1.2', 'broken-off', () => asking('TLSv1.2'), ours],
  ...ALERTS.map(([alert, kind]): Case => [`sends the alert ${alert}`, kind, () => alerting(alert)]),
];

async function upstreamOf(port: number, config: Partial<UpstreamTlsConfig> = {}) {
  const { logger, logged } = recordingLogger();
  const address = { host: '127.0.0.1', port };
  const secured = await UpstreamTls.open(address, upstreamTls(authority, config), { clock: systemClock, logger });
  return { logged, upstream: new Upstream({ ...address, connectTimeoutMs: 5_000 }, systemClock, { tls: secured }) };
}

it.each(CASES)(
  'without traffic, a server that %s is named as a fault of the kind %s',
  async (_what, kind, start, config) => {
    const { logged, upstream } = await upstreamOf(await start(), config);
    expect(await upstream.tryConnection()).toBe(false);
    const { reachability } = upstream;
    if (reachability.kind !== 'unreachable') throw new Error('reachable');
    const { reason, isTls } = reachability;
    const fault = describeTlsFault(reason);
    expect({ isTls, reason, kind: fault.kind }).toEqual({ isTls: true, reason, kind });
    expect(logged.filter(({ level }) => level === 'warn')).toMatchObject(
      // After the handshake a closed connection is only a sign, which the verdict shows.
      _what.includes('closes at our certificate, in TLS 1.3') ? [] : [{ message: expect.stringContaining(fault.text) }],
    );
  },
);

it.each(CASES.filter(([, , , , error]) => error !== undefined))(
  'a server that %s gets nothing, its client a 502, and the log the reason once',
  async (_what, kind, startServer, config, error) => {
    await start(await startServer(), config);
    const { status, body, headers } = await ask();
    expect(status).toBe(502);
    expect(JSON.parse(body)).toMatchObject({ code: 'D2S_ERR_UPSTREAM_TLS', error, status: 502 });
    expect(headers['proxy-status']).toBe(`d2-sidecar; error=${error}`);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(body).not.toContain('127.0.0.1');
    expect(received).toBe('');
    expect(stand.sidecar.tls.upstream?.numbers.failed).toBe(1);
    await ask();
    expect(warnings()).toEqual([expect.objectContaining({ code: 'D2S_ERR_UPSTREAM_TLS' })]);
    expect(describeTlsFault(String(warnings()[0]?.reason)).kind).toBe(kind);
  },
);

it.each([
  ['TLS 1.2', { maxVersion: 'TLSv1.2' }],
  ['TLS 1.3 without session tickets', { secureOptions: constants.SSL_OP_NO_TICKET, sessionIdContext: 'x' }],
  ['TLS 1.3, and wants our certificate', { ...ASKING, ca: textOf(another.certFile) }],
] as const)('without traffic, a server with %s is reachable', async (_what, more) => {
  const { logged, upstream } = await upstreamOf(await secure(own, more), ours);
  expect(await upstream.tryConnection()).toBe(true);
  expect(upstream.reachability.kind).toBe('reachable');
  expect(logged).toEqual([]);
});

it.each([
  ['with TLS', true, secure],
  ['that wants a certificate in TLS 1.2', true, () => asking('TLSv1.2')],
  ['with HTTP', false, () => plain('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')],
  ['that closes', false, () => plain('')],
] as const)('configured as http://, a port %s expects TLS: %s', async (_what, isExpected, start) => {
  const upstream = new Upstream({ host: '127.0.0.1', port: await start(), connectTimeoutMs: 5_000 }, systemClock);
  await upstream.tryConnection();
  await upstream.tryTls();
  const { condition } = upstream;
  expect(condition).toMatchObject(isExpected ? { isTls: true, reason: 'TLS_EXPECTED' } : { kind: 'reachable' });
  expect(upstream.reachability.kind).toBe('reachable');
  upstream.noteAnswer();
  expect(upstream.condition.kind).toBe('reachable');
});

it.each([
  ['an expired certificate', 'server', () => signed({ days: -1 })],
  ['no TLS', 'sidecar', () => plain('HTTP/1.1 400 Bad Request\r\n\r\n')],
])('%s of the server is the verdict within 12 s without traffic', async (_what, subject, startServer) => {
  await start(await startServer(), {}, { probeMs: 1_000 });
  const { verdicts } = stand.sidecar;
  await vi.waitFor(() => expect(verdicts.of('smartWeb')).toMatchObject({ code: 'upstream-tls', subject }), 12_000);
  const answer = await get(stand.port, '/smartWeb/');
  const { detail } = JSON.parse(answer.body) as { detail: string };
  const fault = /^TLS with the upstream cannot be set up: (.*)\.$/.exec(detail)?.[1];
  expect(fault, detail).toBeDefined();
  verdicts.judge();
  const { code, text } = verdicts.of('smartWeb');
  expect([code, text]).toEqual(['upstream-tls', expect.stringContaining(fault ?? '')]);
  const marked = stand.sidecar.history.marks.find(({ kind }) => kind === 'upstreamLost');
  expect(marked?.text).toContain(`TLS with the upstream fails: ${fault}`);
  const live: unknown = JSON.parse((await get(stand.monitorPort, '/live')).body);
  expect(live).toMatchObject({ upstream: { state: 'unreachable', tlsFault: fault } });
});

describe('an upstream with TLS', () => {
  it.each([
    ['serverName without the dot of the DNS root', 'smartweb.plant', '127.0.0.1'],
    ['the host of upstream.url', 'localhost', 'localhost'],
  ])('is asked and verified by %s', async (_what, name, host) => {
    const serverName = name === host ? undefined : `${name}.`;
    await start(await signed({ alternatives: `DNS:${name}` }), { serverName }, { host });
    expect((await ask()).body).toBe('ok');
    expect(names).toEqual([name]);
  });

  it('is verified by replaced authorities from then on, and gets our certificate if it asks', async () => {
    const caFile = folder.file('upstream-ca.pem', textOf(another.certFile));
    await start(await secure(own, { ...ASKING, ca: textOf(another.certFile) }), { ...ours, caFile });
    expect((await ask()).status).toBe(502);
    writeFileSync(caFile, textOf(authority.certFile));
    await stand.sidecar.tls.upstream?.files.poll();
    expect((await ask()).status).toBe(200);
  });

  it('is verified by a changed configuration from then on, and with a warning not at all', async () => {
    await start(await signed({ alternatives: 'DNS:smartweb.plant' }), { serverName: 'smartweb.plant' });
    const statuses: number[] = [];
    for (const [serverName, verify] of [
      ['other.plant', true],
      [undefined, true],
      [undefined, false],
      ['smartweb.plant', true],
    ] as const) {
      (await stand.sidecar.tls.upstream?.prepareReload(upstreamTls(authority, { serverName, verify })))?.();
      statuses.push((await ask()).status);
    }
    expect(statuses).toEqual([502, 502, 200, 200]);
    expect(warnings().filter((details) => String(details).includes('upstream.tls.verify is false'))).toHaveLength(1);
  });
});

it('the upstream is not ready if its certificate is refused', async () => {
  await start(await secure(), { caFile: another.certFile }, {}, { readyWithUpstream: true });
  expect((await get(stand.monitorPort, '/readyz')).status).toBe(503);
});
