import { afterEach, describe, expect, it } from 'vitest';
import { finish, type Peer, playPeer, send, take } from '../../../support/wire/peer.ts';
import { Stand, type StandOptions } from './stand.ts';

const ASK =
  'GET /live HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
const SWITCH = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
/** 1001, as an upstream sends it. */
const GOING_AWAY = '\x88\x02\x03\xe9';
/** 1001 behind a mask of zeros, as a client may answer. */
const MASKED_GOING_AWAY = '\x88\x82\0\0\0\0\x03\xe9';
/** Any close frame from the gateway to the upstream: its mask is random. */
const MASKED_CLOSE = /\x88\x82[\s\S]{6}/;

let stand: Stand;

afterEach(() => stand.close());

async function start(upstream: StandOptions['upstream']): Promise<void> {
  stand = await Stand.start({
    upstream: async (peer) => {
      await peer.head();
      peer.send(SWITCH);
      await playPeer(upstream, peer);
    },
  });
}

async function connected(): Promise<Peer> {
  const client = stand.client(ASK);
  await client.head();
  return client;
}

function text(payload: string): string {
  return `\x81${String.fromCharCode(payload.length)}${payload}`;
}

function maskedText(payload: string): string {
  return `\x81${String.fromCharCode(0x80 | payload.length)}\0\0\0\0${payload}`;
}

async function letGo(): Promise<Readonly<Record<string, number>>> {
  await stand.allClosed();
  return { ...stand.gateway.tunnelsLetGo };
}

describe('a WebSocket that is let go', () => {
  it('is closed towards the upstream first, then with 1001 towards the client, and ends with its answer', async () => {
    const heard: string[] = [];
    await start(async (upstream) => {
      const frame = await upstream.take(MASKED_CLOSE);
      const bytes = Buffer.from(frame, 'latin1');
      heard.push([6, 7].map((i) => (bytes[i] as number) ^ (bytes[i - 4] as number)).join());
      upstream.send(`${text('last')}${GOING_AWAY}`);
      await upstream.ended();
    });
    const client = await connected();
    stand.gateway.letTunnelsGo(0);
    expect(await client.take(GOING_AWAY)).toBe(`${text('last')}${GOING_AWAY}`);
    expect(heard).toEqual(['3,233']);
    client.send(MASKED_GOING_AWAY);
    await client.ended();
    expect(client.received).toBe('');
    expect(await letGo()).toEqual({ closed: 1, cut: 0 });
  });

  it('gives the client 1001 whatever status the upstream answers with, and nothing after it', async () => {
    await start([take(MASKED_CLOSE), send(`${text('a')}\x88\x02\x03\xe8${text('too late')}`)]);
    const client = await connected();
    stand.gateway.letTunnelsGo(0);
    await client.take(`${text('a')}${GOING_AWAY}`);
    client.send(maskedText('not for the upstream any more'));
    client.send(MASKED_GOING_AWAY);
    await client.ended();
    expect(client.received).toBe('');
    expect(stand.upstreams[0]?.received).toBe('');
  });

  it('passes the rest of a frame that the client has begun, and nothing after it', async () => {
    let passed = '';
    await start(async (upstream) => {
      passed = await upstream.take('whole');
      upstream.send(text('go on'));
      passed += await upstream.take(MASKED_CLOSE);
      upstream.send(GOING_AWAY);
    });
    const client = await connected();
    const [first, rest] = [maskedText('whole message').slice(0, 11), maskedText('whole message').slice(11)];
    client.send(first);
    await client.take(text('go on'));
    stand.gateway.letTunnelsGo(0);
    client.send(`${rest}${maskedText('one more')}`);
    await client.take(GOING_AWAY);
    client.send(MASKED_GOING_AWAY);
    await client.ended();
    expect(passed.slice(0, -8)).toBe(maskedText('whole message'));
    // Nor what came later, the client's own close frame included.
    expect(stand.upstreams[0]?.received).toBe('');
    expect(await letGo()).toEqual({ closed: 1, cut: 0 });
  });

  it('passes the rest of a frame that the upstream has begun before it tells the client', async () => {
    await start([
      send(text('in two pieces').slice(0, 6)),
      take(MASKED_CLOSE),
      send(`${text('in two pieces').slice(6)}${GOING_AWAY}`),
    ]);
    const client = await connected();
    await client.take(text('in two pieces').slice(0, 6));
    stand.gateway.letTunnelsGo(0);
    expect(await client.take(GOING_AWAY)).toBe(`${text('in two pieces').slice(6)}${GOING_AWAY}`);
    client.send(MASKED_GOING_AWAY);
    await client.ended();
  });

  it('sends the client 1001 also when the upstream does not answer, or just ends', async () => {
    let count = 0;
    await start(async (upstream) => {
      count += 1;
      const endsAtOnce = count === 1;
      await upstream.take(MASKED_CLOSE);
      if (endsAtOnce) upstream.finish();
    });
    for (let i = 0; i < 2; i += 1) {
      const client = await connected();
      stand.gateway.letTunnelsGo(0);
      await client.take(GOING_AWAY);
      client.send(MASKED_GOING_AWAY);
      await client.ended();
    }
    expect(await letGo()).toEqual({ closed: 2, cut: 0 });
  });

  it('is cut when the upstream stops within a frame, since the close frame would become part of it', async () => {
    await start([send(text('never ends').slice(0, 5)), take(MASKED_CLOSE)]);
    const client = await connected();
    await client.take(text('never ends').slice(0, 5));
    stand.gateway.letTunnelsGo(0);
    await client.ended();
    expect(client.received).toBe('');
    expect(await letGo()).toEqual({ closed: 0, cut: 1 });
  });

  it('is cut when the client does not answer', async () => {
    await start([take(MASKED_CLOSE), send(GOING_AWAY)]);
    const client = await connected();
    stand.gateway.letTunnelsGo(0);
    await client.take(GOING_AWAY);
    await client.ended();
    expect(await letGo()).toEqual({ closed: 0, cut: 1 });
  });

  it('is cut without a close frame when the bytes are no frames', async () => {
    await start([send('+OK ready\r\n')]);
    const client = await connected();
    await client.take('ready\r\n');
    stand.gateway.letTunnelsGo(0);
    await client.ended();
    expect(client.received).toBe('');
    expect(await letGo()).toEqual({ closed: 0, cut: 1 });
  });

  it('is left alone when its two ends are closing it', async () => {
    await start([take(MASKED_CLOSE), send(text('got it')), take('GO'), send('\x88\x02\x03\xe8'), finish()]);
    const client = await connected();
    client.send('\x88\x82\0\0\0\0\x03\xe8');
    await client.take(text('got it'));
    stand.gateway.letTunnelsGo(0);
    stand.upstreams[0]?.socket.emit('data', Buffer.from('GO'));
    expect(await client.take('\x03\xe8')).toBe('\x88\x02\x03\xe8');
    client.finish();
    expect(await letGo()).toMatchObject({ closed: 0 });
  });

  it('delivers a large message to a slow client completely', async () => {
    const size = 4 * 1024 * 1024;
    const head = Buffer.from([0x82, 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (size >>> shift) & 0xff)]);
    await start(async (upstream) => {
      upstream.socket.write(Buffer.concat([head, Buffer.alloc(size, 'x')]));
      await upstream.take(MASKED_CLOSE);
      upstream.send(GOING_AWAY);
    });
    const client = await connected();
    client.socket.pause();
    await expect.poll(() => stand.upstreams[0]?.socket.writableLength ?? 0).toBeGreaterThan(0);
    stand.gateway.letTunnelsGo(0);
    client.socket.resume();
    const came = await client.take(GOING_AWAY);
    client.send(MASKED_GOING_AWAY);
    await client.ended();
    expect([came.length, /^x+$/.test(came.slice(head.length, -4))]).toEqual([head.length + size + 4, true]);
    expect(await letGo()).toEqual({ closed: 1, cut: 0 });
  });
});

describe('many WebSockets that are let go over a time', () => {
  it('go one after another, the longest open first', async () => {
    const closed: number[] = [];
    let opened = 0;
    await start(async (upstream) => {
      opened += 1;
      const id = opened;
      await upstream.take(MASKED_CLOSE);
      closed.push(id);
      upstream.send(GOING_AWAY);
    });
    const count = 10;
    for (let i = 0; i < count; i += 1) {
      const client = await connected();
      client.take(GOING_AWAY).then(
        () => client.send(MASKED_GOING_AWAY),
        () => undefined,
      );
    }
    stand.gateway.letTunnelsGo(600);
    expect(stand.gateway.upgradedConnections).toBe(count);
    const sizes = new Set<number>();
    while (stand.gateway.upgradedConnections > 0) {
      sizes.add(stand.gateway.upgradedConnections);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(closed).toEqual(Array.from({ length: count }, (_, i) => i + 1));
    // Not all at one moment: several numbers were to be seen in between.
    expect(sizes.size).toBeGreaterThan(3);
    expect(await letGo()).toEqual({ closed: count, cut: 0 });
  });
});
