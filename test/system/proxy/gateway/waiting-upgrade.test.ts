import { describe, expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { RequestMemory } from '../../../../src/limits/request-memory.ts';
import type { Peer } from '../../../support/wire/peer.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { untilStill } from '../../../support/wire/still.ts';
import { GET, SWITCHING, UPGRADE, useStand } from './stand.ts';

const OTHER_UPGRADE = UPGRADE.replace('websocket', 'h2c');
const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';

const stand = useStand();

const leaving: readonly [string, (client: Peer) => void][] = [
  ['resets', (client) => client.reset()],
  ['closes', (client) => client.socket.destroy()],
];
/** Every way of leaving, with and without having sent more than the request. */
const ways = leaving.flatMap(([how, leave]) => ['', 'sent ahead'].map((ahead) => ({ how, leave, ahead })));

describe('a client that asks for a WebSocket', () => {
  it.each(ways)('and $how while the upstream is silent closes its upstream connection ($ahead)', async (way) => {
    await stand.start({ gateway: { halfClosedTimeoutMs: 3_600_000 } });
    const client = stand.client(UPGRADE + way.ahead);
    const upstream = await stand.asked();
    client.send(way.ahead);
    way.leave(client);
    await upstream.ended();
    expect(await stand.endings(1)).toEqual(['cancelled']);
    await stand.allClosed();
  });

  it.each(ways)('after a held request, and $how, ends both ($ahead)', async (way) => {
    await stand.start({ gateway: { halfClosedTimeoutMs: 50 } });
    const client = stand.client(GET + UPGRADE + way.ahead);
    const upstream = await stand.asked();
    await expect.poll(() => stand.reporter.open).toBe(2);
    client.send(way.ahead);
    way.leave(client);
    await upstream.ended();
    expect(await stand.endings(2)).toEqual(['cancelled', 'cancelled']);
    await stand.allClosed();
  });

  it.each(leaving)('or another protocol after a held request, and %s, ends both', async (_how, leave) => {
    await stand.start({ gateway: { halfClosedTimeoutMs: 50 } });
    const client = stand.client(GET + OTHER_UPGRADE);
    const upstream = await stand.asked();
    leave(client);
    await upstream.ended();
    expect(await stand.endings(1)).toEqual(['cancelled']);
    await stand.allClosed();
  });

  it('after another request, and closes its side before that is answered, is not passed on', async () => {
    await stand.start({ gateway: { halfClosedTimeoutMs: 3_600_000 } });
    const client = stand.client(GET + UPGRADE);
    const upstream = await stand.asked();
    await expect.poll(() => stand.reporter.open).toBe(2);
    client.finish();
    await turns(10);
    upstream.send(NO_CONTENT);
    await client.ended();
    expect(client.received).toBe(NO_CONTENT);
    expect(await stand.endings(2)).toEqual(['completed', 'cancelled']);
    await stand.allClosed();
    expect(upstream.received).not.toContain('Upgrade');
  });

  it('or another protocol after a held request, and half-closes, is refused when its turn comes', async () => {
    await stand.start();
    const client = stand.client(GET + OTHER_UPGRADE);
    const upstream = await stand.asked();
    client.finish();
    await turns(10);
    upstream.send(NO_CONTENT);
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 204 No Content\r\n\r\nHTTP\/1\.1 400 Bad Request\r\n/);
  });

  it('gets the whole refusal, whether it closes its side during it or has sent more', async () => {
    for (const ahead of ['', 'ahead']) {
      await stand.start();
      const client = stand.client(UPGRADE + ahead);
      const upstream = await stand.asked();
      client.send(ahead);
      upstream.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nnot ');
      await client.take('not ');
      if (ahead === '') client.finish();
      await turns(10);
      upstream.send('so');
      await client.take('so');
      await client.ended();
      expect(await stand.endings(1)).toEqual(['completed']);
      await stand.close();
    }
  });

  it('has what it sends ahead passed on after the upgrade, in order', async () => {
    await stand.start();
    const client = stand.client(`${GET}${UPGRADE}one `);
    const upstream = await stand.asked();
    client.send('two ');
    await expect.poll(() => stand.reporter.open).toBe(2);
    upstream.send(NO_CONTENT);
    await stand.asked(/\r\n\r\n.*\r\n\r\n/s);
    client.send('three ');
    await client.take(NO_CONTENT);
    // All that was sent has been read by now, since all ends share this event loop.
    await turns(10);
    upstream.send(SWITCHING);
    await client.take(SWITCHING);
    client.send('four');
    expect(await upstream.take('four')).toMatch(/one two three four$/);
  });

  it('can send a bounded number of bytes ahead', async () => {
    await stand.start({ gateway: { headBytes: 16_384 } });
    const client = stand.client(UPGRADE);
    const upstream = await stand.asked();
    // More than the kernel's buffers on both sides of the loopback hold.
    client.send('x'.repeat(32 * 1024 * 1024));
    const [connection] = stand.gateway.connections();
    // One read beyond the bound, and what the socket itself takes before it waits.
    expect(await untilStill(() => connection?.bytesRead ?? 0, 100)).toBeLessThan(1_048_576);
    upstream.send(SWITCHING);
    await client.take(SWITCHING);
    await expect.poll(() => client.socket.writableLength, { timeout: 10_000 }).toBe(0);
  });

  it('has what it sends ahead charged to the memory budget until its upstream has answered', async () => {
    const budget = new MemoryBudget(65_536);
    await stand.start({ gateway: { headBytes: 16_384, memory: new RequestMemory(budget) } });
    const client = stand.client(`${UPGRADE}one`);
    const upstream = await stand.asked();
    client.send('x'.repeat(10_000));
    await expect.poll(() => budget.used.ahead).toBe(10_003);
    upstream.send(SWITCHING);
    await client.take(SWITCHING);
    await upstream.take('x'.repeat(10_000));
    expect([budget.used.ahead, budget.usedBytes]).toEqual([0, 0]);
  });

  it('has no memory charged for what it sent ahead once its upstream has failed', async () => {
    const budget = new MemoryBudget(65_536);
    await stand.start({ gateway: { headBytes: 16_384, memory: new RequestMemory(budget) } });
    const client = stand.client(`${UPGRADE}one`);
    const upstream = await stand.asked();
    await expect.poll(() => budget.used.ahead).toBe(3);
    upstream.socket.destroy();
    await client.take(' 502 ');
    expect(budget.used.ahead).toBe(0);
  });

  it.each([
    ['together with its request', '', /^HTTP\/1\.1 503 /],
    ['behind it', 'y', /^$/],
  ])('ends where there is no memory for what it sends ahead %s', async (_when, first, received) => {
    const budget = new MemoryBudget(16_384);
    await stand.start({ gateway: { headBytes: 16_384, memory: new RequestMemory(budget) } });
    const ahead = 'x'.repeat(12_000);
    const client = stand.client(UPGRADE + (first || ahead));
    if (first !== '') {
      await stand.asked();
      client.send(ahead);
    }
    await client.ended();
    expect(client.received).toMatch(received);
    expect(stand.reporter.hits.countOf('limits.memoryBytes')).toBe(1);
    client.socket.destroy();
    await stand.allClosed();
    expect(budget.usedBytes).toBe(0);
  });
});
