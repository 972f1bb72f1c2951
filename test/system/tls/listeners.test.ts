import { writeFileSync } from 'node:fs';
import net from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import type { Config, ListenerTlsConfig } from '../../../src/config/config.ts';
import { deferTo, untilTestEnds } from '../../support/deferred.ts';
import { basic, Folder, tokenLine } from '../../support/monitor/access/access-files.ts';
import { startApplication } from '../../support/net.ts';
import { type Pair, pemOf, textOf } from '../../support/tls/certificates.ts';
import { connected, get, listenerTls, useCertificates } from '../../support/tls/ends.ts';
import { Peer } from '../../support/wire/peer.ts';
import { type Stand, startStand } from '../../support/wire/stand.ts';

const folder = useCertificates();
const authority = folder.authority();
const clientAuthority = folder.authority('authority of clients');
const own = folder.signed(authority, { name: 'plant' });
const client = (name: string, subject = '', more = {}) =>
  folder.signed(clientAuthority, { name, subject, usage: 'clientAuth', ...more });
const ann = client('ann');
const stranger = folder.signed(folder.authority('another'), { name: 'ann', usage: 'clientAuth' });
const UNVERIFIED: readonly [Pair, why: string][] = [
  [stranger, 'its issuer is unknown'],
  [client('ann', '', { days: -1 }), 'it has expired'],
  [client('ann', '', { usage: 'serverAuth' }), 'it is not for clients'],
];
const upstream = await startApplication(({ headers }, response) => {
  response.end(JSON.stringify({ proto: headers['x-forwarded-proto'] }));
}, deferTo(afterAll));
let stand: Stand;

type Setup = (base: Config) => Partial<Config>;

async function start(...setups: readonly Setup[]): Promise<void> {
  const config: Setup = (base) => Object.assign({}, ...setups.map((setup) => setup(base)));
  stand = await startStand({ upstreamPort: upstream.port, config }, untilTestEnds);
}

const listen =
  (clients: Partial<ListenerTlsConfig> = {}, pair = own): Setup =>
  (base) => ({ listen: { ...base.listen, tls: listenerTls(pair, clients) } });
const monitor =
  (pair = own): Setup =>
  (base) => ({ monitor: { ...base.monitor, tls: listenerTls(pair) } });
const asks = (clientAuth: 'request' | 'require') => ({ clientCaFile: clientAuthority.certFile, clientAuth });
const handshakeWithin =
  (headMs: number): Setup =>
  (base) => ({ timeouts: { ...base.timeouts, headMs } });

const handshakes = () => stand.sidecar.tls.listen?.numbers;
const callAs = (pair?: Pair, headers = {}) => get(stand.port, CALL, { ca: authority, own: pair, headers });
const openPlainly = (port = stand.port) => net.connect({ host: '127.0.0.1', port }).on('error', () => undefined);
const closeOf = (socket: net.Socket) => new Promise((resolve) => socket.on('close', resolve));
const sessionOf = (socket: TLSSocket) => new Promise<Buffer>((resolve) => socket.once('session', resolve));

const CALL = '/smartWeb/api/rest/v0/d2/sba/E.Demo/Test';

/** Sends a request on a connection that stands. */
const requestOn = (socket: TLSSocket, path = CALL) =>
  new Peer(socket).ask(`GET ${path} HTTP/1.1\r\nHost: plant\r\n\r\n`);

describe('the port for clients', () => {
  it('serves a replaced certificate, and keeps open connections', async () => {
    const live: Pair = {
      certFile: folder.file('live.pem', textOf(own.certFile)),
      keyFile: folder.file('live.key', textOf(own.keyFile)),
    };
    const next = folder.signed(authority, { name: 'next' });
    await start(listen({}, live), monitor(live));
    const long = await connected(stand.port, authority);
    await requestOn(long, '/before');
    expect(long.getPeerCertificate().subject.CN).toBe('plant');
    writeFileSync(live.certFile, textOf(next.certFile));
    writeFileSync(live.keyFile, textOf(next.keyFile));
    const { tls } = stand.sidecar;
    for (const [port, part] of [
      [stand.port, tls.listen],
      [stand.monitorPort, tls.monitor],
    ] as const) {
      await part?.files.poll();
      const socket = await connected(port, authority);
      expect(socket.getPeerCertificate().subject.CN).toBe('next');
      // In order: what is destroyed at once may not have finished the handshake, which would count.
      socket.end();
    }
    expect((await requestOn(long, '/after')).body).toBe('{"proto":"https"}');
    expect(long.destroyed).toBe(false);
    long.destroy();
    expect(handshakes()).toMatchObject({ replaced: 1, unusable: 0, failed: 0 });
  });

  it('ends a slow handshake, though it arrives byte by byte, counts it, and logs it at debug only', async () => {
    await start(listen(), handshakeWithin(300));
    const slow = openPlainly().setNoDelay();
    // The beginning of a ClientHello of 512 bytes. At 20 ms each, the whole of it would take ten seconds.
    slow.write(Buffer.from('160301020001000200fc0303', 'hex'));
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      slow.write('\0');
    }, 20);
    await closeOf(slow);
    clearInterval(timer);
    expect(sent).toBeGreaterThan(1);
    expect(sent).toBeLessThan(250);
    expect(handshakes()).toMatchObject({ failed: 1, timedOut: 1, refused: 0 });
    const message = 'a TLS handshake failed';
    expect(stand.logged.filter((line) => line.message === message)).toEqual([
      { level: 'debug', details: { section: 'listen.tls', reason: 'ERR_TLS_HANDSHAKE_TIMEOUT' }, message },
    ]);
  });

  it('counts connections from before their handshake in limits.connections', async () => {
    await start(listen(), (base) => ({ limits: { ...base.limits, connections: 2 } }));
    const silent = [openPlainly(), openPlainly()];
    await expect.poll(() => stand.sidecar.dispatcher.acceptedConnections).toBe(2);
    await expect(callAs()).rejects.toThrow();
    expect(stand.sidecar.dispatcher.refusedConnections).toBe(1);
    for (const socket of silent) socket.destroy();
    await expect.poll(() => callAs().then(({ status }) => status, String)).toBe(200);
  });

  it('closes a plain HTTP connection and keeps serving', async () => {
    await start(listen(), monitor());
    for (const [port, path, part] of [
      [stand.port, '/a', stand.sidecar.tls.listen],
      [stand.monitorPort, '/livez', stand.sidecar.tls.monitor],
    ] as const) {
      await expect(get(port, path)).rejects.toThrow();
      expect((await get(port, path, { ca: authority })).status).toBe(200);
      expect(part?.numbers).toMatchObject({ failed: 1, timedOut: 0 });
    }
  });

  it('does not delay a stop by a pending handshake', async () => {
    await start(listen());
    const closed = closeOf(openPlainly());
    await expect.poll(() => stand.sidecar.dispatcher.acceptedConnections).toBe(1);
    await stand.close();
    await closed;
  });
});

describe('certificates of clients, on the port for clients', () => {
  const sessions = () => {
    const found = stand.sidecar.recorder.applications.get('smartWeb')?.sessions.entries() ?? [];
    return Array.from(found, ({ userName, connectionType, requests }) => [userName, connectionType, requests]);
  };

  it('that are verified name the user of one REST session for all connections, each subject another', async () => {
    await start(listen(asks('request')));
    for (const pair of [ann, ann, client('ann'), client('ann', '/O=other')]) await callAs(pair);
    expect(sessions()).toEqual([
      ['ann', 'REST', 3],
      ['ann', 'REST', 1],
    ]);
  });

  it('count less than a request’s own credentials, and name no user with two common names, or an empty one', async () => {
    await start(listen(asks('request')));
    await callAs(ann, { authorization: basic('bob', 'x') });
    for (const pair of [client('ann', '/CN=bob'), client('', '/O=x')]) expect((await callAs(pair)).status).toBe(200);
    expect(sessions()).toEqual([['bob', 'REST', 1]]);
  });

  it('are only requested: one that is not verified is admitted, names no user, and is counted', async () => {
    await start(listen(asks('request')));
    for (const [pair, why] of UNVERIFIED) {
      expect((await callAs(pair)).status).toBe(200);
      expect(stand.logged.at(-1)?.message).toBe(`a client certificate was not verified: ${why}`);
    }
    expect(sessions()).toEqual([]);
    expect(handshakes()).toMatchObject({ unverified: UNVERIFIED.length, failed: 0 });
  });

  it('are required: one that is missing or not verified is refused and counted, and no request gets through', async () => {
    await start(listen(asks('require')));
    for (const pair of [undefined, ...UNVERIFIED.map(([each]) => each)]) await expect(callAs(pair)).rejects.toThrow();
    const refused = 1 + UNVERIFIED.length;
    await expect.poll(handshakes).toMatchObject({ refused, failed: refused });
    expect(stand.sidecar.reporter.open + stand.sidecar.recorder.own.exchanges.completed).toBe(0);
    expect((await callAs(ann)).status).toBe(200);
  });

  it('name the user of a resumed session by its first certificate', async () => {
    await start(listen(asks('request')));
    const first = await connected(stand.port, authority, pemOf(ann));
    const session = await sessionOf(first);
    first.destroy();
    const again = await connected(stand.port, authority, { session });
    expect(again.isSessionReused()).toBe(true);
    await requestOn(again);
    expect(sessions()).toEqual([['ann', 'REST', 1]]);
    again.destroy();
  });

  it('are no longer trusted once their authority is removed from the file, not even for an earlier session', async () => {
    const clientCaFile = folder.file('clients-ca.pem', textOf(clientAuthority.certFile));
    await start(listen({ clientCaFile, clientAuth: 'request' }));
    const first = await connected(stand.port, authority, pemOf(ann));
    const session = await sessionOf(first);
    first.end();
    writeFileSync(clientCaFile, textOf(authority.certFile));
    await stand.sidecar.tls.listen?.files.poll();
    const again = await connected(stand.port, authority, { session, ...pemOf(ann) });
    expect(again.isSessionReused()).toBe(false);
    await requestOn(again);
    expect(sessions()).toEqual([]);
    expect(handshakes()).toMatchObject({ unverified: 1, replaced: 1 });
    again.destroy();
  });
});

describe('certificates of clients, on the monitoring port', () => {
  const METRICS = '/smartWeb/api/rest/v0/admin/metrics/d2';
  const SESSIONS = '/smartWeb/api/rest/v0/admin/d2/sessions';
  const prometheus = client('prometheus');
  const files = new Folder();
  const token = tokenLine('grafana', 'metrics');
  const auth = {
    usersFile: undefined,
    tokensFile: files.write('tokens', token.line),
    certificates: [
      { name: 'prometheus', role: 'metrics' },
      { name: 'ann', role: 'sessions' },
    ],
  } as const;
  afterAll(() => files.remove());

  const readers =
    (access: Config['monitor']['auth'], clientAuth: 'request' | 'require' = 'request'): Setup =>
    (base) => ({ monitor: { ...base.monitor, tls: listenerTls(own, asks(clientAuth)), auth: access } });
  const ask = (path: string, pair?: Pair, headers = {}) =>
    get(stand.monitorPort, path, { ca: authority, own: pair, headers });
  const statusOf = async (...request: Parameters<typeof ask>) => (await ask(...request)).status;

  it('are readers with their role, if they are listed and verified; the health paths are open', async () => {
    await start(readers(auth));
    expect([await statusOf(METRICS, prometheus), await statusOf(SESSIONS, prometheus)]).toEqual([200, 403]);
    expect([await statusOf(METRICS, ann), await statusOf(SESSIONS, ann)]).toEqual([200, 200]);
    for (const pair of [undefined, client('bob'), stranger]) {
      expect([await statusOf(METRICS, pair), await statusOf(SESSIONS, pair)]).toEqual([401, 401]);
      for (const path of ['/livez', '/readyz', '/startupz']) expect(await statusOf(path, pair)).toBe(200);
    }
    // A request's own credentials count more, right or wrong.
    expect(await statusOf(SESSIONS, ann, { authorization: `Bearer ${token.token}` })).toBe(403);
    expect(await statusOf(SESSIONS, ann, { authorization: 'Bearer d2s_wrong' })).toBe(401);
    expect(await statusOf(SESSIONS, ann, { authorization: 'Negotiate abc' })).toBe(200);
  });

  it('may be the only credentials: a request without one is refused without a challenge', async () => {
    await start(readers({ ...auth, tokensFile: undefined }));
    const { status, headers } = await ask(METRICS);
    expect([status, headers['www-authenticate']]).toEqual([403, undefined]);
    expect(await statusOf(METRICS, prometheus)).toBe(200);
  });

  it('are required: no path is reachable without one, and a client that leaves in its handshake is counted', async () => {
    await start(readers(auth, 'require'));
    await expect(statusOf('/livez')).rejects.toThrow();
    await expect.poll(() => stand.sidecar.tls.monitor?.numbers.failed).toBe(1);
    openPlainly(stand.monitorPort).on('connect', function (this: net.Socket) {
      this.destroy();
    });
    await expect.poll(() => stand.sidecar.tls.monitor?.numbers.failed).toBe(2);
    expect(await statusOf('/livez', ann)).toBe(200);
  });
});
