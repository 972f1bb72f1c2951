import { afterEach, describe, expect, it } from 'vitest';
import { answeringAll } from '../../../support/wire/peer.ts';
import { Stand, type StandOptions } from './stand.ts';

let stand: Stand;

async function start(options: Partial<StandOptions> = {}): Promise<Stand> {
  stand = await Stand.start({
    upstream: answeringAll('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
    ...options,
  });
  return stand;
}

afterEach(async () => {
  await stand.close();
});

/** The one answer on a connection that the gateway closes behind it. */
async function lastAnswer(text: string): Promise<string> {
  const client = stand.client(text);
  await client.ended();
  const at = client.received.search(/HTTP\/1\.1 \d/);
  expect(client.received.slice(at)).toMatch(/\r\nConnection: close\r\n/);
  return client.received.slice(at);
}

describe('a request that Node’s parser or RFC 9112 does not allow', () => {
  it.each([
    ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a field without colon', 'GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n'],
    ['a blank before the colon', 'GET / HTTP/1.1\r\nHost : a\r\n\r\n'],
    ['a bare CR', 'GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n'],
    ['a NUL', 'GET / HTTP/1.1\r\nHost: a\0\r\n\r\n'],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx'],
    ['a coding that is not chunked', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\nx'],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
    ['chunks in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a fragment in its target', 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a method of RTSP alone', 'ANNOUNCE /a RTSP/1.0\r\nHost: a\r\n\r\n'],
    [
      'chunks, and an empty coding in a line of its own',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n',
    ],
    ['an empty member before chunks', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n0\r\n\r\n'],
    [
      'chunks by a coding with a no-break space',
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\xa0\r\n\r\n0\r\n\r\n',
    ],
    [
      'a length that not every server can count',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n',
    ],
    ['a coding that is no token', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "x", chunked\r\n\r\n0\r\n\r\n'],
    ['a tab in its target', 'GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('is answered with 400 (%s), and nothing comes to the upstream', async (_, text) => {
    await start();
    expect(await lastAnswer(text)).toMatch(
      /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/problem\+json\r\n/,
    );
    expect([stand.upstreams.length, stand.ended.length]).toEqual([0, 0]);
  });

  it.each(['0.9', '2.0'])('is answered with 505 (HTTP/%s)', async (version) => {
    await start();
    expect(await lastAnswer(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`)).toMatch(/^HTTP\/1\.1 505 /);
    expect(stand.upstreams).toHaveLength(0);
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

  // Guard: the event 'listening' sent to the server that never listens; Node watches over heads only from there on.
  it('is answered with 408 when its head does not come to an end', async () => {
    await start({ gateway: { headTimeoutMs: 40 } });
    expect(await lastAnswer('GET / HTTP/1.1\r\nHost: a\r\n')).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('is closed without an answer when no byte of it has come', async () => {
    await start({ gateway: { headTimeoutMs: 40 } });
    const client = stand.client();
    await client.ended();
    expect(client.received).toBe('');
  });

  it('is answered in its turn', async () => {
    await start();
    const client = stand.client('GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n');
    await client.take('ok');
    expect(await client.head()).toMatch(/^HTTP\/1\.1 400/);
    await client.ended();
  });

  it('has no body in its answer to HEAD', async () => {
    await start();
    expect(await lastAnswer('HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n')).toMatch(/\r\n\r\n$/);
  });

  it('by its chunks ends as cancelled, and the upstream is not left with half of it', async () => {
    await start({ upstream: () => undefined });
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    while (stand.upstreams[0]?.received.includes('abc') !== true) await new Promise((resolve) => setImmediate(resolve));
    client.send('nonsense\r\n');
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
    await stand.upstreams[0].ended();
    expect(stand.upstreams[0].received).not.toContain('0\r\n\r\n');
    expect(stand.ended[0]?.ending.kind).toBe('cancelled');
  });

  it('by its chunks in the middle of the answer ends the connection, with nothing added to the answer', async () => {
    await start({ upstream: (upstream) => upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart') });
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    await client.take('part');
    client.send('nonsense\r\n');
    await client.ended();
    expect(client.received).toBe('');
  });
});

describe('CONNECT', () => {
  it('is answered with 501 and opens nothing', async () => {
    await start();
    const answer = await lastAnswer('CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\ntunnelled');
    expect(answer).toMatch(/^HTTP\/1\.1 501 Not Implemented\r\n/);
    expect(stand.upstreams).toHaveLength(0);
  });
});

it.each(['Connection: keep-alive', 'Upgrade: websocket', 'connection: close'])(
  'a trailer that belongs in a head does not come to the upstream: %s',
  async (trailer) => {
    let received = '';
    await start({
      upstream: (upstream) => {
        upstream.socket.on('data', (bytes: Buffer) => {
          received += bytes.toString('latin1');
        });
      },
    });
    const client = stand.client('POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n');
    await expect.poll(() => received).toContain('ok\r\n');
    client.send(`0\r\n${trailer}\r\n\r\n`);
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toMatch(/\r\n\r\n2\r\nok\r\n$/);
    expect((await stand.endings(1))[0]?.ending.kind).toBe('cancelled');
  },
);
