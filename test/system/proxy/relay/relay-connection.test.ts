import { once } from 'node:events';
import type net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { untilStill } from '../../../support/wire/still.ts';
import { answering, type Client, get, OK, type Stand, type StandOptions, startStand } from '../../wire/stand.ts';

let stand: Stand;

async function stood(options?: StandOptions): Promise<{ client: Client }> {
  stand = await startStand(options);
  return { client: await stand.connect() };
}

afterEach(async () => {
  await stand.close();
});

/** Unlike `closed(socket)`, not put off by an error before it. */
async function closed(socket: net.Socket | undefined): Promise<void> {
  if (socket === undefined) throw new Error('there is no such connection');
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

/** A client that has closed its side is not ended by the clock. */
const waitingForEver: NonNullable<StandOptions['config']> = ({ timeouts }) => ({
  timeouts: { ...timeouts, halfClosedMs: 3_600_000 },
});

function problemOf(text: string): Record<string, unknown> {
  return JSON.parse(text.slice(text.lastIndexOf('{'))) as Record<string, unknown>;
}

describe('an upstream that gives no answer', () => {
  it('is answered without a body for HEAD', async () => {
    const { client } = await stood({ config: ({ upstream }) => ({ upstream: { ...upstream, port: 1 } }) });
    client.socket.write('HEAD /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await client.ended;
    expect(client.received()).toMatch(
      /^HTTP\/1\.1 502 [\s\S]*Content-Length: \d+\r\n[\s\S]*Connection: close\r\n\r\n$/,
    );
  });

  it('ends the connection of a client that does not read the 502s', async () => {
    const { client } = await stood({ config: ({ upstream }) => ({ upstream: { ...upstream, port: 1 } }) });
    client.socket.pause();
    const flood = Buffer.alloc(1024 * 1024, get('/a'));
    let sent = 0;
    const onDrain = () => {
      for (sent += flood.length; client.socket.write(flood); sent += flood.length);
    };
    client.socket.on('drain', onDrain);
    onDrain();
    // It closes, and then reads no more: what the client sends piles up in the kernel and on the client's side.
    await expect.poll(() => stand.sidecar.openExchanges, { timeout: 10_000 }).toBe(0);
    expect(await untilStill(() => sent, 150)).toBeLessThan(64 * 1024 * 1024);
  });

  it('still gives the client the whole 502 when its body was not yet sent', async () => {
    const { client } = await stood({ config: ({ upstream }) => ({ upstream: { ...upstream, port: 1 } }) });
    client.socket.write('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
    await client.ended;
    expect(client.received()).toContain('Connection: close\r\n');
    expect(problemOf(client.received())).toMatchObject({ status: 502 });
  });
});

describe('an upstream connection', () => {
  it('is closed when it sends bytes that answer no request', async () => {
    const { client } = await stood({ onConnection: answering(OK) });
    client.socket.write(get('/a'));
    await client.until('ok');
    stand.upstreams[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil');
    await closed(stand.upstreams[0]);
    client.socket.write(get('/b'));
    await expect.poll(() => client.received()).toBe(OK + OK);
  });
});

describe('a client that has sent everything ahead, and its end', () => {
  const next = 'GET http://plant/b HTTP/1.1\r\nHost: plant\r\nConnection: close\r\n\r\n';

  it.each([
    ['an empty line', '\r\n', OK],
    ['a second request and an empty line', `${get('/b')}\r\n`, OK + OK],
  ])('gets all its answers when %s is behind', async (_what, ahead, expected) => {
    const { client } = await stood({ onConnection: answeringLate });
    client.socket.end(get('/a') + ahead);
    await client.ended;
    expect(client.received()).toBe(expected);
  });

  it('gets the answer to a second request that is the gateway’s', async () => {
    const { client } = await stood({ onConnection: answeringLate });
    client.socket.end(get('/a') + next);
    await client.ended;
    expect(client.received()).toBe(OK + OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
  });

  it('gets 400 for a request that can no longer be handed over', async () => {
    const { client } = await stood({ onConnection: answeringLate });
    client.socket.end(get('/a') + get('/b') + next);
    await client.ended;
    expect(client.received()).toMatch(/^(?:HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\n\r\nok){2}HTTP\/1\.1 400 /);
  });

  /** Late enough for the client's end to have come before the first answer. */
  function answeringLate(socket: net.Socket): void {
    socket.on('data', () => setTimeout(() => socket.write(OK), 30));
  }
});

describe('time limits', () => {
  it('end a connection that is paused because its client sent too much ahead', async () => {
    const { client } = await stood({
      onConnection: (socket) => socket.resume(),
      config: ({ timeouts }) => ({ timeouts: { ...timeouts, idleMs: 40 } }),
    });
    client.socket.write(get('/hold') + get('/next').repeat(5_000));
    await client.ended;
    await expect.poll(() => stand.sidecar.dispatcher.openConnections).toBe(0);
  });

  it('end the wait of a client that has closed its side', async () => {
    const { client } = await stood({
      // Neither answers nor notices.
      onConnection: (socket) => socket.resume(),
      config: ({ timeouts }) => ({ timeouts: { ...timeouts, halfClosedMs: 30 } }),
    });
    client.socket.end(get('/a'));
    await client.ended;
    expect(client.received()).toBe('');
    await expect
      .poll(() => stand.sidecar.recorder.own.read().exchanges.relay)
      .toEqual({ completed: 0, failed: 0, cancelled: 1, denied: 0 });
  });
});

describe('a client', () => {
  it('gets 400 for a body whose chunks are broken, and the upstream no further byte', async () => {
    let received = '';
    const { client } = await stood({
      onConnection: (socket) => socket.on('data', (bytes) => (received += bytes.toString('latin1'))),
    });
    const upstream = stand.nextUpstream();
    client.socket.write('POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n');
    const socket = await upstream;
    await once(socket, 'data');
    client.socket.write('zz\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n');
    await Promise.all([closed(socket), client.ended]);
    expect(client.received()).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).not.toContain('smuggled');
  });

  it.each(['OPTIONS /a RTSP/1.0', 'GET /a RTSP/1.0', 'SOURCE /a ICE/1.0', 'SOURCE /a ICE/1.1', 'POST /a RTSP/1.1'])(
    'gets 400 for what is not HTTP though Node’s parser takes it for that: %s',
    async (line) => {
      const { client } = await stood({ onConnection: answering(OK) });
      client.socket.write(`${get('/first')}${line}\r\nHost: a\r\n\r\n`);
      await client.ended;
      expect(client.received()).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP\/1\.1 400 /);
      expect(stand.upstreams).toHaveLength(1);
    },
  );

  it('that cuts off a request sent ahead causes an end towards the upstream', async () => {
    const { client } = await stood({
      config: waitingForEver,
      onConnection: (socket) => {
        socket.once('data', () => socket.write(OK));
        socket.on('end', () => socket.end());
      },
    });
    client.socket.end(`${get('/a')}POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf`);
    await client.ended;
    expect(client.received().startsWith(OK)).toBe(true);
    expect(stand.sidecar.recorder.own.read().exchanges.relay).toEqual({
      completed: 1,
      failed: 0,
      cancelled: 1,
      denied: 0,
    });
  });

  it.each([
    ['that says more by then', (upstream: net.Socket) => upstream.write(`HTTP/1.1 400 Bad Request\r\n\r\n`)],
    ['that closes by then', (upstream: net.Socket) => upstream.end()],
  ])('that breaks off a request answered early is not kept, with an upstream %s', async (_what, act) => {
    const { client } = await stood({
      config: waitingForEver,
      onConnection: (socket) => {
        socket.once('data', () => socket.write(OK));
        socket.on('end', () => act(socket));
      },
    });
    client.socket.write('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('ok');
    client.socket.end();
    await client.ended;
    expect(client.received()).toBe(OK);
  });

  it('that breaks off a request after its early answer is closed', async () => {
    const { client } = await stood({
      config: waitingForEver,
      onConnection: answering(`${OK}HTTP/1.1 200 OK\r\n`),
    });
    client.socket.write('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf');
    await client.until('ok');
    client.socket.end();
    await client.ended;
    expect(client.received()).toBe(OK);
  });

  it('can send a bounded number of bytes before its turn', async () => {
    const { client } = await stood({ onConnection: (socket) => socket.resume() });
    // More than the kernel's buffers on both sides of the loopback hold.
    const floodBytes = 32 * 1024 * 1024;
    client.socket.write(get('/hold'));
    const coming = stand.nextUpstream();
    const isWritten = new Promise((resolve) => client.socket.write(Buffer.alloc(floodBytes, get('/next')), resolve));
    const held = await coming;
    await expect(Promise.race([isWritten, once(client.socket, 'drain'), quiet(200)])).resolves.toBe('quiet');
    held.destroy();
  });
});

/** For what must not happen: as long as anything would take that does. */
function quiet(ms: number): Promise<'quiet'> {
  return new Promise((resolve) => setTimeout(resolve, ms, 'quiet'));
}

describe('forwarding fields', () => {
  const cases = [
    ['append', '', 'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: plant.example\r\n'],
    [
      'append',
      'X-Forwarded-For: 10.9.9.9\r\nX-Forwarded-Proto: https\r\n',
      'X-Forwarded-For: 10.9.9.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: plant.example\r\n',
    ],
    [
      'replace',
      'X-Forwarded-For: 10.9.9.9\r\nx-forwarded-host: b\r\n',
      'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: plant.example\r\n',
    ],
    ['off', 'X-Forwarded-For: 10.9.9.9\r\n', 'X-Forwarded-For: 10.9.9.9\r\n'],
  ] as const;

  it.each(cases)('in mode %s with the client’s own %j arrive as %j', async (forwarded, own, expected) => {
    let received = '';
    const { client } = await stood({
      onConnection: (socket) =>
        socket.on('data', (bytes) => {
          received += bytes.toString('latin1');
          socket.write(OK);
        }),
      config: () => ({ forwarded }),
    });
    client.socket.write(get('/a', own));
    await client.until('ok');
    expect(received).toBe(`GET /a HTTP/1.1\r\nHost: plant.example\r\n${expected}\r\n`);
  });
});

describe('a draining sidecar', () => {
  const announced = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok';

  /** A client whose request is with the upstream. */
  async function busyClient(): Promise<{ client: Client; upstream: net.Socket }> {
    const client = await stand.connect();
    const coming = stand.nextUpstream();
    client.socket.write(get('/a'));
    const upstream = await coming;
    await once(upstream, 'data');
    return { client, upstream };
  }

  it('announces the end of a connection and keeps it, serves new ones, and closes none that is idle', async () => {
    await stood();
    const idle = await busyClient();
    idle.upstream.write(OK);
    await idle.client.until('ok');
    const busy = await busyClient();
    stand.sidecar.drain();
    busy.upstream.write(OK);
    await busy.client.ended;
    expect(busy.client.received()).toBe(announced);
    const late = await busyClient();
    late.upstream.write(OK);
    await late.client.ended;
    expect(late.client.received()).toBe(announced);
    // The one that was idle is served as well, and told.
    idle.client.socket.write(get('/b'));
    await once(idle.upstream, 'data');
    idle.upstream.write(OK);
    await idle.client.ended;
    expect(idle.client.received()).toBe(OK + announced);
  });

  it('closes no connection after an answer without Connection: close', async () => {
    await stood();
    const { client, upstream } = await busyClient();
    upstream.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok');
    await client.until('ok');
    stand.sidecar.drain();
    upstream.write('ok');
    await client.until('okok');
    client.socket.write(get('/b'));
    await once(upstream, 'data');
    upstream.write(OK);
    await client.ended;
    expect(client.received().endsWith(announced)).toBe(true);
  });

  it('closes idle connections when it stops, unused ones included', async () => {
    await stood({ config: () => ({ stop: { delayMs: 0, windowMs: 0, deadlineMs: 60_000 } }) });
    const silent = await stand.connect();
    await expect.poll(() => stand.sidecar.dispatcher.openConnections).toBe(2);
    silent.socket.on('end', () => silent.socket.end());
    await stand.sidecar.stop();
    expect(stand.sidecar.dispatcher.openConnections).toBe(0);
  });
});

describe('an answer of the monitoring port', () => {
  it('is written after the writes of calls in that turn', async () => {
    await stood({ onConnection: answering(OK) });
    const { writes } = stand.sidecar.dispatcher.services;
    const flush = writes.flush.bind(writes);
    let flushes = 0;
    writes.flush = () => {
      flushes += 1;
      flush();
    };
    // No call passes: only the answer can be what has them done.
    const response = await fetch(`http://127.0.0.1:${stand.monitorPort}/metrics`);
    expect(await response.text()).toContain('d2_sidecar_exchanges_open 0\n');
    expect(flushes).toBeGreaterThan(0);
  });
});
