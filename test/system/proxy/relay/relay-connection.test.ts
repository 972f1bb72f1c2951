import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import { untilTestEnds } from '../../../support/deferred.ts';
import type { Peer } from '../../../support/wire/peer.ts';
import { answering, get, OK, type Stand, type StandOptions, startStand } from '../../../support/wire/stand.ts';
import { untilStill } from '../../../support/wire/still.ts';
import { UPGRADE } from '../stand.ts';

let stand: Stand;

/** A client of a stand, which ends with its test; `text` is its first bytes. */
async function connected(options?: StandOptions, text?: string): Promise<Peer> {
  stand = await startStand(options, untilTestEnds);
  return stand.client(text);
}

const unreachable: StandOptions = { upstreamPort: 1 };

/** A client that has closed its side is not ended by the clock. */
const waitingForEver: NonNullable<StandOptions['config']> = ({ timeouts }) => ({
  timeouts: { ...timeouts, halfClosedMs: 3_600_000 },
});

function problemOf(text: string): Record<string, unknown> {
  return JSON.parse(text.slice(text.lastIndexOf('{'))) as Record<string, unknown>;
}

describe('an upstream that gives no answer', () => {
  it('ends the connection of a client that does not read the 502s', async () => {
    const client = await connected(unreachable);
    client.socket.pause();
    const flood = Buffer.alloc(1024 * 1024, get('/a'));
    let sent = 0;
    const onDrain = () => {
      for (sent += flood.length; client.socket.write(flood); sent += flood.length);
    };
    client.socket.on('drain', onDrain);
    onDrain();
    // It closes, and then reads no more: what the client sends piles up in the kernel and on the client's side.
    await expect.poll(() => stand.sidecar.reporter.open, { timeout: 10_000 }).toBe(0);
    expect(await untilStill(() => sent, 150)).toBeLessThan(64 * 1024 * 1024);
  });

  it('still gives the client the whole 502 when its body was not yet sent', async () => {
    const client = await connected(unreachable, 'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
    await client.ended();
    expect(client.received).toContain('Connection: close\r\n');
    expect(problemOf(client.received)).toMatchObject({ status: 502 });
  });
});

it('a request whose chunks are broken in the middle of the answer ends its connection, with nothing added to it', async () => {
  const onConnection = answering('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart');
  const client = await connected({ onConnection }, 'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  await client.until('part');
  client.send('nonsense\r\n');
  await client.ended();
  expect(client.received).toMatch(/part$/);
});

describe('a client', () => {
  it('that sent too much ahead, so that its connection is paused, is ended by the idle limit', async () => {
    const client = await connected({
      onConnection: (socket) => socket.resume(),
      config: ({ timeouts }) => ({ timeouts: { ...timeouts, idleMs: 40 } }),
    });
    client.socket.write(get('/hold') + get('/next').repeat(5_000));
    await client.ended();
    await expect.poll(() => stand.sidecar.dispatcher.openConnections).toBe(0);
  });

  it('that cuts off a request sent ahead causes an end towards the upstream', async () => {
    const client = await connected({
      config: waitingForEver,
      onConnection: (socket) => {
        socket.once('data', () => socket.write(OK));
        socket.on('end', () => socket.end());
      },
    });
    client.socket.end(`${get('/a')}POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf`);
    await client.ended();
    expect(client.received.startsWith(OK)).toBe(true);
    const { exchanges } = stand.sidecar.recorder.own;
    expect(exchanges).toEqual({ completed: 1, failed: 0, cancelled: 1, denied: 0 });
  });

  it.each<[string, string, (upstream: net.Socket) => unknown]>([
    ['that says more by then', OK, (upstream) => upstream.write('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['that closes by then', OK, (upstream) => upstream.end()],
    ['that has begun another answer', `${OK}HTTP/1.1 200 OK\r\n`, () => undefined],
  ])('that breaks off a request answered early is closed, with an upstream %s', async (_what, answer, act) => {
    const client = await connected({
      config: waitingForEver,
      onConnection: (socket) => {
        socket.once('data', () => socket.write(answer));
        socket.on('end', () => act(socket));
      },
    });
    client.socket.write('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('ok');
    client.socket.end();
    await client.ended();
    expect(client.received).toBe(OK);
  });
});

it('a sidecar that stops closes idle connections, unused ones included', async () => {
  await connected({ config: () => ({ stop: { delayMs: 0, windowMs: 0, deadlineMs: 60_000 } }) });
  const silent = await stand.connect();
  await expect.poll(() => stand.sidecar.dispatcher.openConnections).toBe(2);
  silent.socket.on('end', () => silent.socket.end());
  await stand.sidecar.stop();
  expect(stand.sidecar.dispatcher.openConnections).toBe(0);
});

// More than the kernel holds on both sides of the sidecar.
const SIZE = 48 * 1024 * 1024;

it.each([
  ['a WebSocket', UPGRADE],
  ['another upgrade', UPGRADE.replace('websocket', 'h2c')],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
])('a large response to a slow reader is not stopped by %s pipelined behind it', async (_what, behind) => {
  const client = await connected({
    onConnection: (socket) =>
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
        socket.write(Buffer.alloc(SIZE, 'x'));
        socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
      }),
  });
  let received = 0;
  client.socket.removeAllListeners('data');
  client.socket.on('data', (bytes: Buffer) => {
    received += bytes.length;
  });
  client.socket.pause();
  client.socket.write(`GET http://a/big HTTP/1.1\r\nHost: a\r\n\r\n${behind}`);
  // Until the sidecar's buffers and the kernel's are full.
  await expect.poll(() => stand.upstreams[0]?.writableLength ?? 0).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.socket.resume();
  await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThan(SIZE);
});

const ANNOUNCED = OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

/** A client whose request is with the upstream. */
async function busyClient(): Promise<{ client: Peer; upstream: Peer }> {
  const [client, upstream] = await stand.ask(get('/a'));
  await upstream.head();
  return { client, upstream };
}

describe('a draining sidecar', () => {
  it('announces the end of a connection and keeps it, serves new ones, and closes none that is idle', async () => {
    stand = await startStand({}, untilTestEnds);
    const fresh = await stand.connect();
    const idle = await busyClient();
    idle.upstream.send(OK);
    await idle.client.until('ok');
    const busy = await busyClient();
    stand.sidecar.lifecycle.drain();
    const late = await busyClient();
    for (const { client, upstream } of [busy, late]) {
      upstream.send(OK);
      await client.ended();
      expect(client.received).toBe(ANNOUNCED);
    }
    // They had time to be closed, and are served and told instead.
    idle.client.send(get('/b'));
    await idle.upstream.head();
    idle.upstream.send(OK);
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
    upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok');
    await client.until('ok');
    stand.sidecar.lifecycle.drain();
    upstream.send('ok');
    await client.until('okok');
    client.send(get('/b'));
    await upstream.head();
    upstream.send(OK);
    await client.ended();
    expect(client.received.endsWith(ANNOUNCED)).toBe(true);
  });
});
