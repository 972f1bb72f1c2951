import { once } from 'node:events';
import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import { untilTestEnds } from '../../support/deferred.ts';
import type { Peer } from '../../support/wire/peer.ts';
import { get, OK, type Stand, startStand } from '../../support/wire/stand.ts';

const ANNOUNCED = OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

let stand: Stand;

/** A client whose request is with the upstream. */
async function busyClient(): Promise<{ client: Peer; upstream: net.Socket }> {
  const client = stand.client(get('/a'));
  const upstream = await stand.nextUpstream();
  await once(upstream, 'data');
  return { client, upstream };
}

describe('a draining sidecar', () => {
  it('announces the end of a connection and keeps it, serves new ones, and closes none that is idle', async () => {
    stand = await startStand({}, untilTestEnds);
    const fresh = await stand.connect();
    const idle = await busyClient();
    idle.upstream.write(OK);
    await idle.client.until('ok');
    const busy = await busyClient();
    stand.sidecar.lifecycle.drain();
    const late = await busyClient();
    for (const { client, upstream } of [busy, late]) {
      upstream.write(OK);
      await client.ended();
      expect(client.received).toBe(ANNOUNCED);
    }
    // They had time to be closed, and are served and told instead.
    idle.client.send(get('/b'));
    await once(idle.upstream, 'data');
    idle.upstream.write(OK);
    await idle.client.ended();
    expect(idle.client.received).toBe(OK + ANNOUNCED);
    fresh.send(get('/a'));
    (await stand.nextUpstream()).write(OK);
    await fresh.ended();
    expect(fresh.received).toBe(ANNOUNCED);
  });

  it('closes no connection after an answer that began without Connection: close', async () => {
    stand = await startStand({}, untilTestEnds);
    const { client, upstream } = await busyClient();
    upstream.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok');
    await client.until('ok');
    stand.sidecar.lifecycle.drain();
    upstream.write('ok');
    await client.until('okok');
    client.send(get('/b'));
    await once(upstream, 'data');
    upstream.write(OK);
    await client.ended();
    expect(client.received.endsWith(ANNOUNCED)).toBe(true);
  });
});
