import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { TunnelObserver } from '../../../../src/proxy/exchange/exchange.ts';
import { observeTunnel } from '../../../../src/proxy/gateway/tunnel.ts';
import { finish, type Peer, send, take, takeHead } from '../../../support/wire/peer.ts';
import { untilStill } from '../../../support/wire/still.ts';
import { Stand, type StandOptions } from './stand.ts';

const ASK =
  'GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const SWITCH =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n';

/** What one tunnel's observer was told. */
class TunnelSeen implements TunnelObserver {
  readonly #clientHash = createHash('sha256');
  readonly #upstreamHash = createHash('sha256');
  client = '';
  upstream = '';
  clientBytes = 0;
  upstreamBytes = 0;
  closed = 0;
  bytesBehindClosing = 0;

  onClientBytes(bytes: Buffer): void {
    this.#clientHash.update(bytes);
    this.clientBytes += bytes.length;
    if (this.client.length < 1_000) this.client += bytes.toString('latin1');
    if (this.closed > 0) this.bytesBehindClosing += bytes.length;
  }

  onUpstreamBytes(bytes: Buffer): void {
    this.#upstreamHash.update(bytes);
    this.upstreamBytes += bytes.length;
    if (this.upstream.length < 1_000) this.upstream += bytes.toString('latin1');
    if (this.closed > 0) this.bytesBehindClosing += bytes.length;
  }

  onClosed(): void {
    this.closed += 1;
  }

  clientChecksum(): string {
    return this.#clientHash.digest('hex');
  }

  upstreamChecksum(): string {
    return this.#upstreamHash.digest('hex');
  }
}

let stand: Stand;
let current: Stand | undefined;
let seen: TunnelSeen;
/** What came in order, e.g. `response 101`. */
let told: string[];

async function start(upstream: StandOptions['upstream'], more: Partial<StandOptions> = {}): Promise<void> {
  seen = new TunnelSeen();
  told = [];
  current = stand = await Stand.start({
    upstream,
    observer: {
      onBegin: (exchange) => {
        exchange.wantsResponse = true;
        exchange.requestObserver = { onBytes: () => told.push('request bytes'), onEnd: () => told.push('request end') };
      },
      onResponse: (exchange, response) => {
        told.push(`response ${response.status} ${response.field('sec-websocket-extensions')} ${exchange.hasEnded}`);
        exchange.tunnelObserver = seen;
      },
    },
    ...more,
  });
}

afterEach(async () => {
  await current?.close();
  current = undefined;
});

async function accept(upstream: Peer): Promise<void> {
  await upstream.head();
  upstream.send(SWITCH);
}

/** A client in a tunnel. */
async function connected(): Promise<Peer> {
  const client = stand.client(ASK);
  await client.head();
  return client;
}

/** Once both ends of the gateway are gone, and time for what should not follow. */
async function expectClosedOnce(): Promise<void> {
  await stand.allClosed();
  while (seen.closed === 0) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen.closed).toBe(1);
  expect(seen.bytesBehindClosing).toBe(0);
  expect(stand.reporter.observerErrors).toBe(0);
}

describe('a tunnel’s observer', () => {
  it('is asked for at the 101, before its exchange ends', async () => {
    await start(accept);
    const client = await connected();
    expect(told).toEqual(['request end', 'response 101 permessage-deflate false']);
    expect(stand.ended.map(({ exchange, ending }) => [exchange.status, ending.kind])).toEqual([[101, 'completed']]);
    expect(seen.closed).toBe(0);
    client.reset();
    await expectClosedOnce();
  });

  it('sees both directions, in order', async () => {
    await start(async (upstream) => {
      await accept(upstream);
      for (let turn = 0; turn < 20; turn += 1) upstream.send(`<${await upstream.take(`ping ${turn};`)}>`);
    });
    const client = await connected();
    for (let turn = 0; turn < 20; turn += 1) {
      client.send(`ping ${turn};`);
      await client.take(`<ping ${turn};>`);
    }
    const pings = Array.from({ length: 20 }, (_, turn) => `ping ${turn};`);
    expect(seen.client).toBe(pings.join(''));
    expect(seen.upstream).toBe(pings.map((ping) => `<${ping}>`).join(''));
    client.reset();
    await expectClosedOnce();
  });

  it.each([false, true])('sees first what came together with the heads (handed over: %s)', async (isHandedOver) => {
    await start([takeHead, send(`${SWITCH}hello`), take('impatient'), send(' and more')], { isHandedOver });
    const client = stand.client(`${ASK}impa`);
    client.send('tient');
    await client.head();
    await client.take('hello and more');
    expect([seen.client, seen.upstream]).toEqual(['impatient', 'hello and more']);
    client.reset();
    await expectClosedOnce();
  });

  it('sees what a client sends while its upgrade is not yet answered', async () => {
    await start(async (upstream) => {
      await upstream.head();
      await new Promise((resolve) => setTimeout(resolve, 20));
      upstream.send(SWITCH);
    });
    const client = stand.client(ASK);
    client.send('one');
    await delay(5);
    client.send('two');
    await client.head();
    await stand.upstreams[0]?.take('onetwo');
    expect(seen.client).toBe('onetwo');
  });

  it.each(['client', 'upstream'] as const)(
    'sees what the other side sends after the %s has ended its side',
    async (who) => {
      await start(accept);
      const client = await connected();
      const upstream = stand.upstreams[0]!;
      const [first, second] = who === 'client' ? [client, upstream] : [upstream, client];
      first.finish('last words');
      await second.ended();
      expect(seen.closed).toBe(0);
      second.send('and ');
      second.finish('mine');
      await first.take('and mine');
      await expectClosedOnce();
      const [ofFirst, ofSecond] = who === 'client' ? [seen.client, seen.upstream] : [seen.upstream, seen.client];
      expect([ofFirst, ofSecond]).toEqual(['last words', 'and mine']);
    },
  );

  it('is told of the end only after a slow client has read the upstream’s last bytes', async () => {
    await start(accept);
    const client = await connected();
    const upstream = stand.upstreams[0]!;
    client.socket.removeAllListeners('data');
    client.socket.pause();
    client.finish();
    // More than the kernel takes of it towards the client, and no more than it takes from the upstream.
    upstream.socket.end(Buffer.alloc(8 * MEBIBYTE));
    await upstream.ended();
    await untilStill(() => seen.upstreamBytes);
    expect(seen.closed).toBe(0);
    client.socket.resume();
    await client.closed();
    await expectClosedOnce();
    expect(seen.upstreamBytes).toBe(8 * MEBIBYTE);
  });

  // `endTogether`: http-proxy's pipes leave the other end open for ever.
  it.each(['client', 'upstream'] as const)('is told that a reset of the %s ended it', async (who) => {
    await start(accept);
    const client = await connected();
    const upstream = stand.upstreams[0]!;
    client.send('from the client');
    upstream.send('from the upstream');
    await Promise.all([upstream.take('from the client'), client.take('from the upstream')]);
    (who === 'client' ? client : upstream).reset();
    await expectClosedOnce();
    expect([seen.client, seen.upstream]).toEqual(['from the client', 'from the upstream']);
  });

  it.each(['client', 'upstream'] as const)('is told when the %s resets right after the 101', async (who) => {
    await start(async (upstream) => {
      await upstream.head();
      upstream.send(SWITCH);
      if (who === 'upstream') setImmediate(() => upstream.reset());
    });
    const client = stand.client(ASK);
    if (who === 'client') {
      while (stand.ended.length === 0) await new Promise((resolve) => setImmediate(resolve));
      client.reset();
    }
    await client.ended();
    client.socket.destroy();
    await stand.allClosed();
    // A reset may overtake the 101: then there was no tunnel.
    if (told.length > 1) await expectClosedOnce();
    else expect(seen.closed).toBe(0);
  });

  it('is told that the gateway was destroyed', async () => {
    await start(accept);
    await connected();
    stand.gateway.destroy();
    await expectClosedOnce();
  });

  it('sees only the response of a refused upgrade', async () => {
    const body: string[] = [];
    await start(
      [takeHead, send('HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nno!\r\n0\r\nX-T: 1\r\n\r\n')],
      {
        observer: {
          onBegin: (exchange) => {
            exchange.wantsResponse = true;
          },
          onResponse: (exchange, { status }) => {
            body.push(String(status));
            exchange.tunnelObserver = seen;
            exchange.responseObserver = {
              onBytes: (bytes) => body.push(bytes.toString('latin1')),
              onEnd: () => body.push('end'),
            };
          },
        },
      },
    );
    await stand.client(ASK).ended();
    expect(body).toEqual(['403', 'no!', 'end']);
    expect([seen.closed, seen.upstream]).toEqual([0, '']);
  });
});

const MEBIBYTE = 1_048_576;
const SENT_MEBIBYTES = 48;
/** More than the kernel and the streams hold on two hops, and far less than the whole. */
const STALLED_BELOW = (SENT_MEBIBYTES * MEBIBYTE) / 2;

/** Sends all as fast as it is taken, and counts what is. */
function sending(socket: net.Socket, piece: Buffer): { readonly sent: () => number; readonly done: Promise<void> } {
  let sent = 0;
  const done = (async () => {
    for (let count = 0; count < SENT_MEBIBYTES; count += 1) {
      await new Promise((resolve) => socket.write(piece, resolve));
      sent += piece.length;
    }
  })();
  return { sent: () => sent, done };
}

describe('an observed tunnel', () => {
  it.each(['client', 'upstream'] as const)(
    'lets a slow %s make the other side wait, and loses nothing',
    async (slow) => {
      await start(accept);
      const client = await connected();
      const upstream = stand.upstreams[0]!;
      const [reader, writer] = slow === 'client' ? [client.socket, upstream.socket] : [upstream.socket, client.socket];
      reader.removeAllListeners('data');
      reader.pause();
      const piece = Buffer.alloc(MEBIBYTE, 'a b c d e f g \xff');
      const expected = createHash('sha256');
      for (let count = 0; count < SENT_MEBIBYTES; count += 1) expected.update(piece);
      const { sent, done } = sending(writer, piece);
      expect(await untilStill(sent)).toBeLessThan(STALLED_BELOW);
      const observed = () => (slow === 'client' ? seen.upstreamBytes : seen.clientBytes);
      // Nothing has been let out of the stalled stream to the observer alone.
      expect(await untilStill(observed)).toBeLessThan(STALLED_BELOW);
      // The other direction does not stand.
      reader.write('still here');
      await (slow === 'client' ? upstream : client).take('still here');

      const received = createHash('sha256');
      let receivedBytes = 0;
      reader.on('data', (bytes: Buffer) => {
        received.update(bytes);
        receivedBytes += bytes.length;
      });
      reader.resume();
      await done;
      writer.end();
      await once(reader, 'end');
      reader.end();
      expect(receivedBytes).toBe(SENT_MEBIBYTES * MEBIBYTE);
      const checksum = expected.digest('hex');
      expect(received.digest('hex')).toBe(checksum);
      expect(slow === 'client' ? seen.upstreamChecksum() : seen.clientChecksum()).toBe(checksum);
      await expectClosedOnce();
    },
  );

  it.each(['onClientBytes', 'onUpstreamBytes', 'onClosed'] as const)('goes on when %s throws', async (what) => {
    await start([takeHead, send(`${SWITCH}hello`), take('one'), send('1'), take('two'), finish('2')]);
    let thrown = 0;
    seen[what] = () => {
      thrown += 1;
      if (what === 'onClosed') seen.closed += 1;
      throw new Error('not to be logged');
    };
    const client = stand.client(`${ASK}one`);
    await client.head();
    await client.take('hello1');
    client.finish('two');
    await client.take('2');
    await stand.allClosed();
    while (seen.closed === 0) await new Promise((resolve) => setImmediate(resolve));
    expect([thrown, stand.reporter.observerErrors, seen.closed]).toEqual([1, 1, 1]);
  });
});

describe('observeTunnel', () => {
  it.each(['client', 'upstream'] as const)('waits for both ends when the %s closes first', (who) => {
    const [client, upstream] = [new net.Socket(), new net.Socket()];
    const observer = new TunnelSeen();
    observeTunnel(client, upstream, observer);
    const [first, second] = who === 'client' ? [client, upstream] : [upstream, client];
    first.emit('close', false);
    first.emit('close', false);
    expect(observer.closed).toBe(0);
    second.emit('close', true);
    expect(observer.closed).toBe(1);
  });

  it('does not start a stream that its pipe has paused', async () => {
    const [client, upstream] = [new net.Socket(), new net.Socket()];
    for (const socket of [client, upstream]) {
      socket.push('waiting');
      socket.pause();
    }
    const observer = new TunnelSeen();
    observeTunnel(client, upstream, observer);
    await new Promise((resolve) => setImmediate(resolve));
    expect([client.isPaused(), upstream.isPaused(), observer.clientBytes, observer.upstreamBytes]).toEqual([
      true,
      true,
      0,
      0,
    ]);
    for (const socket of [client, upstream]) socket.destroy();
  });
});
