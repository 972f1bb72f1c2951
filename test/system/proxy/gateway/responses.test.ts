import { describe, expect, it } from 'vitest';
import { finish, send, takeHead } from '../../../support/wire/peer.ts';
import { GET, useStand } from './stand.ts';

const stand = useStand();

const response = (body: string, ...fields: readonly string[]) =>
  `HTTP/1.1 299 Quite \xe9 Fine\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n${body}`;
const LENGTH = 'Content-Length: 2';
const CHUNKED = 'Transfer-Encoding: chunked';
const INTERIM =
  'HTTP/1.1 102 Processing\r\nX-Step: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>; odd="\xe9, x"\r\nX: y\r\n\r\n';
const OLD = 'GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n';

// Data-path cases cover every framing and status. These have exact bytes, hop-by-hop fields included: received as sent, and
// asked for by HTTP/1.1, unless they say otherwise.
const PASSED: Readonly<Record<string, { sent: string; received?: string; request?: string }>> = {
  // Guard: writeHead with rawHeaders; http-proxy merges duplicates and lowers letter case.
  'reaches the client byte for byte, and nothing is added': {
    sent: response(
      'ok',
      ...['sEt-Cookie: a=1', 'X-Twice: 1', 'Set-Cookie: b=2', 'x-twice: 2', 'Last-Modified: never'],
      ...['last-modified: ever', LENGTH, 'X-Latin: \xfc'],
    ),
  },
  // Guard: Trailer removed where Node would throw.
  'may announce trailers that cannot come': {
    ...{ sent: response('ok', 'Trailer: X', LENGTH), received: response('ok', LENGTH) },
  },
  'keeps Connection, Keep-Alive and Upgrade': {
    sent: response('ok', 'Connection: keep-alive, Upgrade', 'Keep-Alive: timeout=20', 'Upgrade: h2c', LENGTH),
  },
  // Guard: Content-Length behind Content-Disposition; Node would re-encode the name's bytes.
  'keeps the bytes of Content-Disposition': {
    sent: response('ok', LENGTH, 'Content-Disposition: attachment; filename="\xc3\xa9"'),
    received: response('ok', 'Content-Disposition: attachment; filename="\xc3\xa9"', LENGTH),
  },
  'of an unknown coding ends with the connection': {
    sent: response('zipped', 'Transfer-Encoding: gzip'),
    received: response('zipped', 'Transfer-Encoding: gzip', 'Connection: close'),
  },
  'in chunks goes to a client of HTTP/1.0 without them': {
    ...{ sent: response('2\r\nok\r\n0\r\nT: 1\r\n\r\n', CHUNKED, 'Trailer: T'), request: OLD },
    received: response('ok', 'Connection: close'),
  },
  'of known length keeps the connection of an HTTP/1.0 client that asks for it': {
    ...{ sent: response('ok', LENGTH), request: OLD },
    received: response('ok', LENGTH, 'Connection: keep-alive', 'Keep-Alive: timeout=60'),
  },
  'is passed on after its interim responses, whose fields stay': { sent: INTERIM + response('ok', LENGTH) },
  'is passed to a client of HTTP/1.0 without its interim responses': {
    ...{ sent: INTERIM + response('ok', LENGTH), request: 'GET /x HTTP/1.0\r\n\r\n' },
    received: response('ok', LENGTH, 'Connection: close'),
  },
};

describe('a response', () => {
  it.each(Object.entries(PASSED))('%s', async (_what, { sent, received = sent, request = GET }) => {
    await stand.start({ upstream: [takeHead, finish(sent)] });
    const client = stand.client(request);
    await stand.endings(1);
    client.socket.end();
    await client.ended();
    expect(client.received).toBe(received);
    expect(stand.ended[0]?.exchange.status).toBe(299);
  });

  // Guard: Node's server destroys a connection behind its last response; bytes that nobody has read turn that into a reset.
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

  // Guard: Node's client lets go of its socket's 'drain' with the response, though the request may still wait for it.
  it.each([
    ['still passed on', false],
    ['dropped when the upstream closes', true],
  ])(
    'may come early: the rest of its request is %s, and the next one goes over a new connection',
    async (_, closes) => {
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
      if (closes) upstream?.socket.destroy();
      else upstream?.socket.resume();
      expect(await client.head()).toContain('204 No Content');
      if (closes) return;
      expect((await upstream?.take(body))?.length).toBe(body.length);
      await upstream?.ended();
      expect(stand.upstreams).toHaveLength(2);
    },
  );
});

// Guard: resetAndDestroy; an orderly end would make the answer look complete.
it('a chunked response that breaks off has the connection of an HTTP/1.0 client reset', async () => {
  const answer = response('4\r\npart\r\n', CHUNKED);
  await stand.start({ upstream: [takeHead, send(answer)] });
  const client = stand.client('GET / HTTP/1.0\r\n\r\n');
  await client.take('part');
  stand.upstreams[0]?.finish();
  await client.ended();
  expect(client.wasReset).toBe(true);
});

describe('an upstream that gives no answer', () => {
  it('causes a 502 also while the client is sending; the rest of its request is dropped', async () => {
    await stand.start({ upstreamPort: 1 });
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    await client.take('"}');
    client.send(`67890${GET}`);
    expect(await client.head()).toMatch(/^HTTP\/1\.1 502/);
    await stand.endings(2);
  });

  it('is answered without a body for HEAD', async () => {
    await stand.start({ upstream: finish() });
    expect(await stand.client(GET.replace('GET', 'HEAD')).head()).toMatch(/^HTTP\/1\.1 502/);
    await stand.endings(1);
    expect(stand.ended[0]?.exchange.status).toBe(0);
  });
});
