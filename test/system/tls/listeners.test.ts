import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { basic, Folder, tokenLine } from '../../support/monitor/access/access-files.ts';
import { listening } from '../../support/net.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import {
  connected,
  get,
  listenerTls,
  mirror,
  type SecureStand,
  startSecureStand,
} from '../../support/tls/secure-stand.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const clientAuthority = folder.authority('authority of clients');
const own = folder.signed(authority, { name: 'plant' });
const client = (name: string, subject = '', more = {}) =>
  folder.signed(clientAuthority, { name, subject, usage: 'clientAuth', ...more });
const ann = client('ann');
const strangers = folder.signed(folder.authority('another'), { name: 'ann', usage: 'clientAuth' });
const upstream = mirror();
let upstreamPort: number;
let stand: SecureStand;

beforeAll(async () => {
  upstreamPort = await listening(upstream);
});

afterEach(() => stand.close());

afterAll(() => {
  upstream.close();
  folder.remove();
});

async function start(config: (base: Config) => Partial<Config>): Promise<SecureStand> {
  stand = await startSecureStand((base) => ({
    upstream: { ...base.upstream, port: upstreamPort },
    ...config(base),
  }));
  return stand;
}

const listenWith =
  (clients: Partial<ReturnType<typeof listenerTls>> = {}) =>
  (base: Config) => ({
    listen: { ...base.listen, tls: listenerTls(own, clients) },
  });

const asks = (clientAuth: 'request' | 'require') => ({ clientCaFile: clientAuthority.certFile, clientAuth });

/** An idle keep-alive connection on which requests can be sent. */
async function requestOn(socket: TLSSocket, path: string): Promise<string> {
  let text = '';
  const answered = new Promise<string>((resolve, reject) => {
    const look = (bytes: Buffer) => {
      text += bytes.toString('latin1');
      if (/\r\n\r\n.*\}/s.test(text)) {
        socket.off('data', look);
        resolve(text);
      }
    };
    socket.on('data', look);
    socket.once('close', () => reject(new Error(`closed after ${text}`)));
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: plant\r\n\r\n`);
  return await answered;
}

describe('the port for clients', () => {
  it('reports the client’s TLS to the upstream, on both data paths', async () => {
    await start(listenWith());
    const relayed = await get(stand.port, '/a', { ca: authority });
    expect(JSON.parse(relayed.body)).toMatchObject({ proto: 'https' });
    const other = await connected(stand.port, authority);
    const byGateway = new Promise<string>((resolve) => {
      let text = '';
      other.on('data', (bytes) => {
        text += String(bytes);
      });
      other.on('end', () => resolve(text));
    });
    other.write('GET /a HTTP/1.0\r\n\r\n');
    expect(await byGateway).toContain('"proto":"https"');
    expect(stand.sidecar.recorder.own.read().exchanges).toMatchObject({
      relay: { completed: 1 },
      gateway: { completed: 1 },
    });
  });

  it('serves a replaced certificate within five seconds, and keeps open connections', async () => {
    const live: Pair = {
      certFile: folder.file('live.pem', textOf(own.certFile)),
      keyFile: folder.file('live.key', textOf(own.keyFile)),
    };
    const next = folder.signed(authority, { name: 'next' });
    await start((base) => ({
      listen: { ...base.listen, tls: listenerTls(live) },
      monitor: { ...base.monitor, tls: listenerTls(live) },
    }));
    const long = await connected(stand.port, authority);
    await requestOn(long, '/before');
    expect(long.getPeerCertificate().subject.CN).toBe('plant');
    writeFileSync(live.certFile, textOf(next.certFile));
    writeFileSync(live.keyFile, textOf(next.keyFile));
    const servedBy = async (port: number) => {
      const socket = await connected(port, authority);
      const { CN } = socket.getPeerCertificate().subject;
      // In order: what is destroyed at once may not have finished the handshake, which would count.
      socket.end();
      return CN;
    };
    for (const port of [stand.port, stand.monitorPort]) {
      await expect.poll(() => servedBy(port), { timeout: 5_000, interval: 100 }).toBe('next');
    }
    expect(await requestOn(long, '/after')).toContain('"proto":"https"');
    expect(long.destroyed).toBe(false);
    long.destroy();
    expect(stand.sidecar.tls.listen?.numbers).toMatchObject({ replaced: 1, unusable: 0, failed: 0 });
  });

  it('ends a slow handshake, counts it, and logs it at debug only', async () => {
    await start((base) => ({ ...listenWith()(base), timeouts: { ...base.timeouts, headMs: 60 } }));
    const silent = net.connect({ host: '127.0.0.1', port: stand.port });
    await new Promise((resolve) => silent.on('close', resolve));
    expect(stand.sidecar.tls.listen?.numbers).toMatchObject({ failed: 1, timedOut: 1, refused: 0 });
    expect(stand.logged.filter(({ message }) => message === 'a TLS handshake failed')).toEqual([
      {
        level: 'debug',
        details: { section: 'listen.tls', reason: 'ERR_TLS_HANDSHAKE_TIMEOUT' },
        message: 'a TLS handshake failed',
      },
    ]);
  });

  it('gives no more time to a handshake that arrives byte by byte', async () => {
    await start((base) => ({ ...listenWith()(base), timeouts: { ...base.timeouts, headMs: 300 } }));
    const slow = net.connect({ host: '127.0.0.1', port: stand.port, noDelay: true });
    slow.on('error', () => undefined);
    // The beginning of a ClientHello of 512 bytes.
    slow.write(Buffer.from('160301020001000200fc0303', 'hex'));
    let sent = 0;
    const timer = setInterval(() => {
      sent += 1;
      slow.write('\0');
    }, 20);
    await new Promise((resolve) => slow.on('close', resolve));
    clearInterval(timer);
    expect(sent).toBeGreaterThan(1);
    // At 20 ms each, the whole of it would take ten seconds.
    expect(sent).toBeLessThan(250);
    expect(stand.sidecar.tls.listen?.numbers).toMatchObject({ failed: 1, timedOut: 1 });
  });

  it('counts connections from before their handshake in limits.connections', async () => {
    await start((base) => ({ ...listenWith()(base), limits: { ...base.limits, connections: 2 } }));
    const silent = [1, 2].map(() => net.connect({ host: '127.0.0.1', port: stand.port }));
    await expect.poll(() => stand.sidecar.dispatcher.acceptedConnections).toBe(2);
    await expect(get(stand.port, '/a', { ca: authority })).rejects.toThrow();
    expect(stand.sidecar.dispatcher.refusedConnections).toBe(1);
    for (const socket of silent) socket.destroy();
    await expect
      .poll(() =>
        get(stand.port, '/a', { ca: authority }).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });

  it('closes a plain HTTP connection and keeps serving', async () => {
    await start((base) => ({ ...listenWith()(base), monitor: { ...base.monitor, tls: listenerTls(own) } }));
    await expect(get(stand.port, '/a')).rejects.toThrow();
    await expect(get(stand.monitorPort, '/livez')).rejects.toThrow();
    expect((await get(stand.port, '/a', { ca: authority })).status).toBe(200);
    expect((await get(stand.monitorPort, '/livez', { ca: authority })).status).toBe(200);
    for (const part of [stand.sidecar.tls.listen, stand.sidecar.tls.monitor]) {
      expect(part?.numbers).toMatchObject({ failed: 1, timedOut: 0 });
    }
  });

  it('does not delay a stop by a pending handshake', async () => {
    await start(listenWith());
    const silent = net.connect({ host: '127.0.0.1', port: stand.port });
    const closed = new Promise((resolve) => silent.on('close', resolve));
    silent.on('error', () => undefined);
    await expect.poll(() => stand.sidecar.dispatcher.acceptedConnections).toBe(1);
    await stand.close();
    await closed;
  });
});

describe('certificates of clients, on the port for clients', () => {
  const CALL = '/smartWeb/api/rest/v0/d2/sba/E.Demo/Test';
  const sessions = () =>
    Array.from(
      stand.sidecar.recorder.applications.get('smartWeb')?.sessions.entries() ?? [],
      ({ userName, connectionType, requests }) => ({ userName, connectionType, requests }),
    );

  it('that are verified name the user of one REST session for all connections', async () => {
    await start(listenWith(asks('request')));
    await get(stand.port, CALL, { ca: authority, own: ann });
    await get(stand.port, CALL, { ca: authority, own: ann });
    await get(stand.port, CALL, { ca: authority, own: client('ann') });
    expect(sessions()).toEqual([{ userName: 'ann', connectionType: 'REST', requests: 3 }]);
  });

  it('with another subject belong to another user, even with the same common name', async () => {
    await start(listenWith(asks('request')));
    await get(stand.port, CALL, { ca: authority, own: ann });
    await get(stand.port, CALL, { ca: authority, own: client('ann', '/O=other') });
    expect(sessions()?.map(({ requests }) => requests)).toEqual([1, 1]);
  });

  it('count less than a request’s own credentials', async () => {
    await start(listenWith(asks('request')));
    await get(stand.port, CALL, { ca: authority, own: ann, headers: { authorization: basic('bob', 'x') } });
    await get(stand.port, CALL, { ca: authority, own: ann, headers: { cookie: 'JSESSIONID=abc' } });
    await get(stand.port, CALL, { ca: authority, own: ann });
    expect(sessions()).toEqual([
      { userName: 'bob', connectionType: 'REST', requests: 1 },
      { userName: 'ann', connectionType: 'REST', requests: 2 },
    ]);
  });

  it.each([
    ['of another authority', () => strangers],
    ['without a common name that is one', () => client('ann', '/CN=bob')],
    ['with a common name that is empty', () => client('', '/O=x')],
  ])('%s name no user', async (_what, make) => {
    await start(listenWith(asks('request')));
    expect((await get(stand.port, CALL, { ca: authority, own: make() })).status).toBe(200);
    expect(sessions()).toEqual([]);
  });

  it.each([
    ['of another authority', () => strangers, 'its authority is unknown'],
    ['that have expired', () => client('ann', '', { days: -1 }), 'it has expired'],
    ['that are for servers', () => client('ann', '', { usage: 'serverAuth' }), 'it is not for clients'],
  ])('%s are admitted without a name and counted if only requested', async (_what, make, why) => {
    await start(listenWith(asks('request')));
    expect((await get(stand.port, CALL, { ca: authority, own: make() })).status).toBe(200);
    expect(sessions()).toEqual([]);
    expect(stand.sidecar.tls.listen?.numbers).toMatchObject({ unverified: 1, failed: 0 });
    expect(stand.logged.map(({ message }) => message)).toContain(`a client certificate was not verified: ${why}`);
  });

  it.each([
    ['no certificate', () => undefined],
    ['one of another authority', () => strangers],
    ['one that has expired', () => client('ann', '', { days: -1 })],
    ['one that is for servers', () => client('ann', '', { usage: 'serverAuth' })],
  ])('are required: %s is refused and counted, and no request gets through', async (_what, make) => {
    await start(listenWith(asks('require')));
    const pair = make();
    await expect(get(stand.port, CALL, { ca: authority, ...(pair && { own: pair }) })).rejects.toThrow();
    await expect.poll(() => stand.sidecar.tls.listen?.numbers).toMatchObject({ refused: 1, failed: 1 });
    expect(stand.sidecar.openExchanges + stand.sidecar.recorder.own.read().exchanges.relay.completed).toBe(0);
    expect((await get(stand.port, CALL, { ca: authority, own: ann })).status).toBe(200);
  });

  it('name a resumed session by its first certificate, and no user without one', async () => {
    await start(listenWith(asks('request')));
    for (const [own, expected] of [
      [{ cert: textOf(ann.certFile), key: textOf(ann.keyFile) }, 1],
      [{}, 0],
    ] as const) {
      const first = await connected(stand.port, authority, own);
      const session = await new Promise<Buffer>((resolve) => first.once('session', resolve));
      first.destroy();
      const again = await connected(stand.port, authority, { session });
      expect(again.isSessionReused()).toBe(true);
      const before = sessions()?.[0]?.requests ?? 0;
      await requestOn(again, CALL);
      expect((sessions()?.[0]?.requests ?? 0) - before).toBe(expected);
      again.destroy();
    }
  });
});

describe('a client authority that is removed from the file', () => {
  it('is no longer trusted, not even for an earlier session', async () => {
    const caFile = folder.file('clients-ca.pem', textOf(clientAuthority.certFile));
    await start(listenWith({ clientCaFile: caFile, clientAuth: 'request' }));
    const own = { cert: textOf(ann.certFile), key: textOf(ann.keyFile) };
    const first = await connected(stand.port, authority, own);
    const session = await new Promise<Buffer>((resolve) => first.once('session', resolve));
    first.end();
    writeFileSync(caFile, textOf(authority.certFile));
    await stand.sidecar.tls.listen?.files.poll();
    const again = await connected(stand.port, authority, { session, ...own });
    expect(again.isSessionReused()).toBe(false);
    await requestOn(again, '/smartWeb/api/rest/v0/d2/sba/E.Demo/Test');
    expect(stand.sidecar.recorder.applications.get('smartWeb')?.sessions.size).toBe(0);
    expect(stand.sidecar.tls.listen?.numbers).toMatchObject({ unverified: 1, replaced: 1 });
    again.destroy();
  });
});

describe('certificates of clients, on the monitoring port', () => {
  const METRICS = '/smartWeb/api/rest/v0/admin/metrics/d2';
  const SESSIONS = '/smartWeb/api/rest/v0/admin/d2/sessions';
  const prometheus = client('prometheus');
  const certificates = [
    { name: 'prometheus', role: 'metrics' },
    { name: 'ann', role: 'sessions' },
  ] as const;
  const files = new Folder();
  const token = tokenLine('grafana', 'metrics');
  const tokensFile = files.write('tokens', token.line);
  afterAll(() => files.remove());

  const monitorWith =
    (auth: Config['monitor']['auth'], clientAuth: 'request' | 'require' = 'request') =>
    (base: Config) => ({
      monitor: { ...base.monitor, tls: listenerTls(own, asks(clientAuth)), auth },
    });
  const statusOf = async (path: string, pair?: Pair, headers?: Record<string, string>) =>
    (await get(stand.monitorPort, path, { ca: authority, ...(pair && { own: pair }), ...(headers && { headers }) }))
      .status;

  it('are readers with their role', async () => {
    await start(monitorWith({ usersFile: undefined, tokensFile, certificates }));
    expect([await statusOf(METRICS, prometheus), await statusOf(SESSIONS, prometheus)]).toEqual([200, 403]);
    expect([await statusOf(METRICS, ann), await statusOf(SESSIONS, ann)]).toEqual([200, 200]);
  });

  it('admit only listed and verified ones, except to the health paths', async () => {
    await start(monitorWith({ usersFile: undefined, tokensFile, certificates }));
    for (const pair of [undefined, client('bob'), strangers]) {
      expect([await statusOf(METRICS, pair), await statusOf(SESSIONS, pair)]).toEqual([401, 401]);
      for (const path of ['/livez', '/readyz', '/startupz']) expect(await statusOf(path, pair)).toBe(200);
    }
  });

  it('count less than a request’s own credentials, right or wrong', async () => {
    await start(monitorWith({ usersFile: undefined, tokensFile, certificates }));
    expect(await statusOf(SESSIONS, ann, { authorization: `Bearer ${token.token}` })).toBe(403);
    expect(await statusOf(SESSIONS, ann, { authorization: 'Bearer d2s_wrong' })).toBe(401);
    expect(await statusOf(SESSIONS, ann, { authorization: 'Negotiate abc' })).toBe(200);
  });

  it('may be the only credentials: a request without one is refused without a challenge', async () => {
    await start(monitorWith({ usersFile: undefined, tokensFile: undefined, certificates }));
    const { status, headers } = await get(stand.monitorPort, METRICS, { ca: authority });
    expect([status, headers['www-authenticate']]).toEqual([403, undefined]);
    expect(await statusOf(METRICS, prometheus)).toBe(200);
  });

  it('are required: no path is reachable without one', async () => {
    await start(monitorWith({ usersFile: undefined, tokensFile, certificates }, 'require'));
    await expect(statusOf('/livez')).rejects.toThrow();
    expect(await statusOf('/livez', ann)).toBe(200);
  });

  it('is the last word of a port that has been slow to be greeted', async () => {
    await start(monitorWith('none'));
    const silent = net.connect({ host: '127.0.0.1', port: stand.monitorPort });
    await delay(1);
    silent.destroy();
    await expect.poll(() => stand.sidecar.tls.monitor?.numbers.failed).toBe(1);
    expect(await statusOf(METRICS)).toBe(200);
  });
});
