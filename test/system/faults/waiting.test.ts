/** What a time limit counts from, what stops it, and that a client which leaves ends it. */

import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { Peer } from '../../support/wire/peer.ts';
import { FakeResolver, NAME } from './fake-resolver.ts';
import { atHeads, GET, OK, sound, startFaultStand } from './fault-stand.ts';

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

describe('a client that leaves while the upstream is being connected', () => {
  it.each(['reset', 'destroy'] as const)('cancels the connection (%s)', async (how) => {
    const resolver = new FakeResolver();
    const config = ({ upstream, timeouts }: Config) => ({
      upstream: { ...upstream, host: NAME },
      timeouts: { ...timeouts, halfClosedMs: 30 },
    });
    const harness = await startFaultStand({ config, script: sound });
    const client = harness.client(GET);
    const { sidecar } = harness;
    await expect.poll(() => resolver.asked).toBe(1);
    if (how === 'reset') client.socket.resetAndDestroy();
    else client.socket.destroy();
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
});
