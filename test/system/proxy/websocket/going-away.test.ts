import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ManualClock } from '../../../support/clock.ts';
import { finish, type Peer, type PeerScript, send, take, takeHead } from '../../../support/wire/peer.ts';
import { SWITCHING, useStand } from '../stand.ts';

/** 1001, as an upstream sends it. */
const GOING_AWAY = '\x88\x02\x03\xe9';
/** 1001 behind a mask of zeros, as a client may answer. */
const MASKED_GOING_AWAY = '\x88\x82\0\0\0\0\x03\xe9';
/** Any close frame from the sidecar to the upstream: its mask is random. */
const MASKED_CLOSE = /\x88\x82[\s\S]{6}/;
/** How long each side may take to answer a close frame. */
const CLOSE_LIMIT_MS = 2_000;

const stand = useStand();
let clock: ManualClock;

// The limits of time pass only where a test lets them.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
});
afterEach(() => void vi.useRealTimers());

/** A client in a tunnel to an upstream that does this in it. */
async function tunnel(...script: Exclude<PeerScript, (peer: Peer) => unknown>): Promise<Peer> {
  clock = new ManualClock();
  await stand.start({ clock, upstream: [takeHead, send(SWITCHING), ...script] });
  return await stand.tunnel();
}

function text(payload: string): string {
  return `\x81${String.fromCharCode(payload.length)}${payload}`;
}

function maskedText(payload: string): string {
  return `\x81${String.fromCharCode(0x80 | payload.length)}\0\0\0\0${payload}`;
}

/** The client answers its close frame; the sidecar ends their connection, and the tunnel counts as closed. */
async function expectClosed(client: Peer): Promise<void> {
  client.send(MASKED_GOING_AWAY);
  await expectEnded(client, { closed: 1, cut: 0 });
}

async function expectEnded(client: Peer, ends: { closed: number; cut: number } = { closed: 0, cut: 1 }): Promise<void> {
  await client.ended();
  expect(client.received).toBe('');
  await stand.allClosed();
  expect(stand.webSockets.closed).toEqual(ends);
}

describe('a WebSocket that is let go', () => {
  it('is closed towards the upstream first, then with 1001 towards the client, and ends with its answer', async () => {
    const client = await tunnel();
    stand.webSockets.closeTunnels(0);
    const upstream = stand.upstreams[0] as Peer;
    const frame = Buffer.from(await upstream.take(MASKED_CLOSE), 'latin1');
    expect([6, 7].map((i) => (frame[i] as number) ^ (frame[i - 4] as number))).toEqual([3, 233]);
    // Whatever its status is, the client gets 1001, and nothing after it.
    upstream.send(`${text('last')}\x88\x02\x03\xe8${text('too late')}`);
    expect(await client.take(GOING_AWAY)).toBe(`${text('last')}${GOING_AWAY}`);
    client.send(maskedText('not for the upstream any more'));
    await expectClosed(client);
    await upstream.ended();
    expect(upstream.received).toBe('');
  });

  it.each([
    ['comes later', ''],
    ['has come', MASKED_GOING_AWAY],
  ])('passes the rest of a frame that the client has begun, and nothing after it; its answer %s', async (_, answer) => {
    const client = await tunnel(take('whole'), send(text('go on')));
    const [first, rest] = [maskedText('whole message').slice(0, 11), maskedText('whole message').slice(11)];
    client.send(first);
    await client.take(text('go on'));
    stand.webSockets.closeTunnels(0);
    client.send(`${rest}${maskedText('one more')}${answer}`);
    const upstream = stand.upstreams[0] as Peer;
    expect((await upstream.take(MASKED_CLOSE)).slice(0, -8)).toBe(' message');
    upstream.send(GOING_AWAY);
    await client.take(GOING_AWAY);
    if (answer === '') await expectClosed(client);
    else await client.ended();
    // Nor what came later, the client's own close frame included.
    expect(upstream.received).toBe('');
  });

  it('passes the rest of a frame that the upstream has begun before it tells the client', async () => {
    const [begun, rest] = [text('in two pieces').slice(0, 6), text('in two pieces').slice(6)];
    const client = await tunnel(send(begun), take(MASKED_CLOSE), send(`${rest}${GOING_AWAY}`));
    await client.take(begun);
    stand.webSockets.closeTunnels(0);
    expect(await client.take(GOING_AWAY)).toBe(`${rest}${GOING_AWAY}`);
    await expectClosed(client);
  });

  it.each([
    ['does not answer', () => vi.advanceTimersByTime(CLOSE_LIMIT_MS)],
    ['just ends', finish()],
  ])('sends the client 1001 also when the upstream %s', async (_what, act) => {
    const client = await tunnel(take(MASKED_CLOSE), act);
    stand.webSockets.closeTunnels(0);
    await client.take(GOING_AWAY);
    await expectClosed(client);
  });

  it('is cut when the client does not answer', async () => {
    const client = await tunnel(take(MASKED_CLOSE), send(GOING_AWAY));
    stand.webSockets.closeTunnels(0);
    await client.take(GOING_AWAY);
    vi.advanceTimersByTime(CLOSE_LIMIT_MS - 1);
    expect(client.hasEnded).toBe(false);
    vi.advanceTimersByTime(1);
    await expectEnded(client);
  });

  it.each([
    ['the upstream stops within a frame, of which it would become part', text('never ends').slice(0, 5), MASKED_CLOSE],
    ['the bytes are no frames', '+OK ready\r\n', ''],
  ])('is cut without a close frame to the client when %s', async (_what, begun, atUpstream) => {
    const client = await tunnel(send(begun));
    await client.take(begun);
    stand.webSockets.closeTunnels(0);
    await stand.upstreams[0]?.take(atUpstream);
    vi.advanceTimersByTime(CLOSE_LIMIT_MS);
    await expectEnded(client);
  });

  it('is left alone when its two ends are closing it', async () => {
    const client = await tunnel(take(MASKED_CLOSE), send(text('got it')));
    client.send('\x88\x82\0\0\0\0\x03\xe8');
    await client.take(text('got it'));
    stand.webSockets.closeTunnels(0);
    stand.upstreams[0]?.finish('\x88\x02\x03\xe8');
    expect(await client.take('\x03\xe8')).toBe('\x88\x02\x03\xe8');
    client.finish();
    await stand.allClosed();
    expect(stand.webSockets.closed).toMatchObject({ closed: 0 });
  });
});

it('many WebSockets that are let go over a time go one after another, the longest open first', async () => {
  const closed: number[] = [];
  const closing = (peer: Peer) => {
    closed.push(stand.upstreams.indexOf(peer));
    peer.send(GOING_AWAY);
  };
  const clients = [await tunnel(take(MASKED_CLOSE), closing)];
  while (clients.length < 10) clients.push(await stand.tunnel());
  const answering = clients.map((client) => client.take(GOING_AWAY).then(() => client.send(MASKED_GOING_AWAY)));
  stand.webSockets.closeTunnels(600);
  // Each step closes the same share of the tunnels as it is of the time that is left.
  for (const left of [10, 9, 8, 7, 6, 5, 4, 4, 3, 2, 1, 0]) {
    clock.advanceMs(50);
    vi.advanceTimersByTime(50);
    await expect.poll(() => stand.webSockets.open, { interval: 5 }).toBe(left);
  }
  await Promise.all(answering);
  expect(closed).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await stand.allClosed();
  expect(stand.webSockets.closed).toEqual({ closed: 10, cut: 0 });
});

it('a WebSocket of which only one side has ended is ended after 30 seconds', async () => {
  const client = await tunnel(finish());
  await client.ended();
  expect(stand.sidecar.dispatcher.openConnections).toBe(1);
  vi.advanceTimersByTime(30_000);
  await stand.allClosed();
});
