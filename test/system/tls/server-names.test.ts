/** A server's name with the dot of the DNS root, in each place that dials by TLS: never sent, never expected in a certificate. */
import dns from 'node:dns';
import { once } from 'node:events';
import https from 'node:https';
import tls from 'node:tls';
import { afterAll, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createReceiver } from '../../../src/export/otlp/receiver.ts';
import { HttpSource } from '../../../src/jvm/http/http-source.ts';
import { JOLOKIA } from '../../../src/jvm/http/jolokia.ts';
import { createHostCheck } from '../../../src/monitor/guard.ts';
import { UpstreamTls } from '../../../src/proxy/upstream/upstream-tls.ts';
import { certificateName, indicatedName } from '../../../src/tls/policy.ts';
import { listening } from '../../support/net.ts';
import { pemOf } from '../../support/tls/certificates.ts';
import { upstreamTls, useCertificates } from '../../support/tls/ends.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant.example', alternatives: 'DNS:plant.example,IP:127.0.0.1' });
/** What each handshake indicated; false without a name. */
let indicated: (string | false)[] = [];
const server = tls.createServer(pemOf(own), (socket) => {
  indicated.push((socket as unknown as { servername: string | false }).servername);
  socket.on('error', () => undefined);
  socket.end('HTTP/1.1 503 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
});
const port = await listening(server);
const lookup = vi.spyOn(dns, 'lookup').mockImplementation(((
  _name: string,
  options: { all?: boolean },
  callback: unknown,
) => {
  const found = { address: '127.0.0.1', family: 4 };
  setImmediate(
    callback as (...found: unknown[]) => void,
    ...(options.all ? [null, [found]] : [null, found.address, found.family]),
  );
}) as never);
const { logger } = recordingLogger();

beforeEach(() => {
  indicated = [];
});
afterAll(() => {
  lookup.mockRestore();
  server.close();
});

async function dialUpstream(host: string, serverName?: string): Promise<void> {
  const config = upstreamTls(authority, { serverName });
  const upstream = await UpstreamTls.open({ host, port }, config, { clock: systemClock, logger });
  const socket = upstream.connect();
  await once(socket, 'data');
  socket.destroy();
}

async function dialJvm(host: string, serverName?: string): Promise<void> {
  const url = `https://${host}:${port}/jolokia`;
  const source = new HttpSource(JOLOKIA, { url, caFile: authority.certFile, serverName, clock: systemClock });
  await expect(source.read(AbortSignal.timeout(5_000))).rejects.toThrow(/503/);
}

async function dialReceiver(host: string): Promise<void> {
  const config = { endpoint: `https://${host}:${port}`, caFile: authority.certFile, timeoutMs: 5_000 };
  const receiver = createReceiver('metrics', { config: config as never, env: {}, logger });
  await receiver.headers();
  const request = https.get(receiver.url, { agent: receiver.agent as https.Agent });
  const [answer] = await once(request, 'response');
  expect(answer.statusCode).toBe(503);
  receiver.disconnect();
}

it.each([
  ['upstream.url', dialUpstream],
  ['jvm.http.url', dialJvm],
  ['otlp.endpoint', dialReceiver],
])('%s: the dot is not sent, and an IP address not at all', async (_key, dial) => {
  for (const host of ['plant.example.', 'plant.example', '127.0.0.1']) await dial(host);
  expect(indicated).toEqual(['plant.example', 'plant.example', false]);
});

it.each([
  ['upstream.tls.serverName', dialUpstream],
  ['jvm.http.serverName', dialJvm],
])('%s may end with a dot', async (_key, dial) => {
  await dial('127.0.0.1', 'plant.example.');
  expect(indicated).toEqual(['plant.example']);
});

it('names lose one dot, and addresses in brackets are addresses', () => {
  expect(certificateName('a.example.')).toBe('a.example');
  expect(['[::1]', '::1', '127.0.0.1', 'a.example.'].map(indicatedName)).toEqual(['', '', '', 'a.example']);
});

it('the monitoring port takes its names with and without the dot', () => {
  const check = createHostCheck(['plant.example.', 'other.example']);
  for (const host of ['plant.example', 'plant.example.:9280', 'other.example.', 'localhost.']) {
    expect(check({ url: '/', headersDistinct: { host: [host] } })).toBeUndefined();
  }
});
