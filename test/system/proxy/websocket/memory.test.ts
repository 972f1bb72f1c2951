import { expect, it } from 'vitest';
import type { Exchange } from '../../../../src/proxy/exchange/exchange.ts';
import { usedBytes } from '../../../support/garbage.ts';
import type { Peer } from '../../../support/wire/peer.ts';
import { SWITCHING, UPGRADE, useStand } from '../stand.ts';

const stand = useStand();

const HEAD_BYTES = 55_000;
const LARGE = UPGRADE.replace(/\r\n$/, `X: ${'x'.repeat(HEAD_BYTES)}\r\n\r\n`);
const LIMITS = { headBytes: 64 * 1024 };

/** Accepts at the end of the head, and keeps none of it. */
const accepting = { upstream: (peer: Peer) => peer.head().then(() => peer.send(SWITCHING)), limits: LIMITS };

it('an open WebSocket keeps a few kilobytes, nothing of its handshake', { timeout: 60_000 }, async () => {
  const count = 100;
  await stand.start(accepting);
  const open = async () => {
    const client = stand.client(LARGE);
    await client.head();
  };
  // The first ones fill what grows once.
  for (let i = 0; i < 20; i += 1) await open();
  stand.ended = [];
  const before = await usedBytes();
  for (let i = 0; i < count; i += 1) await open();
  await stand.endings(count);
  stand.ended = [];
  const perSocket = ((await usedBytes()) - before) / count;
  // Both ends of the test are in this process as well.
  expect(perSocket).toBeLessThan(30_000);
  expect(stand.webSockets.open).toBe(20 + count);
});

it('an open WebSocket keeps no exchange', async () => {
  await stand.start(accepting);
  const client = stand.client(LARGE);
  await client.head();
  await stand.endings(1);
  const exchange = new WeakRef<Exchange>(stand.ended[0]!.exchange);
  stand.ended = [];
  await usedBytes();
  expect(exchange.deref()).toBeUndefined();
});

it('the head of a handshake that waits is charged to the memory budget; without room it is refused with 503', async () => {
  await stand.start({ limits: { ...LIMITS, memoryBytes: 600_000 } });
  const first = stand.client(LARGE);
  const upstream = await stand.asked();
  expect(stand.memory.used.requests).toBeGreaterThan(HEAD_BYTES);
  const second = stand.client(LARGE);
  expect(await second.head()).toMatch(/^HTTP\/1\.1 503 /);
  expect(stand.reporter.hits.countOf('limits.memoryBytes')).toBe(1);
  upstream.send(SWITCHING);
  await first.head();
  expect(stand.memory.usedBytes).toBe(0);
});
