/** Clients that leave by a FIN, by a reset, or only close their sending side; and the time that clients take. */

import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { SlowEntry } from '../../src/measure/record/running-calls.ts';
import { CertificateFolder } from '../support/tls/certificates.ts';
import { atHeads, OK, type Stand, type StandOptions, startStand } from '../support/wire/stand.ts';

const PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Run';
const REQUEST = `POST ${PATH} HTTP/1.1\r\nHost: plant\r\nContent-Length: 2\r\n\r\n[]`;

let stand: Stand;
afterEach(() => stand.close());

const started = async (options: StandOptions = {}) => {
  // Like Tomcat, the upstream goes on after a FIN.
  stand = await startStand({ onConnection: (socket) => socket.on('data', () => undefined), ...options });
};
const counts = () => {
  const [application] = stand.sidecar.recorder.applications.values();
  const { ok, aborted, unanswered } = application?.totals.counts ?? { ok: 0, aborted: 0, unanswered: 0 };
  return { ok, aborted, unanswered };
};
const sumOfCounts = () => Object.values(counts()).reduce((sum, count) => sum + count, 0);
const ended = async () => {
  await expect.poll(sumOfCounts, { timeout: 10_000 }).toBe(1);
  return counts();
};
const slowest = async () => (await stand.read<SlowEntry[]>('d2/calls/slowest'))[0];

type Client = net.Socket;
const certificates = new CertificateFolder();
const own = certificates.signed(certificates.authority(), { name: 'plant' });
const TLS = { listenTls: { certFile: own.certFile, keyFile: own.keyFile } };

const KINDS: readonly (readonly [string, StandOptions, () => Promise<Client>])[] = [
  [
    'plain',
    {},
    () => {
      const socket = net.connect({ port: stand.port, host: '127.0.0.1', allowHalfOpen: true });
      return new Promise((resolve) => socket.once('connect', () => resolve(socket)));
    },
  ],
  [
    'TLS',
    { config: (base) => ({ listen: { ...base.listen, tls: { ...TLS.listenTls, clientAuth: 'off' } as never } }) },
    () => {
      const socket = tls.connect({
        port: stand.port,
        host: '127.0.0.1',
        rejectUnauthorized: false,
        allowHalfOpen: true,
      } as tls.ConnectionOptions);
      return new Promise((resolve) => socket.once('secureConnect', () => resolve(socket)));
    },
  ],
];

describe.each(KINDS)('a client over %s', (_kind, options, connect) => {
  const asked = async (): Promise<readonly [Client, net.Socket]> => {
    await started(options);
    const client = (await connect()).on('error', () => undefined);
    onTestFinished(() => void client.destroy());
    const arrived = stand.nextUpstream();
    client.write(REQUEST);
    const upstream = await arrived;
    await expect.poll(() => upstream.bytesRead).toBeGreaterThan(REQUEST.length - 1);
    return [client, upstream];
  };

  it('that gives up by a FIN, and whose system refuses the answer, has aborted its call', async () => {
    const [client, upstream] = await asked();
    client.end();
    client.destroy();
    await expect.poll(() => upstream.readableEnded).toBe(true);
    upstream.write(OK);
    expect(await ended()).toEqual({ ok: 0, aborted: 1, unanswered: 0 });
    expect((await slowest())?.outcome).toBe('aborted');
  });

  it('that only closes its sending side gets the answer, and its call counts', async () => {
    const [client, upstream] = await asked();
    client.end();
    await expect.poll(() => upstream.readableEnded).toBe(true);
    upstream.write(OK);
    const text: string[] = [];
    client.on('data', (bytes: Buffer) => text.push(bytes.toString('latin1')));
    expect(await ended()).toEqual({ ok: 1, aborted: 0, unanswered: 0 });
    expect(text.join('')).toContain('200 OK');
    // Only then the connection closes.
    await expect.poll(() => client.readableEnded).toBe(true);
  });

  it.each([
    ['gives up by a FIN has aborted both', true, { ok: 0, aborted: 2, unanswered: 0 }],
    ['only closes its sending side gets both answers, and both count', false, { ok: 2, aborted: 0, unanswered: 0 }],
  ])('that sends a second request at once and %s', async (_what, leaves, expected) => {
    const [client, upstream] = await asked();
    const read: string[] = [];
    client.on('data', (bytes: Buffer) => read.push(bytes.toString('latin1')));
    const { memory } = stand.sidecar.recorder;
    const { usedBytes } = memory;
    client.write(REQUEST);
    await expect.poll(() => memory.usedBytes).toBeGreaterThan(usedBytes);
    client.end();
    await once(client, 'finish');
    if (leaves) client.destroy();
    upstream.on('data', () => upstream.write(OK));
    upstream.write(OK);
    await expect.poll(sumOfCounts, { timeout: 10_000 }).toBe(2);
    expect(counts()).toEqual(expected);
    if (!leaves) expect(read.join('').match(/200 OK/g)).toHaveLength(2);
  });

  it('that resets its connection has aborted its call', async () => {
    const [client, upstream] = await asked();
    if (client instanceof tls.TLSSocket) client.destroy();
    else client.resetAndDestroy();
    upstream.on('error', () => undefined);
    setTimeout(() => upstream.write(OK), 50);
    expect(await ended()).toEqual({ ok: 0, aborted: 1, unanswered: 0 });
  });
});

it('a client that closes its sending side behind many requests holds eight answers back, and one place in flight', async () => {
  await started({
    onConnection: (socket) => atHeads(socket, () => socket.write(OK)),
    config: (base) => ({ limits: { ...base.limits, inFlight: 1 } }),
  });
  const client = net.connect({ port: stand.port, host: '127.0.0.1', allowHalfOpen: true });
  onTestFinished(() => void client.destroy());
  client.end(REQUEST.repeat(40));
  const text: string[] = [];
  client.on('data', (bytes: Buffer) => text.push(bytes.toString('latin1')));
  await expect.poll(() => text.join('').match(/200 OK/g)?.length).toBe(40);
  expect(stand.sidecar.reporter.open).toBeLessThanOrEqual(8);
  await expect.poll(sumOfCounts, { timeout: 10_000 }).toBe(40);
  expect(counts()).toEqual({ ok: 40, aborted: 0, unanswered: 0 });
});

describe('the time that clients take', () => {
  const answer = (bytes: number) => `HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n${'x'.repeat(bytes)}`;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('to send a body is no part of the duration', async () => {
    await started({ onConnection: (socket) => atHeads(socket, () => undefined) });
    const client = stand.client(`POST ${PATH} HTTP/1.1\r\nHost: plant\r\nContent-Length: 2\r\n\r\n`);
    const upstream = await stand.nextUpstream();
    await pause(300);
    client.send('[');
    await pause(300);
    client.send(']');
    await expect.poll(() => upstream.bytesRead).toBeGreaterThan(0);
    await pause(50);
    upstream.write(OK);
    expect(await ended()).toMatchObject({ ok: 1 });
    const call = await slowest();
    expect(call?.clientWait).toBeGreaterThan(0.55);
    expect(call?.duration).toBeLessThan(call?.clientWait ?? 0);
    expect(call?.firstByte).toBeGreaterThan(0.6);
  });

  it('before they may send, with Expect, is the time of the server', async () => {
    await started({ onConnection: (socket) => socket.on('data', () => undefined) });
    const client = stand.client(
      `POST ${PATH} HTTP/1.1\r\nHost: plant\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`,
    );
    const upstream = await stand.nextUpstream();
    await pause(400);
    upstream.write('HTTP/1.1 100 Continue\r\n\r\n');
    await pause(150);
    client.send('[]');
    await pause(50);
    upstream.write(OK);
    expect(await ended()).toMatchObject({ ok: 1 });
    const call = await slowest();
    expect(call?.duration).toBeGreaterThan(0.39);
    expect(call?.clientWait).toBeGreaterThan(0.1);
    expect(call?.clientWait).toBeLessThan(0.39);
  });

  it('to take a large answer is no part of the duration', async () => {
    await started({ onConnection: (socket) => atHeads(socket, () => socket.write(answer(40_000_000))) });
    // Without a listener nothing is read.
    const client = net.connect(stand.port, '127.0.0.1');
    onTestFinished(() => void client.destroy());
    client.write(REQUEST);
    await expect.poll(() => stand.sidecar.reporter.inFlight).toBe(1);
    await pause(700);
    client.resume();
    expect(await ended()).toMatchObject({ ok: 1 });
    expect((await slowest())?.clientWait).toBeGreaterThan(0.5);
  });

  it('is none for a call whose body comes with its head', async () => {
    await started({ onConnection: (socket) => atHeads(socket, () => setTimeout(() => socket.write(OK), 100)) });
    stand.client(REQUEST);
    expect(await ended()).toMatchObject({ ok: 1 });
    expect(await slowest()).toMatchObject({ clientWait: 0, outcome: 'ok' });
  });
});
