import { afterEach, describe, expect, it } from 'vitest';
import { answeringAll, finish, type Peer, send, takeHead } from '../../../support/wire/peer.ts';
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

/** What the client gets for one request when the upstream sends `answer` and closes behind it. */
async function received(answer: string, request = GET): Promise<string> {
  await start({ upstream: [takeHead, finish(answer)] });
  const client = stand.client(request);
  await stand.endings(1);
  client.socket.end();
  await client.ended();
  return client.received;
}

describe('a response', () => {
  // Guard: writeHead with rawHeaders; http-proxy merges duplicates and lowers letter case.
  it('reaches the client byte for byte, and nothing is added', async () => {
    const answer =
      'HTTP/1.1 299 Quite \xe9 Fine\r\nsEt-Cookie: a=1\r\nX-Twice: 1\r\nSet-Cookie: b=2\r\nx-twice: 2\r\nLast-Modified: never\r\nlast-modified: ever\r\nContent-Length: 2\r\nX-Latin: \xfc\r\n\r\nok';
    expect(await received(answer)).toBe(answer);
  });

  // Guard: Trailer removed where Node would throw.
  it('may announce trailers that cannot come', async () => {
    expect(await received('HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 2\r\n\r\nok')).toBe(
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
  });

  it('keeps Connection, Keep-Alive and Upgrade', async () => {
    const answer =
      'HTTP/1.1 200 OK\r\nConnection: keep-alive, Upgrade\r\nKeep-Alive: timeout=20\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok';
    expect(await received(answer)).toBe(answer);
  });

  // Guard: Content-Length behind Content-Disposition; Node would re-encode the name's bytes.
  it('keeps the bytes of Content-Disposition', async () => {
    const answer =
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Disposition: attachment; filename="\xc3\xa9"\r\n\r\nok';
    expect(await received(answer)).toContain('\r\nContent-Disposition: attachment; filename="\xc3\xa9"\r\n');
  });

  it('of an unknown coding ends with the connection', async () => {
    expect(await received('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzipped')).toBe(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nConnection: close\r\n\r\nzipped',
    );
  });

  it('in chunks goes to a client of HTTP/1.0 without them', async () => {
    expect(
      await received(
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2\r\nok\r\n0\r\nT: 1\r\n\r\n',
        'GET /x HTTP/1.0\r\nConnection: keep-alive\r\n\r\n',
      ),
    ).toBe('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok');
  });

  it('of known length keeps the connection of an HTTP/1.0 client that asks for it', async () => {
    const get = 'GET /x HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n';
    await start({ upstream: answeringAll('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok') });
    const client = stand.client(get);
    expect(await client.take('ok')).toMatch(/\r\nConnection: keep-alive\r\n/);
    client.send(get);
    await client.take('ok');
  });

  // Guard: flushHeaders; Node keeps a head back for the first chunk.
  // Guard: Node's server destroys a connection behind its last response; bytes that nobody has read turn that into a reset.
  it.each([
    ['says that it is the last one', 'Content-Length: 2\r\nConnection: close', ''],
    ['is ended by the end of its connection', 'X: y', ''],
    ['was asked for as the last one', 'Content-Length: 2', 'Connection: close\r\n'],
  ])('that %s may come early: a client that is still sending is not reset', async (_, framing, field) => {
    await start({ upstream: [takeHead, finish(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\nok`)] });
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
  it('may come early: the rest of its request is still passed on, and the next one goes over a new connection', async () => {
    const body = 'x'.repeat(8_000_000);
    let read = 0;
    let goOn: () => void = () => undefined;
    const isAnswered = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await start({
      upstream: async (upstream) => {
        const isNext = (await upstream.head()).startsWith('GET');
        if (isNext) {
          upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
          return;
        }
        // Nothing more is read until the client has its answer: by then the request has to wait.
        upstream.socket.pause();
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        await isAnswered;
        upstream.socket.resume();
        read = (await upstream.take(body)).length;
      },
    });
    const client = stand.client(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}${GET}`);
    await client.take('\r\n\r\nok');
    goOn();
    expect(await client.head()).toContain('204 No Content');
    await expect.poll(() => read).toBe(body.length);
    await stand.upstreams[0]?.ended();
    expect(stand.upstreams).toHaveLength(2);
  });

  it('has its head passed on before its body begins', async () => {
    await start({ upstream: [takeHead, send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')] });
    expect(await stand.client(GET).head()).toContain('200 OK');
  });

  // Guard: maxHeaderSize on both sides; Node's own limit is 16 KiB.
  it('may have a head of up to headBytes, like its request', async () => {
    const field = `X: ${'x'.repeat(40_000)}\r\n`;
    await start({
      upstream: async (upstream) => {
        expect(await upstream.head()).toContain(field);
        upstream.send(`HTTP/1.1 200 OK\r\n${field}Content-Length: 0\r\n\r\n`);
      },
      gateway: { headBytes: 65_536 },
    });
    const client = stand.client(`GET / HTTP/1.1\r\nHost: a\r\n${field}\r\n`);
    expect(await client.head()).toContain(field);
  });

  it('passes interim responses on with their fields, and counts the final status', async () => {
    const interim =
      'HTTP/1.1 102 Processing\r\nX-Step: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>; odd="\xe9, x"\r\nX: y\r\n\r\n';
    const final = 'HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nok';
    expect(await received(interim + final)).toBe(interim + final);
    expect(stand.ended[0]?.exchange.status).toBe(404);
  });

  it('passes no interim response to a client of HTTP/1.0', async () => {
    const answer = 'HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
    expect(await received(answer, 'GET /x HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe('an upstream that breaks off', () => {
  async function broken(answer: string, by: (upstream: Peer) => void, request = GET): Promise<Peer> {
    await start({
      upstream: async (upstream) => {
        await upstream.head();
        upstream.send(answer);
        await upstream.take('GO');
        by(upstream);
      },
    });
    // The sign to break off comes on the upstream's own connection, so that it follows the client's having read the part.
    const client = stand.client(request);
    await client.take('part');
    stand.upstreams[0]?.socket.emit('data', Buffer.from('GO'));
    await stand.endings(1);
    expect(stand.ended[0]?.ending).toMatchObject({ kind: 'failed', failure: { code: 'D2S_ERR_UPSTREAM_INCOMPLETE' } });
    await client.ended();
    return client;
  }

  // Guard: breakOff; http-proxy leaves the client hanging.
  it.each(['FIN', 'RST'])('in a chunked response (%s) leaves it without its end', async (how) => {
    const client = await broken('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n', (upstream) =>
      how === 'FIN' ? upstream.finish() : upstream.reset(),
    );
    expect(client.received).toBe('\r\n');
  });

  // Guard: resetAndDestroy; an orderly end would make it look complete.
  it('in a response without framing has the client’s connection reset', async () => {
    const client = await broken('HTTP/1.1 200 OK\r\n\r\npart', (upstream) => upstream.reset());
    expect(client.wasReset).toBe(true);
  });

  it('in a chunked response has the connection of an HTTP/1.0 client reset', async () => {
    const client = await broken(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n',
      (upstream) => upstream.finish(),
      'GET / HTTP/1.0\r\n\r\n',
    );
    expect(client.wasReset).toBe(true);
  });
});

describe('an upstream that gives no answer', () => {
  it('causes a 502 also while the client is sending; the rest of its request is dropped', async () => {
    await start({ upstream: () => undefined });
    await stand.stopListening();
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    await client.take('"}');
    client.send('67890GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await client.head()).toMatch(/^HTTP\/1\.1 502/);
    await stand.endings(2);
  });

  it('is answered without a body for HEAD', async () => {
    await start({ upstream: finish() });
    expect(await stand.client(GET.replace('GET', 'HEAD')).head()).toMatch(/^HTTP\/1\.1 502/);
    expect((await stand.endings(1))[0]?.exchange.status).toBe(0);
  });
});
