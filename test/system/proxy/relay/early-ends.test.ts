import { describe, expect, it } from 'vitest';
import { answeringAll, finish, takeHead } from '../../../support/wire/peer.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { GET, OK, type StandOptions, useStand } from '../stand.ts';

const stand = useStand();

describe('an answer', () => {
  // Guard: the lingering close; bytes that nobody has read would turn the end into a reset.
  it.each([
    ['says that it is the last one', 'Content-Length: 2\r\nConnection: close', ''],
    ['is ended by the end of its connection', 'X: y', ''],
    ['was asked for as the last one', 'Content-Length: 2', 'Connection: close\r\n'],
  ])('that %s may come early: a client that is still sending is not reset', async (_, framing, field) => {
    await stand.start({ upstream: [takeHead, finish(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\nok`)] });
    const client = stand.client(`POST / HTTP/1.1\r\nHost: a\r\n${field}Content-Length: 8000000\r\n\r\n`);
    client.send('x'.repeat(2_000_000));
    await client.ended();
    client.send('x'.repeat(6_000_000));
    client.finish();
    await client.closed();
    expect(client.received).toMatch(/\r\n\r\nok$/);
    expect(client.wasReset).toBe(false);
  });

  it('may come early: the rest of its request is still passed on, and the next one goes over a new connection', async () => {
    const body = 'x'.repeat(8_000_000);
    await stand.start({
      upstream: async (upstream) => {
        if ((await upstream.head()).startsWith('GET')) {
          upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
          return;
        }
        // Nothing more is read until the client has its answer: by then the request has to wait.
        upstream.socket.pause();
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      },
    });
    const client = stand.client(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}${GET}`);
    await client.take('\r\n\r\nok');
    const [upstream] = stand.upstreams;
    upstream?.socket.resume();
    expect(await client.head()).toContain('204 No Content');
    expect((await upstream?.take(body))?.length).toBe(body.length);
    await upstream?.ended();
    expect(stand.upstreams).toHaveLength(2);
  });
});

const LAST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

it.each([
  ['is closed with its answer', LAST, 2, 0],
  ['waits for the end of a client that has sent more', `${LAST}${GET}`, 2, 1],
  ['waits for the end of a client that did not ask for it', GET, 2, 1],
  ['waits for the end of a client that may not have read a long answer', LAST, 100_000, 1],
])('a connection whose request was the last %s', async (_, requests, bytes, openConnections) => {
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\nConnection: close\r\n\r\n`;
  await stand.start({ upstream: [takeHead, finish(`${head}${'ok'.repeat(bytes / 2)}`)] });
  const client = stand.client(requests);
  await client.ended();
  await turns(3);
  expect(stand.sidecar.dispatcher.openConnections).toBe(openConnections);
  client.finish();
  await client.closed();
  expect([client.received.split('\r\n\r\n')[1]?.length, client.wasReset]).toEqual([bytes, false]);
});

it('destroying ends every connection and exchange at once', async () => {
  await stand.start();
  const clients = [stand.client(), stand.client(GET)];
  const upstream = await stand.asked();
  stand.sidecar.dispatcher.destroy();
  await Promise.all([...clients, upstream].map((peer) => peer.ended()));
  await stand.allClosed();
  expect(stand.sidecar.reporter.open).toBe(0);
});

const start = (options: StandOptions = {}) => stand.start({ upstream: answeringAll(OK), ...options });
const POST_IN_CHUNKS = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n';

/** The one answer on a connection that the sidecar closes after it. */
async function lastAnswer(text: string): Promise<string> {
  const client = stand.client(text);
  await client.ended();
  const at = client.received.search(/HTTP\/1\.1 \d/);
  expect(client.received.slice(at)).toMatch(/\r\nConnection: close\r\n/);
  return client.received.slice(at);
}

// test/unit/protocol/http1/request-head.test.ts, the data-path cases and the smuggling corpus have many more.
describe('a request that RFC 9112 does not allow', () => {
  it.each([
    ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', '400 Bad Request'],
    ['more empty lines than any client sends', '\r\n'.repeat(40), '400 Bad Request'],
    ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', '505 HTTP Version Not Supported'],
    ['CONNECT', 'CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\ntunnelled', '501 Not Implemented'],
  ])('is refused (%s), and nothing comes to the upstream', async (_, text, status) => {
    await start();
    const answer = await lastAnswer(text);
    expect(answer.startsWith(`HTTP/1.1 ${status}\r\nContent-Type: application/problem+json\r\n`)).toBe(true);
    expect([stand.upstreams.length, stand.ended.length]).toEqual([0, 0]);
    expect([...stand.sidecar.reporter.refused.values()].reduce((sum, count) => sum + count, 0)).toBe(1);
  });

  it.each([
    ['extensions of a chunk', `1;${'a'.repeat(17_000)}\r\n`],
    ['trailers', `0\r\n${'X: 1\r\n'.repeat(4_000)}`],
  ])('is answered with 413 when the %s are too large', async (_what, rest) => {
    await start({ upstream: [] });
    expect(await lastAnswer(POST_IN_CHUNKS + rest)).toMatch(/^HTTP\/1\.1 413 /);
  });

  // Guard: the lingering close; bytes that nobody reads would turn the end into a reset, which may overtake the answer.
  it('is answered with 431 when its head is too large, though much more of it is on its way', async () => {
    await start();
    const client = stand.client(`GET / HTTP/1.1\r\nHost: a\r\n${`X: ${'x'.repeat(1_000)}\r\n`.repeat(4_000)}`);
    expect(await client.head()).toMatch(/^HTTP\/1\.1 431 /);
    await client.ended();
    client.finish();
    await client.closed();
    expect(client.wasReset).toBe(false);
  });

  it('has no body in its answer to HEAD', async () => {
    await start();
    expect(await lastAnswer('HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')).toMatch(/\r\n\r\n$/);
  });

  it.each([
    ['chunks', 'nonsense\r\n'],
    // It belongs in a head.
    ['trailer Connection: keep-alive', '0\r\nConnection: keep-alive\r\n\r\n'],
  ])('by its %s ends as cancelled, and the upstream is not left with half of it', async (_, bad) => {
    await start({ upstream: [] });
    const client = stand.client(POST_IN_CHUNKS);
    const upstream = await stand.asked('abc\r\n');
    client.send(bad);
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
    await upstream.ended();
    expect(upstream.received).toMatch(/\r\n\r\n3\r\nabc\r\n$/);
    expect(await stand.endings(1)).toEqual(['cancelled']);
  });
});
