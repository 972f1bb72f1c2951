/** Clients that leave by a FIN, by a reset, or only close their sending side. Their own time: client-wait.test.ts. */
import { once } from 'node:events';
import type net from 'node:net';
import { type ConnectionOptions, TLSSocket } from 'node:tls';
import { describe, expect, it } from 'vitest';
import type { SlowEntry } from '../../src/measure/record/running-calls.ts';
import { untilTestEnds } from '../support/deferred.ts';
import { connected, listenerTls, useCertificates } from '../support/tls/ends.ts';
import { Peer } from '../support/wire/peer.ts';
import { atHeads, OK, type Stand, type StandOptions, startStand } from '../support/wire/stand.ts';

const PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Run';
const REQUEST = `POST ${PATH} HTTP/1.1\r\nHost: plant\r\nContent-Length: 2\r\n\r\n[]`;

let stand: Stand;

async function started(options: StandOptions = {}): Promise<void> {
  // Like Tomcat, the upstream goes on after a FIN.
  stand = await startStand({ onConnection: (socket) => socket.on('data', () => undefined), ...options }, untilTestEnds);
}

function counts() {
  const [application] = stand.sidecar.recorder.applications.values();
  const { ok, aborted, unanswered } = application?.totals.counts ?? { ok: 0, aborted: 0, unanswered: 0 };
  return { ok, aborted, unanswered };
}

async function ended(calls = 1) {
  const sum = () => Object.values(counts()).reduce((all, count) => all + count, 0);
  await expect.poll(sum, { timeout: 10_000 }).toBe(calls);
  return counts();
}

const certificates = useCertificates();
const authority = certificates.authority();
const tls = listenerTls(certificates.signed(authority, { name: 'plant' }));
const secure: StandOptions = { config: (base) => ({ listen: { ...base.listen, tls } }) };
const halfOpen = { allowHalfOpen: true } as ConnectionOptions;

const KINDS: readonly (readonly [string, StandOptions, () => Promise<Peer>])[] = [
  ['plain', {}, () => stand.connect()],
  ['TLS', secure, async () => new Peer(await connected(stand.port, authority, halfOpen))],
];

describe.each(KINDS)('a client over %s', (_kind, options, connect) => {
  const asked = async (): Promise<readonly [Peer, net.Socket]> => {
    await started(options);
    const client = await connect();
    untilTestEnds(() => client.socket.destroy());
    const arrived = stand.nextUpstream();
    client.send(REQUEST);
    const upstream = await arrived;
    await expect.poll(() => upstream.bytesRead).toBeGreaterThan(REQUEST.length - 1);
    return [client, upstream];
  };

  it('that gives up by a FIN, and whose system refuses the answer, has aborted its call', async () => {
    const [client, upstream] = await asked();
    client.finish();
    client.socket.destroy();
    await expect.poll(() => upstream.readableEnded).toBe(true);
    upstream.write(OK);
    expect(await ended()).toEqual({ ok: 0, aborted: 1, unanswered: 0 });
    const [slowest] = await stand.read<SlowEntry[]>('d2/calls/slowest');
    expect(slowest?.outcome).toBe('aborted');
  });

  it.each([
    ['gives up by a FIN has aborted both', true, { ok: 0, aborted: 2, unanswered: 0 }],
    ['only closes its sending side gets both answers, and both count', false, { ok: 2, aborted: 0, unanswered: 0 }],
  ])('that sends a second request at once and %s', async (_what, leaves, expected) => {
    const [client, upstream] = await asked();
    const { memory } = stand.sidecar.recorder;
    const { usedBytes } = memory;
    client.send(REQUEST);
    await expect.poll(() => memory.usedBytes).toBeGreaterThan(usedBytes);
    client.finish();
    await once(client.socket, 'finish');
    if (leaves) client.socket.destroy();
    upstream.on('data', () => upstream.write(OK));
    upstream.write(OK);
    expect(await ended(2)).toEqual(expected);
    if (leaves) return;
    expect(client.received.match(/200 OK/g)).toHaveLength(2);
    // Only then the connection closes.
    await client.ended();
  });

  it('that resets its connection has aborted its call', async () => {
    const [client, upstream] = await asked();
    if (client.socket instanceof TLSSocket) client.socket.destroy();
    else client.reset();
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
  const client = stand.client();
  client.finish(REQUEST.repeat(40));
  await expect.poll(() => client.received.match(/200 OK/g)?.length).toBe(40);
  expect(stand.sidecar.reporter.open).toBeLessThanOrEqual(8);
  expect(await ended(40)).toEqual({ ok: 40, aborted: 0, unanswered: 0 });
});
