import { writeFileSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Config, UpstreamTls } from '../../../src/config/config.ts';
import { listening } from '../../support/net.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { get, type SecureStand, startSecureStand } from '../../support/tls/secure-stand.ts';
import { testConfig } from '../../support/wire/test-config.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const another = folder.authority('another');
const own = folder.signed(authority, { name: 'plant' });
const sidecarOwn = folder.signed(authority, { name: 'd2-sidecar', usage: 'clientAuth' });

const PLAIN: UpstreamTls = {
  caFile: undefined,
  serverName: undefined,
  verify: true,
  certFile: undefined,
  keyFile: undefined,
};

let stand: SecureStand | undefined;
let server: net.Server | undefined;
/** What came to the upstream, behind TLS. */
let received = '';
let names: (string | false | null)[] = [];
const sockets = new Set<net.Socket>();

afterEach(async () => {
  await stand?.close();
  for (const socket of sockets) socket.destroy();
  server?.close();
  stand = undefined;
  received = '';
  names = [];
});

afterAll(() => folder.remove());

/** An upstream that answers each read, behind TLS, with `ok`. */
async function secureUpstream(pair: Pair, more: tls.TlsOptions = {}): Promise<number> {
  const secure = tls.createServer({ cert: textOf(pair.certFile), key: textOf(pair.keyFile), ...more });
  secure.on('connection', (socket) => sockets.add(socket));
  secure.on('tlsClientError', (_error, socket) => socket.destroy());
  secure.on('secureConnection', (socket) => {
    names.push(socket.servername);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  server = secure;
  return await listening(secure);
}

async function plainUpstream(onConnection: (socket: net.Socket) => void): Promise<number> {
  server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  return await listening(server);
}

async function start(
  port: number,
  upstreamTls: Partial<UpstreamTls>,
  config: Partial<Config> & { host?: string; connectTimeoutMs?: number } = {},
): Promise<SecureStand> {
  const { host = '127.0.0.1', connectTimeoutMs = 5_000, ...rest } = config;
  stand = await startSecureStand((base) => ({
    upstream: {
      ...base.upstream,
      host,
      port,
      connectTimeoutMs,
      tls: { ...PLAIN, caFile: authority.certFile, ...upstreamTls },
    },
    ...rest,
  }));
  return stand;
}

const warnings = () => stand?.logged.filter(({ level }) => level === 'warn') ?? [];

for (const dataPath of ['auto', 'gateway'] as const) {
  const name = dataPath === 'auto' ? 'the relay' : 'the gateway';

  describe(`through ${name}, an upstream`, () => {
    it.each<[what: string, make: () => Pair, wanted: Partial<UpstreamTls>, reason: string, error: string]>([
      [
        'of another authority',
        () => own,
        { caFile: another.certFile },
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'tls_certificate_error',
      ],
      [
        'of an authority that is not public',
        () => own,
        { caFile: undefined },
        'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
        'tls_certificate_error',
      ],
      [
        'of another name',
        () => own,
        { serverName: 'smartweb.plant' },
        'ERR_TLS_CERT_ALTNAME_INVALID',
        'tls_certificate_error',
      ],
      [
        'of another address',
        () => folder.signed(authority, { name: '127.0.0.1', alternatives: 'DNS:plant' }),
        {},
        'ERR_TLS_CERT_ALTNAME_INVALID',
        'tls_certificate_error',
      ],
      [
        'whose certificate has expired',
        () => folder.signed(authority, { name: 'plant', days: -1 }),
        {},
        'CERT_HAS_EXPIRED',
        'tls_certificate_error',
      ],
      [
        'whose certificate is for clients',
        () => folder.signed(authority, { name: 'plant', usage: 'clientAuth' }),
        {},
        'INVALID_PURPOSE',
        'tls_certificate_error',
      ],
    ])('%s gets nothing, its client a 502, and the log the reason', async (_what, make, wanted, reason, error) => {
      const port = await secureUpstream(make());
      await start(port, wanted, { dataPath });
      const { status, body, headers } = await get(stand!.port, '/secret-path');
      expect(status).toBe(502);
      expect(JSON.parse(body)).toMatchObject({ code: 'D2S_ERR_UPSTREAM_TLS', error, status: 502 });
      expect(headers['proxy-status']).toBe(`d2-sidecar; error=${error}`);
      expect(headers['content-type']).toBe('application/problem+json');
      expect(body).not.toContain('127.0.0.1');
      expect(received).toBe('');
      expect(warnings().map(({ details }) => details)).toEqual([
        expect.objectContaining({ code: 'D2S_ERR_UPSTREAM_TLS', reason }),
      ]);
      expect(stand?.sidecar.tls.upstream?.numbers.failed).toBe(1);
      // Nothing of it is worth a line each time.
      await get(stand!.port, '/again');
      expect(warnings().length).toBe(1);
    });

    it.each<[what: string, start: () => Promise<number>, reason: RegExp, error: string]>([
      [
        'that speaks plain HTTP',
        () => plainUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))),
        /^(?:ERR_SSL_WRONG_VERSION_NUMBER|ERR_SSL_PACKET_LENGTH_TOO_LONG|EPROTO)$/,
        'tls_protocol_error',
      ],
      [
        'that closes in the handshake',
        () => plainUpstream((socket) => socket.once('data', () => socket.end())),
        /^ECONNRESET$/,
        'tls_protocol_error',
      ],
      [
        'that resets in the handshake',
        () => plainUpstream((socket) => socket.once('data', () => socket.resetAndDestroy())),
        /^ECONNRESET$/,
        'tls_protocol_error',
      ],
      [
        'that only speaks TLS 1.1',
        () => secureUpstream(own, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }),
        /^ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION$/,
        'tls_alert_received',
      ],
      [
        'that has weak ciphers only',
        () => secureUpstream(own, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA256' }),
        /HANDSHAKE_FAILURE$/,
        'tls_alert_received',
      ],
      [
        'that asks for a certificate that we have not, in TLS 1.3',
        () => secureUpstream(own, { requestCert: true, rejectUnauthorized: true, ca: textOf(authority.certFile) }),
        /^ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED$/,
        'tls_alert_received',
      ],
      [
        'that asks for a certificate that we have not, in TLS 1.2',
        () =>
          secureUpstream(own, {
            requestCert: true,
            rejectUnauthorized: true,
            ca: textOf(authority.certFile),
            maxVersion: 'TLSv1.2',
          }),
        /^ERR_SSL_.*HANDSHAKE_FAILURE$/,
        'tls_alert_received',
      ],
    ])('%s gives its client a 502, and the log the reason', async (_what, listen, reason, error) => {
      await start(await listen(), {}, { dataPath });
      const { status, body } = await get(stand!.port, '/a');
      expect(status).toBe(502);
      expect(JSON.parse(body)).toMatchObject({ code: 'D2S_ERR_UPSTREAM_TLS', error });
      expect(warnings().map(({ details }) => details)).toEqual([
        expect.objectContaining({ code: 'D2S_ERR_UPSTREAM_TLS', reason: expect.stringMatching(reason) }),
      ]);
    });

    it('that does not answer the handshake is a 504 after upstream.connectTimeout', async () => {
      const port = await plainUpstream(() => undefined);
      await start(port, {}, { dataPath, connectTimeoutMs: 80 });
      const { status, body } = await get(stand!.port, '/a');
      expect(status).toBe(504);
      expect(JSON.parse(body)).toMatchObject({ code: 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT' });
    });

    it('that is absent is reported as refused, as without TLS', async () => {
      await start(1, {}, { dataPath });
      expect(JSON.parse((await get(stand!.port, '/a')).body)).toMatchObject({ code: 'D2S_ERR_UPSTREAM_REFUSED' });
    });

    it('is asked by serverName, and verified by it', async () => {
      const port = await secureUpstream(folder.signed(authority, { name: 'x', alternatives: 'DNS:smartweb.plant' }));
      await start(port, { serverName: 'smartweb.plant' }, { dataPath });
      expect((await get(stand!.port, '/a')).body).toBe('ok');
      expect(names).toEqual(['smartweb.plant']);
    });

    it('is asked by the host of upstream.url', async () => {
      const port = await secureUpstream(own);
      await start(port, {}, { dataPath, host: 'localhost' });
      expect((await get(stand!.port, '/a')).body).toBe('ok');
      expect(names).toEqual(['localhost']);
    });

    it('is not verified if verification is off, with a warning', async () => {
      const port = await secureUpstream(own);
      await start(port, { caFile: another.certFile, serverName: 'other', verify: false }, { dataPath });
      expect((await get(stand!.port, '/a')).body).toBe('ok');
      expect(warnings().map(({ details }) => details)).toEqual([
        expect.stringContaining('upstream.tls.verify is false'),
      ]);
    });

    it('that asks for a certificate gets ours', async () => {
      const port = await secureUpstream(own, {
        requestCert: true,
        rejectUnauthorized: true,
        ca: textOf(authority.certFile),
      });
      await start(port, sidecarOwn, { dataPath });
      expect((await get(stand!.port, '/a')).body).toBe('ok');
    });

    it('is verified by replaced authorities from then on', async () => {
      const caFile = folder.file('upstream-ca.pem', textOf(another.certFile));
      const port = await secureUpstream(own);
      await start(port, { caFile }, { dataPath });
      expect((await get(stand!.port, '/a')).status).toBe(502);
      writeFileSync(caFile, textOf(authority.certFile));
      await stand?.sidecar.tls.upstream?.files.poll();
      expect((await get(stand!.port, '/a')).status).toBe(200);
    });

    it('is verified by a changed configuration from then on', async () => {
      const port = await secureUpstream(folder.signed(authority, { name: 'x', alternatives: 'DNS:smartweb.plant' }));
      await start(port, { serverName: 'smartweb.plant' }, { dataPath });
      const tls = { caFile: authority.certFile, certFile: undefined, keyFile: undefined };
      const become = async (serverName: string | undefined, verify: boolean) => {
        (await stand?.sidecar.tls.upstream?.prepare({ ...tls, serverName, verify }))?.();
        return (await get(stand!.port, '/a')).status;
      };
      const statuses = [
        await become('other.plant', true),
        await become(undefined, true),
        await become(undefined, false),
      ];
      expect([...statuses, await become('smartweb.plant', true)]).toEqual([502, 502, 200, 200]);
      expect(warnings().filter(({ details }) => String(details).includes('upstream.tls.verify is false'))).toHaveLength(
        1,
      );
    });
  });
}

describe('whether the upstream is ready', () => {
  const ready = async () => (await get(stand!.monitorPort, '/readyz')).status;
  const monitor = { ...testConfig().monitor, readyWithUpstream: true };

  it('is asked by TLS', async () => {
    await start(await secureUpstream(own), {}, { monitor });
    expect(await ready()).toBe(200);
  });

  it('is false if its certificate is refused', async () => {
    await start(await secureUpstream(own), { caFile: another.certFile }, { monitor });
    expect(await ready()).toBe(503);
  });
});
