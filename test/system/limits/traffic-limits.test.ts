/**
 * Each limit on clients, reached through the configuration and by real sockets: what the one beyond it is told, that it is counted
 * in /metrics, that others are served all the same, and that it is over when its cause is. The same with and
 * without TLS.
 */
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { CometTraffic } from '../../support/measure/comet/comet-traffic.ts';
import { testComet } from '../../support/wire/test-config.ts';
import { WEBSOCKET } from '../wire/compose.ts';
import { get, type LimitStand, MODES, post, type RawPeer, startLimitStand } from './limit-stand.ts';

const limits = (over: Partial<Config['limits']>) => (base: Config) => ({ limits: { ...base.limits, ...over } });
const timeouts = (over: Partial<Config['timeouts']>) => (base: Config) => ({ timeouts: { ...base.timeouts, ...over } });

async function serves(stand: LimitStand, localAddress?: string): Promise<void> {
  const other = await stand.connect(localAddress);
  expect((await other.ask(get('/other'))).status).toBe(200);
  other.socket.destroy();
}

const fields = (total: number) => Array.from({ length: total - 1 }, (_, i) => `X-${i}: a`);

async function expectRefused(peer: RawPeer, request: string, status: number): Promise<void> {
  const answer = await peer.ask(request);
  expect(answer.status).toBe(status);
  expect(answer.head).toMatch(/^connection: close\r$/im);
  expect(answer.head).toMatch(/^content-type: application\/problem\+json\r$/im);
  expect(JSON.parse(answer.body)).toMatchObject({ status });
  await peer.ended();
}

describe.each(MODES)('limits ($name)', (mode) => {
  it('headBytes: a larger head causes a 431', async () => {
    const stand = await startLimitStand(mode, limits({ headBytes: 2_048 }));
    await expectRefused(await stand.connect(), get('/a', `X-Large: ${'x'.repeat(2_048)}`), 431);
    await expectRefused(await stand.connect(), get(`/${'x'.repeat(2_048)}`), 431);
    expect(stand.upstream.received).toBe('');
    await serves(stand);
    expect(await stand.hits('limits.headBytes')).toBe(2);
  });

  it('fields: one field too many causes a 431, and the upstream is not asked', async () => {
    const stand = await startLimitStand(mode, limits({ fields: 10 }));
    const peer = await stand.connect();
    expect((await peer.ask(get('/ten', ...fields(10)))).status).toBe(200);
    expect(await stand.hits('limits.fields')).toBe(0);
    await expectRefused(peer, get('/eleven', ...fields(11)), 431);
    await expectRefused(await stand.connect(), get('/eleven', ...fields(7), ...WEBSOCKET), 431);
    expect(await stand.hits('limits.fields')).toBe(2);
    expect(stand.upstream.received).not.toContain('eleven');
    await serves(stand);
  });

  it.each([
    ['connections', '127.0.0.1', undefined],
    ['connectionsPerAddress', '127.0.0.2', '127.0.0.3'],
  ] as const)(
    '%s: one too many is closed at once, and its place is free when another has gone',
    async (key, from, other) => {
      const stand = await startLimitStand(mode, limits({ [key]: 2 }));
      const [first, second] = [await stand.connect(from), await stand.connect(from)];
      const third = await stand.connect(from);
      await third.ended();
      expect(third.received).toBe('');
      expect(await stand.hits(`limits.${key}`)).toBe(1);
      for (const peer of [first, second]) expect((await peer.ask(get('/a'))).status).toBe(200);
      if (other !== undefined) await serves(stand, other);
      first.socket.destroy();
      await expect.poll(() => stand.sidecar.dispatcher.openConnections).toBe(1);
      await serves(stand, from);
      second.socket.destroy();
      await expect.poll(() => stand.sidecar.dispatcher.addresses.size).toBe(0);
      expect(await stand.hits(`limits.${key}`)).toBe(1);
    },
  );

  it('timeouts.head: an unfinished head causes a 408, although more of it keeps coming', async () => {
    const stand = await startLimitStand(mode, timeouts({ headMs: 150 }));
    const slow = await stand.connect();
    const trickle = setInterval(() => slow.send('x'), 20);
    const refused = expectRefused(slow, 'GET /slow HTTP/1.1\r\nHost: plant.example\r\nX-Slow: ', 408);
    await Promise.all([refused, serves(stand)]);
    clearInterval(trickle);
    expect(await stand.hits('timeouts.head')).toBe(1);
    await serves(stand);
  });

  it('timeouts.idle: a silent connection is closed, one that waits for its answer is not', async () => {
    const stand = await startLimitStand(mode, timeouts({ idleMs: 150 }));
    const waiting = await stand.connect();
    waiting.send(get('/hold'));
    await stand.upstream.holding(1);
    const silent = await stand.connect();
    await silent.ask(get('/a'));
    await silent.ended();
    expect(await stand.hits('timeouts.idle')).toBe(1);
    stand.upstream.release();
    expect((await waiting.response()).status).toBe(200);
  });

  it('timeouts.idle: a body that stands still is broken off on both sides', async () => {
    const stand = await startLimitStand(mode, timeouts({ idleMs: 150 }));
    const slow = await stand.connect();
    slow.send(post('/hold', 'begun', 'Content-Length: 100'));
    await expect.poll(() => stand.upstream.received).toContain('begun');
    await slow.ended();
    expect(await stand.hits('timeouts.idle')).toBe(1);
    await expect.poll(() => stand.sidecar.reporter.inFlight).toBe(0);
    await expect.poll(() => stand.upstream.connections.every(({ destroyed }) => destroyed)).toBe(true);
    await serves(stand);
  });

  it('timeouts.idle: a client that does not read its answer is cut off', async () => {
    const block = Buffer.alloc(1_048_576, 'x');
    const onConnection = (socket: Socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${64 * block.length}\r\n\r\n`);
        for (let i = 0; i < 64; i += 1) socket.write(block);
      });
    };
    const stand = await startLimitStand(mode, timeouts({ idleMs: 150 }), { onConnection });
    const slow = await stand.connect();
    slow.socket.pause();
    slow.send(get('/large'));
    await expect.poll(() => stand.hits('timeouts.idle'), { timeout: 15_000 }).toBe(1);
    await expect.poll(() => stand.sidecar.dispatcher.openConnections).toBe(0);
    expect(stand.sidecar.reporter.inFlight).toBe(0);
  });

  it('timeouts.halfClosed: a client that has closed its sending side waits that long at most', async () => {
    const stand = await startLimitStand(mode, timeouts({ halfClosedMs: 150 }));
    stand.upstream.staysHalfOpen = true;
    const half = await stand.connect();
    half.socket.end(get('/hold'), 'latin1');
    await half.ended();
    expect(await stand.hits('timeouts.halfClosed')).toBe(1);
    expect(await stand.hits('timeouts.idle')).toBe(0);
    await serves(stand);
  });
});

it('monitorings beyond comet.maxSubscriptions are not counted, until another one has ended', () => {
  const traffic = new CometTraffic({ comet: { ...testComet, maxSubscriptions: 2 } });
  traffic.handshake('a');
  traffic.subscribe('a', ['/d2/object/A', '/d2/object/B', '/d2/object/C']);
  traffic.unsubscribe('a', '/d2/object/A');
  traffic.subscribe('a', ['/d2/object/C']);
  expect(['A', 'B', 'C'].map((name) => traffic.subscriptionsOf(name))).toEqual([0, 1, 1]);
  expect(traffic.numbers.untracked.subscriptions).toBe(1);
});
