import { afterEach, describe, expect, it } from 'vitest';
import { answeringAll, send, take } from '../../../support/wire/peer.ts';
import { Stand, type StandOptions } from './stand.ts';

let stand: Stand;

async function start(options: StandOptions): Promise<Stand> {
  stand = await Stand.start(options);
  return stand;
}

afterEach(async () => {
  await stand.close();
});

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** Answers each request without a body the same. */
const answerAll = answeringAll(OK);

/** The head that came to the upstream for what the client sent. */
async function forwarded(text: string, options: Partial<StandOptions> = {}): Promise<string> {
  const heads: string[] = [];
  await start({
    ...options,
    upstream: async (upstream) => {
      heads.push(await upstream.head());
      upstream.send(OK);
    },
  });
  const client = stand.client(text);
  await client.take('ok');
  return heads[0]!;
}

describe('a request’s head', () => {
  // Guards: rawHeaders for http-proxy's merged fields, removeHeader for those that Node adds.
  it('reaches the upstream byte for byte, duplicates, letter case and order included', async () => {
    const head =
      'GET /smartWeb/x HTTP/1.1\r\nhOsT: example\r\nX-One: 1\r\nx-two: 2\r\nX-Two: 3\r\nSet-Cookie: a\r\nAccept: \xe9\r\nUser-Agent: u\r\nAge: 1\r\nage: 2\r\n\r\n';
    expect(await forwarded(head)).toBe(
      head.replace('x-two: 2\r\nX-Two: 3', 'x-two: 2\r\nx-two: 3').replace('age: 2', 'Age: 2'),
    );
  });

  // Guard: upstream.path set from request.url; http-proxy collapses `//` and parses what it forwards.
  it.each([
    '//smartWeb///api//x?y=//z',
    '/a/../b/./c?d',
    '*',
    'http://other.example:99//a//b?c',
    '/%zz?q=%',
    '/a|b"c<d>^`{}\\',
  ])('has its target %s unchanged', async (target) => {
    const method = target === '*' ? 'OPTIONS' : 'GET';
    expect((await forwarded(`${method} ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)).split('\r\n')[0]).toBe(
      `${method} ${target} HTTP/1.1`,
    );
  });

  // Guard: removeHeader of connection, content-length and transfer-encoding.
  it.each(['OPTIONS', 'PROPFIND', 'DELETE', 'POST', 'PUT', 'GET', 'REPORT'])(
    'gets no field added to %s',
    async (method) => {
      const head = `${method} /x HTTP/1.1\r\nHost: a\r\n\r\n`;
      expect(await forwarded(head)).toBe(head);
    },
  );

  it('keeps Connection, Keep-Alive, TE and an unknown expectation', async () => {
    const head =
      'GET /x HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: 300\r\nX-Hop: 1\r\nTE: trailers\r\nExpect: wonders\r\n\r\n';
    expect(await forwarded(head)).toBe(head);
  });

  it('gets the forwarding fields', async () => {
    const head = await forwarded(
      'GET /x HTTP/1.1\r\nHost: a:1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n',
      {
        gateway: { forwarded: 'append' },
        client: { remoteAddress: '10.0.0.7' },
      },
    );
    expect(head).toBe(
      'GET /x HTTP/1.1\r\nHost: a:1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 10.0.0.7\r\nX-Forwarded-Host: a:1\r\n\r\n',
    );
  });

  it('has the client’s forwarding fields replaced if so configured', async () => {
    const head = await forwarded(
      'GET /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n',
      {
        gateway: { forwarded: 'replace' },
        client: { remoteAddress: '10.0.0.7' },
      },
    );
    expect(head).toBe(
      'GET /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 10.0.0.7\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n\r\n',
    );
  });

  // Guard: Content-Length behind Content-Disposition; Node would re-encode the name's bytes.
  it('keeps the bytes of Content-Disposition', async () => {
    await start({
      upstream: async (upstream) => {
        const head = await upstream.head();
        await upstream.take('x');
        upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n${/Content-Disposition.*\r\n/.exec(head)?.[0]}\r\ny`);
      },
    });
    const client = stand.client(
      'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Disposition: f="\xc3\xa9"\r\n\r\nx',
    );
    expect(await client.take('\r\n\r\ny')).toContain('Content-Disposition: f="\xc3\xa9"\r\n');
  });

  // Guard: Trailer removed where Node would throw.
  it('may announce trailers on a message without chunks', async () => {
    expect(await forwarded('GET /x HTTP/1.1\r\nHost: a\r\nTrailer: X\r\n\r\n')).toBe(
      'GET /x HTTP/1.1\r\nHost: a\r\n\r\n',
    );
  });

  it('of HTTP/1.0 gets the fields that HTTP/1.1 needs to say the same', async () => {
    await start({ upstream: answerAll });
    const head = 'GET /x HTTP/1.0\r\nX: 1\r\n\r\n';
    const client = stand.client(head);
    expect(await client.head()).toBe('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n');
    await client.ended();
    expect(client.received).toBe('ok');
  });
});

describe('a request’s body', () => {
  // Guard: the pass deleteLength taken out of webPasses (#1721), and fields from rawHeaders. With it the body was a request.
  it.each(['DELETE', 'OPTIONS', 'GET', 'POST'])('in chunks stays the body of its %s', async (method) => {
    const seen: string[] = [];
    await start({
      upstream: async (upstream) => {
        seen.push(await upstream.head(), await upstream.take('\r\n0\r\n\r\n'));
        upstream.send(OK);
      },
    });
    const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n';
    const client = stand.client(
      `${method} /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    );
    await client.take('ok');
    expect(seen).toEqual([
      `${method} /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n`,
      `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
    ]);
    expect(stand.ended).toHaveLength(1);
  });

  // Guard: Connection said; Node would end the connection where the upstream goes on.
  it('may still come when the upstream has refused before its 100', async () => {
    await start({
      upstream: async (upstream) => {
        if (stand.upstreams.length > 1) return await answerAll(upstream);
        await upstream.head();
        upstream.send('HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n');
        await upstream.take('abc');
      },
    });
    const client = stand.client('PUT //x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n');
    expect(await client.head()).toBe('HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n');
    client.send('abcGET / HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await client.take('ok')).toBe(OK);
  });

  // Guard: requestTimeout 0; Node's own is 5 minutes, for head and body together.
  it('may take longer than the limit for heads', async () => {
    await start({
      upstream: [take('ab'), send(OK)],
      gateway: { headTimeoutMs: 40 },
    });
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na');
    await new Promise((resolve) => setTimeout(resolve, 150));
    client.send('b');
    expect(await client.take('ok')).toBe(OK);
  });
});

describe('requests on one connection', () => {
  it('never share a connection to the upstream with another client’s', async () => {
    await start({ upstream: answerAll });
    for (let i = 0; i < 3; i += 1) {
      const client = stand.client('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await client.take('ok');
    }
    expect(stand.upstreams).toHaveLength(3);
  });

  it('are answered in order and one by one when they come at once', async () => {
    await start({
      upstream: async (upstream) => {
        for (;;) {
          const name = /\/(\w+) /.exec(await upstream.head())?.[1] ?? '';
          if (name === 'b') await upstream.take('BODY');
          expect(upstream.received).toBe('');
          upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${name}`);
        }
      },
    });
    const get = (name: string) => `GET /${name} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const client = stand.client(
      `${get('a')}POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nBODY${get('c')}${get('d')}`,
    );
    const answer = (name: string) => `HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${name}`;
    expect(await client.take(/\r\nd|\nd/)).toBe(answer('a') + answer('b') + answer('c') + answer('d'));
    expect(stand.upstreams).toHaveLength(1);
    expect(stand.ended.map(({ exchange }) => exchange.request.target)).toEqual(['/a', '/b', '/c', '/d']);
  });

  it('are refused beyond MAX_WAITING, after the answers to the others', async () => {
    await start({ upstream: answerAll });
    const client = stand.client('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(400));
    await client.ended();
    expect(client.received.split('200 OK')).toHaveLength(1 + 257);
    expect(client.received).toMatch(/HTTP\/1\.1 503 .*Connection: close\r\n\r\n\{.*\}$/s);
    expect(stand.gateway.overflowedConnections).toBe(1);
    expect(stand.reporter.open).toBe(0);
  });

  it('work after the socket has been handed over in the middle of its life', async () => {
    await start({ upstream: answerAll, isHandedOver: true });
    const client = stand.client('GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.take('ok');
    await client.take('ok');
    client.send('GET /c HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await client.take('ok')).toBe(OK);
    expect(stand.upstreams).toHaveLength(1);
  });
});
