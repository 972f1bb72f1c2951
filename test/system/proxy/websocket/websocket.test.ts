import { describe, expect, it } from 'vitest';
import { type Peer, send, take, takeHead } from '../../../support/wire/peer.ts';
import { GET, OK, type StandOptions, SWITCHING, UPGRADE, useStand } from '../stand.ts';

const stand = useStand();

describe('an accepted WebSocket', () => {
  it('has its 101 passed on as it came, ends its exchange with it, and is counted until it closes', async () => {
    const answer = SWITCHING.replace('Connection', 'Set-Cookie: a=1\r\nSet-Cookie: b=\xe9\r\nConnection');
    await stand.start({ upstream: [takeHead, send(answer)] });
    const client = stand.client(UPGRADE);
    expect(await client.head()).toBe(answer);
    expect(await stand.endings(1)).toEqual(['completed']);
    expect([stand.ended[0]?.exchange.status, stand.webSockets.open]).toEqual([101, 1]);
    client.reset();
    await stand.upstreams[0]?.ended();
    await stand.allClosed();
    expect([stand.ended.length, stand.webSockets.open]).toEqual([1, 0]);
  });

  it('outlives the limits for heads and idle connections', async () => {
    await stand.start({
      upstream: [takeHead, send(OK), takeHead, send(SWITCHING), take('still here'), send('so am I')],
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
    expect(stand.sidecar.reporter.open).toBe(0);
  });
});

const echo = async (upstream: Peer) => {
  const head = await upstream.head();
  upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${head.length}\r\n\r\n${head}`);
};

it.each([
  ['a list', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c, websocket\r\n\r\n'],
  ['a body', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nab'],
  ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
])('any other upgrade is removed from the request, like one to WebSocket in %s', async (_, request) => {
  await stand.start({ upstream: echo });
  const client = stand.client(request);
  await client.head();
  expect(await client.take('\r\n\r\n')).not.toMatch(/upgrade|websocket/i);
});

/** The head that reaches the upstream for a handshake with these fields. */
async function forwarded(fields: readonly string[], options: StandOptions = {}): Promise<string> {
  let head = '';
  await stand.start({
    ...options,
    upstream: async (upstream) => {
      head = await upstream.head();
      upstream.send(SWITCHING);
    },
  });
  await stand.client(withFields(fields)).head();
  return head;
}

const withFields = (fields: readonly string[]) =>
  UPGRADE.replace('/ws', '//live?a=1')
    .replace('Connection: ', 'Connection: a, ')
    .replace(/\r\n$/, `${fields.map((f) => `${f}\r\n`).join('')}\r\n`);

const SPOOFED = ['X-Forwarded-Proto: https', 'X-Forwarded-For: 9.9.9.9'];

// Exact bytes: data-path cases do not compare all of them for a WebSocket.
describe('the head of a handshake', () => {
  it.each<[string, string[]] | [string, string[], string[]]>([
    [
      'byte for byte, with duplicates, letter case and order; lines of one name have its first form',
      ['hOsT-x: b', 'X-One: 1', 'x-two: 2', 'X-Two: 3', 'Set-Cookie: a', 'X: \xe9', 'Age: 1', 'age: 2'],
      ['hOsT-x: b', 'X-One: 1', 'x-two: 2', 'x-two: 3', 'Set-Cookie: a', 'X: \xe9', 'Age: 1', 'Age: 2'],
    ],
    ['with Keep-Alive, TE and an unknown expectation', ['Keep-Alive: 300', 'TE: trailers', 'Expect: wonders']],
    ['with a length of zero', ['Content-Length: 0']],
    ['without a Trailer, which needs chunks', ['Trailer: X'], []],
  ])('reaches the upstream %s', async (_how, sent, expected = sent) => {
    expect(await forwarded(sent)).toBe(withFields(expected));
  });

  it('gets the forwarding fields after those of the client, or in their place', async () => {
    const own = ['X-Forwarded-For: 127.0.0.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Host: a'];
    const appended = [
      'X-Forwarded-Proto: https',
      'X-Forwarded-For: 9.9.9.9',
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Host: a',
    ];
    expect(await forwarded(SPOOFED, { forwarded: 'append' })).toBe(withFields(appended));
    await stand.close();
    expect(await forwarded(SPOOFED, { forwarded: 'replace' })).toBe(withFields(own));
  });
});
