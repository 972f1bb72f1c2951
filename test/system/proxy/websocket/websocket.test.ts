import { describe, expect, it } from 'vitest';
import { type Peer, send, takeHead } from '../../../support/wire/peer.ts';
import { GET, OK, SWITCHING, UPGRADE, useStand } from '../stand.ts';

const stand = useStand();

describe('an accepted WebSocket', () => {
  it('has its request and its 101 passed on as they came, ends its exchange with it, and is counted until it closes', async () => {
    const asked = UPGRADE.replace('/ws', '//live?a=1').replace('Connection: ', 'X-T: 1\r\nX-T: 2\r\nConnection: a, ');
    const answer = SWITCHING.replace('Connection', 'Set-Cookie: a=1\r\nSet-Cookie: b=\xe9\r\nConnection');
    let head = '';
    await stand.start({
      upstream: async (upstream) => {
        head = await upstream.head();
        upstream.send(answer);
      },
    });
    const client = stand.client(asked);
    expect(await client.head()).toBe(answer);
    expect(head).toBe(asked);
    expect(await stand.endings(1)).toEqual(['completed']);
    expect([stand.ended[0]?.exchange.status, stand.webSockets.open]).toEqual([101, 1]);
    client.reset();
    await stand.upstreams[0]?.ended();
    await stand.allClosed();
    expect([stand.ended.length, stand.webSockets.open]).toEqual([1, 0]);
  });

  it('outlives the limits for heads and idle connections', async () => {
    await stand.start({
      upstream: async (upstream) => {
        await upstream.head();
        upstream.send(OK);
        await upstream.head();
        upstream.send(SWITCHING);
        await upstream.take('still here');
        upstream.send('so am I');
      },
      timeouts: { headMs: 40, idleMs: 150 },
    });
    const client = stand.client(GET);
    await client.take('ok');
    client.send(UPGRADE);
    await client.head();
    await new Promise((resolve) => setTimeout(resolve, 400));
    client.send('still here');
    await client.take('so am I');
  });
});

describe('a refused WebSocket', () => {
  // Guard: removeAllListeners('response'); http-proxy writes the chunks' content behind `Transfer-Encoding: chunked` (PR #1439).
  it.each([
    [
      426,
      'in chunks',
      'Transfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b',
      '3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n',
    ],
    [401, 'with a length', 'WWW-Authenticate: Basic\r\nContent-Length: 3', 'no!'],
  ])('with %i reaches its client %s, and their connection ends', async (status, _how, fields, body) => {
    const answer = (more: string) => `HTTP/1.1 ${status} No\r\n${fields}\r\n${more}\r\n${body}`;
    await stand.start({ upstream: [takeHead, send(answer('Connection: keep-alive\r\n'))] });
    const client = stand.client(UPGRADE);
    await client.ended();
    expect(client.received).toBe(answer('Connection: close\r\n'));
    expect(await stand.endings(1)).toEqual(['completed']);
    expect([stand.ended[0]?.exchange.status, stand.webSockets.open]).toEqual([status, 0]);
    expect(stand.reporter.open).toBe(0);
  });

  // Guard: our answer instead of http-proxy's, which writes to a destroyed socket (PR #1439).
  it('is dropped when its client has left', async () => {
    await stand.start();
    const client = stand.client(UPGRADE);
    const upstream = await stand.asked();
    client.reset();
    expect(await stand.endings(1)).toEqual(['cancelled']);
    upstream.send('HTTP/1.1 401 No\r\nContent-Length: 3\r\n\r\nno!');
    await upstream.ended();
  });
});

describe('any other upgrade', () => {
  async function echo(upstream: Peer): Promise<void> {
    for (;;) {
      const head = await upstream.head();
      const length = Number(/Content-Length: (\d+)/.exec(head)?.[1] ?? 0);
      const body = length > 0 ? await upstream.take(new RegExp(`.{${length}}`, 's')) : '';
      const answer = head + body;
      upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`);
    }
  }

  const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAA\r\n';
  const post = (fields: string) => `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n${fields}\r\nhello`;

  it('may come with a body in pieces, and with each request of a connection', async () => {
    await stand.start({ upstream: echo });
    const client = stand.client();
    for (let i = 0; i < 3; i += 1) {
      client.send(post(H2C).slice(0, -3));
      await stand.asked(/he$/);
      client.send('llo');
      await client.take('\r\n\r\nhello');
    }
    expect(stand.upstreams).toHaveLength(1);
  });

  it.each([
    ['a list', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c, websocket\r\n\r\n'],
    ['a POST', 'POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a body', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nab'],
    ['a request without Connection', 'GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n'],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ])('is removed from the request, like one to WebSocket in %s', async (_, request) => {
    await stand.start({ upstream: echo });
    const client = stand.client(request);
    await client.head();
    expect(await client.take('\r\n\r\n')).not.toMatch(/upgrade|websocket/i);
  });
});
