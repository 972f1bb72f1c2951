/** `forwarded.clientCertificate`: what the server learns of a client's certificate, and that no client can write it. */
import http from 'node:http';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { listening } from '../../support/net.ts';
import { type Pair, pemOf, textOf } from '../../support/tls/certificates.ts';
import { connected, listenerTls, useCertificates } from '../../support/tls/ends.ts';
import { type Stand, type StandOptions, startStand } from '../../support/wire/stand.ts';

const folder = useCertificates();
const authority = folder.authority();
const clientAuthority = folder.authority('authority of clients');
const own = folder.signed(authority, { name: 'plant' });
const ann = folder.signed(clientAuthority, { name: 'ann', usage: 'clientAuth' });
const stranger = folder.signed(folder.authority('another'), { name: 'ann', usage: 'clientAuth' });
const middle = folder.authority('authority of a plant', clientAuthority);
const lowest = folder.authority('authority of a hall', middle);
const ben = folder.signed(lowest, { name: 'ben', usage: 'clientAuth' });
const base64Of = ({ certFile }: Pair) => textOf(certFile).replace(/-----[^-]*-----|\s/g, '');
const base64 = base64Of(ann);

/** All names that a mode writes or Tomcat's valve reads, in letter cases that a server takes for the same. */
const FORGED_TOMCAT = forge(
  ...['ssl_client_cert', 'SSL_Client_Escaped_Cert', 'ssl_client_verify'],
  ...['SSL_CIPHER', 'ssl_cipher_usekeysize', 'ssl_session_id'],
);
const CIPHER = { ssl_cipher: 'TLS_AES_256_GCM_SHA384', ssl_cipher_usekeysize: '256' };
const TO_TOMCAT = {
  ssl_client_cert: `-----BEGIN CERTIFICATE----- ${base64} -----END CERTIFICATE-----`,
  ssl_client_verify: 'SUCCESS',
  ...CIPHER,
};
const FORGED_RFC9440 = forge('Client-Cert', 'CLIENT-CERT-CHAIN');

const CLOSE = 'Connection: close\r\n';
const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: a\r\n';

function forge(...names: readonly string[]): string {
  return names.map((name) => `${name}: forged\r\n`).join('');
}

/** What each request said about certificates, and the scheme. */
let seen: Record<string, unknown>[] = [];
const see = ({ headers }: http.IncomingMessage) =>
  seen.push(Object.fromEntries(Object.entries(headers).filter(([name]) => /^ssl_|^client-cert|-proto$/.test(name))));
const upstream = http.createServer((request, response) => {
  see(request);
  response.end();
});
upstream.on('upgrade', (request, socket) => {
  see(request);
  socket.end('HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n');
});
const upstreamPort = await listening(upstream);
let stand: Stand;

beforeEach(() => {
  seen = [];
});
afterAll(() => upstream.close());

async function start(clientCertificate: Config['clientCertificate']): Promise<void> {
  const clients = { clientCaFile: clientAuthority.certFile, clientAuth: 'request' } as const;
  const config: StandOptions['config'] = ({ listen }) => ({
    listen: { ...listen, tls: listenerTls(own, clients) },
    clientCertificate,
  });
  stand = await startStand({ upstreamPort, config }, untilTestEnds);
}

const connect = (as?: Pair) => connected(stand.port, authority, as && pemOf(as));

/** Sends the fields on a connection of its own, and resolves with what came about certificates. */
async function ask(fields: string, as?: Pair, line = 'GET /a HTTP/1.1', end = CLOSE): Promise<Record<string, unknown>> {
  const socket = await connect(as);
  socket.write(`${line}\r\nHost: plant\r\n${end}${fields}\r\n`);
  await socket.resume().toArray();
  const { 'x-forwarded-proto': proto, ...about } = seen.at(-1) ?? {};
  expect(proto).toBe('https');
  return about;
}

describe('the fields about a certificate', () => {
  it.each([
    ['tomcat: its valve gets the certificate in one line, and the cipher', 'tomcat', FORGED_TOMCAT, TO_TOMCAT],
    ['rfc9440: the certificate is a byte sequence', 'rfc9440', FORGED_RFC9440, { 'client-cert': `:${base64}:` }],
    ['off: nothing is added or removed', 'off', 'Client-Cert: own\r\n', { 'client-cert': 'own' }],
  ] as const)('%s', async (_what, mode, fields, expected) => {
    await start(mode);
    expect(await ask(fields, ann)).toEqual(expected);
  });

  it('RFC 9440 has the authorities between a certificate and the root, the nearest first', async () => {
    await start('rfc9440');
    const chain = [ben, lowest, middle].map(({ certFile }) => textOf(certFile)).join('');
    expect(await ask(FORGED_RFC9440, { ...ben, certFile: folder.file('chain.pem', chain) })).toEqual({
      'client-cert': `:${base64Of(ben)}:`,
      'client-cert-chain': `:${base64Of(lowest)}:, :${base64Of(middle)}:`,
    });
  });

  it.each<[string, string, string, Pair | undefined]>([
    ['in a request with an absolute-form target', 'GET http://plant/a HTTP/1.1', CLOSE, undefined],
    ['in a request with an upgrade', 'GET /a HTTP/1.1', UPGRADE, undefined],
    ['with a certificate of another authority', 'GET /a HTTP/1.1', CLOSE, stranger],
  ])('a client cannot write the fields %s', async (_what, line, end, as) => {
    await start('tomcat');
    expect(await ask(FORGED_TOMCAT, as, line, end)).toEqual({ ...CIPHER, ssl_client_verify: 'NONE' });
    await start('rfc9440');
    expect(await ask(FORGED_RFC9440, as, line, end)).toEqual({});
    expect(await ask(FORGED_RFC9440, ann, line, end)).toEqual({ 'client-cert': `:${base64}:` });
  });
});

it('the fields go with a WebSocket and with each further request of a connection, and hold the forwarding fields', async () => {
  await start('rfc9440');
  const socket = await connect(ann);
  for (const [index, fields] of ['', 'Client-Cert: :Zm9yZ2Vk:\r\n', UPGRADE].entries()) {
    socket.write(`GET /a HTTP/1.1\r\nHost: plant\r\n${fields}\r\n`);
    await expect.poll(() => seen.length, { interval: 5 }).toBe(index + 1);
  }
  expect(seen).toEqual(seen.map(() => ({ 'client-cert': `:${base64}:`, 'x-forwarded-proto': 'https' })));
  socket.destroy();
});
