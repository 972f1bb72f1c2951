/** `forwarded.clientCertificate`: what the server learns of a client's certificate, and that no client can write it. */
import http from 'node:http';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { listening } from '../../support/net.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { listenerTls, type SecureStand, startSecureStand } from '../../support/tls/secure-stand.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const clientAuthority = folder.authority('authority of clients');
const own = folder.signed(authority, { name: 'plant' });
const ann = folder.signed(clientAuthority, { name: 'ann', usage: 'clientAuth' });
const stranger = folder.signed(folder.authority('another'), { name: 'ann', usage: 'clientAuth' });
const der = Buffer.from(textOf(ann.certFile).replace(/-----[^-]*-----|\s/g, ''), 'base64');

/** All names that a mode writes or Tomcat's valve reads, in letter cases that a server takes for the same. */
const FORGED = {
  tomcat: [
    'ssl_client_cert',
    'SSL_Client_Escaped_Cert',
    'ssl_client_verify',
    'SSL_CIPHER',
    'ssl_cipher_usekeysize',
    'ssl_session_id',
  ],
  rfc9440: ['Client-Cert', 'CLIENT-CERT-CHAIN'],
} as const;
const FORGERY = 'forged';

/** Answers with the fields that it got about certificates. */
const upstream = http.createServer((request, response) => {
  const about = Object.entries(request.headers).filter(([name]) => /^ssl_|^client-cert/.test(name));
  response.end(JSON.stringify(Object.fromEntries(about)));
});
let upstreamPort: number;
let stand: SecureStand | undefined;

beforeAll(async () => {
  upstreamPort = await listening(upstream);
});
afterEach(async () => {
  await stand?.close();
  stand = undefined;
});
afterAll(() => {
  upstream.close();
  folder.remove();
});

async function start(clientCertificate: Config['clientCertificate'], dataPath: Config['dataPath'] = 'auto') {
  stand = await startSecureStand((base) => ({
    upstream: { ...base.upstream, port: upstreamPort },
    listen: {
      ...base.listen,
      tls: listenerTls(own, { clientCaFile: clientAuthority.certFile, clientAuth: 'request' }),
    },
    clientCertificate,
    dataPath,
  }));
  return stand.port;
}

interface Asking {
  readonly as?: Pair;
  readonly fields?: string;
}

async function ask(port: number, { as, fields = '' }: Asking = {}): Promise<Record<string, string>> {
  const pair = as && { cert: textOf(as.certFile), key: textOf(as.keyFile) };
  const socket = tls.connect({ port, ca: textOf(authority.certFile), servername: 'localhost', ...pair });
  socket.write(`GET /a HTTP/1.1\r\nHost: plant\r\nConnection: close\r\n${fields}\r\n`);
  let text = '';
  for await (const bytes of socket) text += String(bytes);
  return JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as Record<string, string>;
}

const forgedLines = (mode: 'tomcat' | 'rfc9440') => FORGED[mode].map((name) => `${name}: ${FORGERY}\r\n`).join('');

describe.each(['auto', 'gateway'] as const)('with dataPath %s', (dataPath) => {
  it('Tomcat’s valve gets the certificate in one line, and the cipher', async () => {
    const port = await start('tomcat', dataPath);
    const seen = await ask(port, { as: ann, fields: forgedLines('tomcat') });
    expect(seen).toEqual({
      ssl_client_cert: `-----BEGIN CERTIFICATE----- ${der.toString('base64')} -----END CERTIFICATE-----`,
      ssl_client_verify: 'SUCCESS',
      ssl_cipher: 'TLS_AES_256_GCM_SHA384',
      ssl_cipher_usekeysize: '256',
    });
  });

  it('RFC 9440 has the certificate as a byte sequence', async () => {
    const port = await start('rfc9440', dataPath);
    expect(await ask(port, { as: ann, fields: forgedLines('rfc9440') })).toEqual({
      'client-cert': `:${der.toString('base64')}:`,
    });
  });

  it.each([
    ['no certificate', undefined],
    ['one of another authority', stranger],
  ])('a client with %s brings none, whatever it writes', async (_what, as) => {
    const port = await start('tomcat', dataPath);
    const seen = await ask(port, { ...(as && { as }), fields: forgedLines('tomcat') });
    expect(seen.ssl_client_cert).toBeUndefined();
    expect(seen.ssl_client_verify).toBe('NONE');
    expect(JSON.stringify(seen)).not.toContain(FORGERY);
  });

  it('nothing is added or removed when it is off', async () => {
    const port = await start('off', dataPath);
    expect(await ask(port, { as: ann, fields: 'Client-Cert: own\r\n' })).toEqual({ 'client-cert': 'own' });
  });
});

it('the fields go with a WebSocket and with each further request of a connection, and hold the forwarding fields', async () => {
  const heads: string[] = [];
  const server = net.createServer((socket) => {
    socket.on('data', (bytes) => {
      heads.push(bytes.toString('latin1'));
      const isUpgrade = heads.length === 3;
      socket.write(
        isUpgrade ? 'HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n' : 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
      );
    });
  });
  const port = await listening(server);
  stand = await startSecureStand((base) => ({
    upstream: { ...base.upstream, port },
    listen: {
      ...base.listen,
      tls: listenerTls(own, { clientCaFile: clientAuthority.certFile, clientAuth: 'require' }),
    },
    clientCertificate: 'rfc9440',
    forwarded: 'append',
  }));
  const pair = { cert: textOf(ann.certFile), key: textOf(ann.keyFile) };
  const socket = tls.connect({ port: stand.port, ca: textOf(authority.certFile), servername: 'localhost', ...pair });
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n';
  for (const [index, fields] of ['', 'Client-Cert: :Zm9yZ2Vk:\r\n', upgrade].entries()) {
    socket.write(`GET /a HTTP/1.1\r\nHost: plant\r\n${fields}\r\n`);
    await expect.poll(() => heads.length, { interval: 5 }).toBe(index + 1);
  }
  for (const head of heads) {
    expect(head.match(/^client-cert: .*$/gim)).toEqual([`Client-Cert: :${der.toString('base64')}:`]);
    expect(head).toMatch(/^X-Forwarded-Proto: https\r$/m);
  }
  socket.destroy();
  server.close();
});
