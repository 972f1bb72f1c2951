import { createServer, type ServerOptions } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { type Peer, send, takeHead } from '../../../support/wire/peer.ts';
import { Stand, type StandOptions } from './stand.ts';

let stand: Stand;

async function start(options: StandOptions): Promise<Stand> {
  stand = await Stand.start(options);
  return stand;
}

afterEach(async () => {
  await stand.close();
});

const ASK =
  'GET //live?a=1 HTTP/1.1\r\nHost: a\r\nX-Twice: 1\r\nX-Twice: 2\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSet-Cookie: a=1\r\nSet-Cookie: b=\xe9\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n';

async function accept(upstream: Peer): Promise<void> {
  await upstream.head();
  upstream.send(SWITCH);
}

describe('an accepted WebSocket', () => {
  it('has its request and its 101 passed on as they came', async () => {
    let head = '';
    await start({
      upstream: async (upstream) => {
        head = await upstream.head();
        upstream.send(SWITCH);
      },
    });
    expect(await stand.client(ASK).head()).toBe(SWITCH);
    expect(head).toBe(ASK);
  });

  it('ends its exchange with the 101, and is counted until it closes', async () => {
    await start({ upstream: accept });
    const client = stand.client(ASK);
    await client.head();
    expect(stand.ended.map(({ exchange, ending }) => [exchange.status, ending.kind])).toEqual([[101, 'completed']]);
    expect(stand.gateway.upgradedConnections).toBe(1);
    client.reset();
    await stand.upstreams[0]?.ended();
    await stand.allClosed();
    expect(stand.gateway.upgradedConnections).toBe(0);
    expect(stand.ended).toHaveLength(1);
  });

  // Guards: setTimeout(0) on the client’s socket, requestTimeout 0 (#1664).
  it('outlives the limits for heads and idle connections', async () => {
    await start({
      upstream: async (upstream) => {
        await upstream.head();
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
        await accept(upstream);
        await upstream.take('still here');
        upstream.send('so am I');
      },
      // Node adds a second to the latter.
      gateway: { headTimeoutMs: 40, idleTimeoutMs: 150 },
    });
    const client = stand.client('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.take('ok');
    client.send(ASK);
    await client.head();
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    client.send('still here');
    await client.take('so am I');
  });

  // Guard: allowHalfOpen on the tunnel; Node would end its sending side by itself.
  it('passes on what the client sends after the upstream’s end', async () => {
    await start({
      upstream: async (upstream) => {
        await accept(upstream);
        upstream.finish();
      },
    });
    const client = stand.client(ASK);
    await client.head();
    await client.ended();
    client.finish('last words');
    await stand.upstreams[0]?.closed();
    expect(stand.upstreams[0]?.received).toBe('last words');
    await stand.allClosed();
  });
});

describe('a refused WebSocket', () => {
  async function refused(answer: string): Promise<Peer> {
    await start({ upstream: [takeHead, send(answer)] });
    const client = stand.client(ASK);
    await client.ended();
    expect(stand.reporter.open).toBe(0);
    return client;
  }

  // Guard: removeAllListeners('response'); http-proxy writes the chunks' content behind `Transfer-Encoding: chunked` (PR #1439).
  it('in chunks reaches the client in chunks, and its connection ends', async () => {
    const client = await refused(
      'HTTP/1.1 426 Upgrade Required\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n',
    );
    expect(client.received).toBe(
      'HTTP/1.1 426 Upgrade Required\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n',
    );
  });

  it.each([401, 404])('with %i and a length is a completed exchange of that status', async (status) => {
    const client = await refused(`HTTP/1.1 ${status} No\r\nWWW-Authenticate: Basic\r\nContent-Length: 3\r\n\r\nno!`);
    expect(client.received).toBe(
      `HTTP/1.1 ${status} No\r\nWWW-Authenticate: Basic\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno!`,
    );
    expect(stand.ended.map(({ exchange, ending }) => [exchange.status, ending.kind])).toEqual([[status, 'completed']]);
    expect(stand.gateway.upgradedConnections).toBe(0);
  });

  // Guard: our answer instead of http-proxy's, which writes to a destroyed socket (PR #1439).
  it('is dropped when its client has left', async () => {
    await start({
      upstream: async (upstream) => {
        await upstream.head();
        await stand.endings(1);
        upstream.send('HTTP/1.1 401 No\r\nContent-Length: 3\r\n\r\nno!');
      },
    });
    const client = stand.client(ASK);
    while (stand.upstreams[0] === undefined) await new Promise((resolve) => setImmediate(resolve));
    client.reset();
    await stand.endings(1);
    await stand.upstreams[0].ended();
    expect(stand.ended[0]?.ending.kind).toBe('cancelled');
  });
});

describe('a WebSocket without an answer', () => {
  // Guard: the error listener that a connection has from the start (#1468): without it this reset ends the process.
  it('is cancelled by its client’s reset, and the upstream connection with it', async () => {
    await start({ upstream: () => undefined });
    const client = stand.client(ASK);
    while (stand.upstreams[0]?.received.includes('\r\n\r\n') !== true)
      await new Promise((resolve) => setImmediate(resolve));
    client.reset();
    await stand.upstreams[0].ended();
    const [first] = await stand.endings(1);
    expect(first?.ending.kind).toBe('cancelled');
    await stand.allClosed();
  });

  it.each(['Upgrade: h2c\r\nConnection: Upgrade\r\n', ''])(
    'that speaks WebSocket is a failure (101 with %j)',
    async (fields) => {
      await start({ upstream: [takeHead, send(`HTTP/1.1 101 X\r\n${fields}\r\n`)] });
      const client = stand.client(ASK);
      await client.ended();
      expect(client.received).toMatch(/^HTTP\/1\.1 502 .*"D2S_ERR_UPSTREAM_(UPGRADE|PROTOCOL)"\}$/s);
      expect(stand.ended[0]?.exchange.status).toBe(0);
    },
  );
});

describe('any other upgrade', () => {
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

  async function echoHeads(upstream: Peer): Promise<void> {
    for (;;) {
      const head = await upstream.head();
      const length = Number(/Content-Length: (\d+)/.exec(head)?.[1] ?? 0);
      const body = length > 0 ? await upstream.take(new RegExp(`.{${length}}`, 's')) : '';
      const answer = head + body;
      upstream.send(`HTTP/1.1 200 OK\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`);
    }
  }

  const H2C =
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n';

  // Where Node asks, it reads the body by itself and loses what comes behind: the answer announces the end of the connection.
  const asks = 'shouldUpgradeCallback' in createServer({ shouldUpgradeCallback: () => true } as ServerOptions);

  it.runIf(asks)('with a body is ignored, and its answer is the last on the connection', async () => {
    await start({ upstream: echoHeads });
    const client = stand.client(
      `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n${H2C}\r\nhelloGET /b HTTP/1.1\r\nHost: a\r\n\r\n`,
    );
    expect(await client.head()).toContain('\r\nConnection: close\r\n');
    await client.take('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
    await client.ended();
  });

  it.runIf(!asks).each([false, true])(
    'is ignored, with the request’s body and what follows (handed over: %s)',
    async (isHandedOver) => {
      await start({ upstream: echoHeads, isHandedOver });
      const client = stand.client(
        `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n${H2C}\r\nhelloGET /b HTTP/1.1\r\nHost: a\r\n\r\n`,
      );
      await client.head();
      await client.take('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello');
      await client.head();
      await client.take('GET /b HTTP/1.1\r\nHost: a\r\n\r\n');
      client.send(`GET /c HTTP/1.1\r\nHost: a\r\n${H2C}\r\n`);
      await client.head();
      await client.take('GET /c HTTP/1.1\r\nHost: a\r\n\r\n');
      expect(stand.ended.map(({ exchange }) => exchange.request.target)).toEqual(['/a', '/b', '/c']);
      expect(stand.upstreams).toHaveLength(1);
    },
  );

  it.runIf(!asks)('may come with a body in pieces, and with each request of a connection', async () => {
    await start({ upstream: echoHeads });
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    const client = stand.client();
    for (let i = 0; i < 30; i += 1) {
      client.send(`POST /${i} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n${H2C}\r\nab`);
      while (stand.upstreams[0]?.received.endsWith('ab') !== true)
        await new Promise((resolve) => setImmediate(resolve));
      client.send('cd');
      await client.head();
      await client.take('\r\n\r\nabcd');
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
    expect(stand.ended).toHaveLength(30);
  });

  it('waits for its turn', async () => {
    await start({ upstream: echoHeads });
    const client = stand.client(`GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n${H2C}\r\n`);
    await client.head();
    await client.take('GET /a HTTP/1.1\r\nHost: a\r\n\r\n');
    await client.head();
    await client.take('GET /b HTTP/1.1\r\nHost: a\r\n\r\n');
  });

  it.each([
    ['a list', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c, websocket\r\n\r\n'],
    ['a POST', 'POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a body', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nab'],
    ['HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ])('is what a WebSocket in %s is', async (_, request) => {
    let head = '';
    await start({
      upstream: async (upstream) => {
        head = await upstream.head();
        upstream.send(OK);
      },
    });
    await stand.client(request).take('ok');
    expect(head).not.toMatch(/upgrade|websocket/i);
  });

  it('leaves a held answer without an idle timeout', async () => {
    await start({
      upstream: async (upstream) => {
        await upstream.head();
        upstream.send(OK);
        await upstream.head();
        setTimeout(() => upstream.send(OK), 1_200);
      },
      gateway: { idleTimeoutMs: 150 },
    });
    const client = stand.client(`GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n${H2C}\r\n`);
    await client.take('ok');
    await client.take('ok');
  });
});
