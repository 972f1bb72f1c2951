import { afterEach, describe, expect, it } from 'vitest';
import { finish, type Peer, send, take, takeHead, untilEnded } from '../../../support/wire/peer.ts';
import { Stand, type StandOptions } from './stand.ts';

let stand: Stand;

async function start(options: StandOptions): Promise<Stand> {
  stand = await Stand.start(options);
  return stand;
}

afterEach(async () => {
  await stand.close();
});

const GET = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

async function upstreamCame(text = '\r\n\r\n'): Promise<Peer> {
  while (stand.upstreams.at(-1)?.received.includes(text) !== true)
    await new Promise((resolve) => setImmediate(resolve));
  return stand.upstreams.at(-1)!;
}

describe('a client that leaves', () => {
  // Guards: cancel() and the agent's destroy() on the socket's close; http-proxy keeps the upstream request on Node 15.5 and later (#1586).
  it.each([
    ['before the answer', ''],
    ['in the middle of it', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'],
  ])('%s ends the upstream’s side and its exchange', async (_, answer) => {
    await start({ upstream: (upstream) => upstream.send(answer) });
    const client = stand.client(GET);
    if (answer !== '') await client.take('ok');
    const upstream = await upstreamCame();
    client.reset();
    await upstream.ended();
    await stand.endings(1);
    expect(stand.ended[0]?.ending.kind).toBe('cancelled');
    await stand.allClosed();
  });

  it('in the middle of its request ends the upstream’s side and its exchange', async () => {
    await start({ upstream: () => undefined });
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    const upstream = await upstreamCame('12345');
    client.finish();
    await upstream.ended();
    await stand.endings(1);
    expect(stand.ended[0]?.ending.kind).toBe('cancelled');
  });

  it('with requests waiting ends them all', async () => {
    await start({ upstream: () => undefined });
    const client = stand.client(GET.repeat(5));
    await upstreamCame();
    client.reset();
    await stand.endings(5);
    expect(stand.ended.map(({ ending }) => ending.kind)).toEqual(Array(5).fill('cancelled'));
  });
});

describe('a client that only ends its sending side', () => {
  it('still gets its answer, and the upstream sees that end', async () => {
    await start({ upstream: [takeHead, untilEnded, finish(OK)] });
    const client = stand.client();
    client.finish(GET);
    await client.closed();
    expect(client.received).toBe('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok');
    expect(stand.ended[0]?.ending.kind).toBe('completed');
  });

  it('is closed after halfClosedTimeoutMs', async () => {
    await start({ upstream: () => undefined, gateway: { halfClosedTimeoutMs: 30 } });
    const client = stand.client();
    client.finish(GET);
    await client.closed();
    await stand.endings(1);
    expect(stand.ended[0]?.ending.kind).toBe('cancelled');
  });
});

describe('draining', () => {
  it('ends a connection after an answer with Connection: close, and no idle connection', async () => {
    await start({
      upstream: async (upstream) => {
        for (;;) {
          const head = await upstream.head();
          if (head.includes('/slow')) await stand.endings(2);
          upstream.send(OK.replace('Content', 'Connection: keep-alive, X-Hop\r\nKeep-Alive: timeout=9\r\nContent'));
        }
      },
    });
    const fresh = stand.client();
    const idle = stand.client(GET);
    await idle.take('ok');
    const busy = stand.client(GET.replace('/x', '/slow'));
    await upstreamCame('').then(async () => {
      while (stand.reporter.open === 0) await new Promise((resolve) => setImmediate(resolve));
    });
    stand.gateway.drain();
    const late = stand.client(GET);
    expect(await late.head()).toContain('\r\nConnection: close, x-hop\r\n');
    expect(await busy.head()).toBe('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, x-hop\r\n\r\n');
    await busy.ended();
    expect(busy.received).toBe('ok');
    // They had time to be closed, and are served and told instead.
    for (const client of [fresh, idle]) {
      client.send(GET);
      expect(await client.head()).toContain('\r\nConnection: close, x-hop\r\n');
      await client.ended();
    }
  });

  it('keeps a connection whose answer began before the drain, without Connection: close', async () => {
    await start({
      upstream: [
        takeHead,
        send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok'),
        take('GO'),
        send('ok'),
        takeHead,
        send(OK),
      ],
    });
    const client = stand.client(GET);
    await client.take('ok');
    stand.gateway.drain();
    stand.upstreams[0]?.socket.emit('data', Buffer.from('GO'));
    await client.take('ok');
    client.send(GET);
    expect(await client.head()).toContain('\r\nConnection: close\r\n');
    await client.ended();
    expect(client.received).toBe('ok');
  });

  it('serves no request after an answer with Connection: close', async () => {
    await start({
      upstream: [takeHead, send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok'), take('GO'), send('ok')],
    });
    stand.gateway.drain();
    const client = stand.client(GET);
    await client.take('ok');
    client.send(GET);
    while (stand.reporter.open < 2) await new Promise((resolve) => setImmediate(resolve));
    stand.upstreams[0]?.socket.emit('data', Buffer.from('GO'));
    await client.take('ok');
    await client.ended();
    expect(client.received).toBe('');
    expect(stand.upstreams[0]?.received).toBe('');
  });
});

describe('destroying', () => {
  it('ends every connection and exchange at once, and takes no more', async () => {
    await start({ upstream: () => undefined });
    const clients = [stand.client(), stand.client(GET)];
    const upstream = await upstreamCame();
    stand.gateway.destroy();
    await Promise.all(clients.map((client) => client.ended()));
    await upstream.ended();
    await stand.allClosed();
    expect(stand.reporter.open).toBe(0);
    const late = stand.client(GET);
    await late.ended();
    expect(late.received).toBe('');
  });
});
