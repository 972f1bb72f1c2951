/** Times and sizes with TLS; without: sidecar/live-limits.test.ts; numbers of connections: monitor-floods.test.ts. */
import { afterAll, afterEach, expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { connected, get as getSecurely, listenerTls } from '../../support/tls/ends.ts';
import { Peer } from '../../support/wire/peer.ts';
import { answering, OK, get as requestTo, type Stand, startStand } from '../../support/wire/stand.ts';

const certificates = new CertificateFolder();
const ca = certificates.authority();
const own = certificates.signed(ca, { name: 'localhost' });

let stand: Stand;
afterEach(() => stand.close());
afterAll(() => certificates.remove());

async function start(monitor: Partial<Config['monitor']>): Promise<void> {
  stand = await startStand({
    onConnection: answering(OK),
    config: (base) => ({ monitor: { ...base.monitor, tls: listenerTls(own), ...monitor } }),
  });
}

const ask = (path: string, headers = {}) => getSecurely(stand.monitorPort, path, { ca, headers });

async function connect(): Promise<Peer> {
  const socket = await connected(stand.monitorPort, ca);
  onTestFinished(() => void socket.destroy());
  return new Peer(socket);
}

it.each([
  ['an incomplete request gets 408', 'GET /metrics HTTP/1.1\r\nHost: loc'],
  ['a connection that sends nothing is closed', ''],
])('monitor.headTimeout: %s, and others are answered', async (_what, begin) => {
  await start({ headTimeoutMs: 150 });
  const slow = await connect();
  if (begin !== '') expect((await slow.ask(begin)).status).toBe(408);
  await slow.ended();
  expect(stand.sidecar.limits.countOf('monitor.headTimeout')).toBe(1);
});

it('monitor.idleTimeout: a silent connection is closed', async () => {
  await start({ idleTimeoutMs: 150 });
  const silent = await connect();
  expect((await silent.ask('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')).status).toBe(200);
  await silent.ended();
  expect(stand.sidecar.limits.countOf('monitor.idleTimeout')).toBe(1);
});

it('monitor.maxAnswerBytes: a larger answer in one piece becomes 507, smaller ones are sent', async () => {
  await start({ maxAnswerBytes: 1_024 });
  for (const path of ['/metrics', '/metrics', '/live']) {
    const { status, headers, body } = await ask(path, { 'accept-encoding': 'gzip' });
    expect([status, headers['content-type']]).toEqual([507, 'application/problem+json']);
    expect(headers['content-encoding']).toBeUndefined();
    expect(headers['x-content-type-options']).toBe('nosniff');
    const detail = expect.stringContaining('monitor.maxAnswerBytes');
    expect(JSON.parse(body)).toMatchObject({ status: 507, title: 'Insufficient Storage', detail });
  }
  expect((await ask('/livez')).status).toBe(200);
  expect((await ask('/smartWeb/api/rest/v0/admin/metrics/d2/sessions')).status).toBe(200);
  expect(stand.sidecar.limits.countOf('monitor.maxAnswerBytes')).toBe(3);
});

it('monitor.maxAnswerBytes: a streamed answer is cut at the limit, and the next request for it gets 507', async () => {
  await start({ maxAnswerBytes: 50_000 });
  const client = await stand.connect();
  for (let i = 0; i < 100; i += 1) {
    client.socket.write(requestTo(`/smartWeb/api/rest/v0/d2/rpc/E.Demo/Call${i}`).replace('GET', 'POST'));
  }
  await expect.poll(() => client.received.split('200 OK').length, { timeout: 10_000 }).toBe(101);
  const peer = await connect();
  peer.send('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await peer.ended();
  expect(peer.received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(peer.received).toMatch(/^transfer-encoding: chunked\r$/im);
  expect(peer.received.endsWith('0\r\n\r\n')).toBe(false);
  expect(peer.received.length).toBeLessThan(52_000);
  expect((await ask('/metrics')).status).toBe(507);
  // A different request has its own limit.
  expect((await ask('/smartWeb/api/rest/v0/admin/metrics/d2/sessions')).status).toBe(200);
  expect(stand.sidecar.limits.countOf('monitor.maxAnswerBytes')).toBe(2);
});
