/** Upstreams that are not there yet, restart, answer late, or have no name for a while; and clients that leave meanwhile. */
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { Peer } from '../../support/wire/peer.ts';
import { FakeResolver, failing, NAME } from './fake-resolver.ts';
import { atHeads, GET, OK, RPC, sound, startFaultStand } from './fault-stand.ts';

it('an upstream that is down is logged once, not for each request, and serves the same client connection once it is up', async () => {
  const harness = await startFaultStand({});
  expect((await harness.samples()).get('d2_upstream_reachable')).toBeUndefined();
  const client = harness.client();
  for (let count = 1; count <= 20; count += 1) {
    client.send(RPC);
    expect(await client.take('"D2S_ERR_UPSTREAM_REFUSED"}')).toMatch(/^HTTP\/1\.1 502 /);
  }
  const samples = await harness.samples();
  expect(samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_REFUSED"}')).toBe(20);
  expect(samples.get('d2_upstream_reachable')).toBe(0);
  const details = { code: 'D2S_ERR_UPSTREAM_REFUSED', reason: 'ECONNREFUSED', failed: 1 };
  expect(harness.logged.filter(({ level }) => level !== 'info')).toEqual([
    { level: 'warn', details, message: 'The upstream refused the connection.' },
  ]);
  await harness.upstream.comeUp(sound);
  client.send(RPC);
  await client.until('fine');
  expect((await harness.samples()).get('d2_upstream_reachable')).toBe(1);
});

describe('the name of the upstream', () => {
  const named = {
    config: ({ upstream }: Config) => ({ upstream: { ...upstream, host: NAME } }),
  };

  it('affects new connections only when it is gone, and is looked up for each of them', async () => {
    const resolver = new FakeResolver();
    resolver.answer = resolver.loopback;
    const harness = await startFaultStand({ ...named, script: sound });
    const [established, fresh] = [harness.client(RPC), harness.client()];
    await established.until('fine');
    resolver.answer = failing('ENOTFOUND');
    established.send(RPC);
    await expect.poll(() => established.received.split('fine').length - 1).toBe(2);
    fresh.send(RPC);
    await fresh.until('"code":"D2S_ERR_UPSTREAM_DNS"');
    expect((await harness.samples()).get('d2_upstream_reachable')).toBe(0);
    resolver.answer = resolver.loopback;
    fresh.send(RPC);
    await fresh.until('fine');
    expect(resolver.asked).toBe(3);
    expect((await harness.samples()).get('d2_upstream_reachable')).toBe(1);
    const failures = 'd2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_DNS"}';
    expect((await harness.samples()).get(failures)).toBe(1);
  });

  it('is looked up once for all clients that wait for a silent resolver', async () => {
    const resolver = new FakeResolver();
    const harness = await startFaultStand({ ...named, script: sound });
    const clients = Array.from({ length: 20 }, () => harness.client(RPC));
    await expect.poll(() => harness.sidecar.reporter.open).toBe(20);
    resolver.release();
    await Promise.all(clients.map((client) => client.until('fine')));
    expect(resolver.asked).toBe(1);
  });
});

const POST = 'POST /smartWeb/x HTTP/1.1\r\nHost: plant.example\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n';

const impatient = ({ upstream }: Config) => ({ upstream: { ...upstream, responseTimeoutMs: 60 } });

describe('upstream.responseTimeout', () => {
  it('stops at an interim answer, since the upstream has begun to answer', async () => {
    const harness = await startFaultStand({
      config: impatient,
      script: (upstream) =>
        atHeads(upstream, () => {
          upstream.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
          setTimeout(() => upstream.write(OK), 240);
        }),
    });
    const client = harness.client(GET);
    await client.until('fine');
    expect(client.received).toMatch(/^HTTP\/1\.1 103 [\s\S]*HTTP\/1\.1 200 OK/);
  });

  it('does not stop at a 100, which only asks for the body', async () => {
    const harness = await startFaultStand({
      config: impatient,
      script: async (upstream) => {
        await new Peer(upstream).until('body');
        setImmediate(() => upstream.write('HTTP/1.1 100 Continue\r\n\r\n'));
      },
    });
    // Sent without waiting, so that the limit already runs when the 100 arrives.
    const client = harness.client(`${POST}body`);
    await client.until('"code":"D2S_ERR_UPSTREAM_TIMEOUT"');
    expect(client.received).toMatch(/^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 504 /);
  });
});

it('a client that leaves while the upstream is being connected cancels the connection', async () => {
  const resolver = new FakeResolver();
  const config = ({ upstream, timeouts }: Config) => ({
    upstream: { ...upstream, host: NAME },
    timeouts: { ...timeouts, halfClosedMs: 30 },
  });
  const harness = await startFaultStand({ config, script: sound });
  const client = harness.client(GET);
  const { sidecar } = harness;
  await expect.poll(() => resolver.asked).toBe(1);
  client.socket.destroy();
  await expect.poll(() => sidecar.reporter.open).toBe(0);
  await expect.poll(() => sidecar.dispatcher.openConnections).toBe(0);
  resolver.release();
  // The next client gets through, so an attempt for the first would have arrived before it.
  resolver.answer = resolver.loopback;
  await harness.client(GET).until('fine');
  expect(harness.upstreams).toHaveLength(1);
  const { exchanges } = sidecar.recorder.own;
  expect(exchanges).toEqual({ completed: 1, failed: 0, cancelled: 1, denied: 0 });
});
