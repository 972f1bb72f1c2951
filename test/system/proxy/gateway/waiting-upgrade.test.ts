import { afterEach, describe, expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { RequestMemory } from '../../../../src/limits/request-memory.ts';
import type { Peer } from '../../../support/wire/peer.ts';
import { untilStill } from '../../../support/wire/still.ts';
import { Stand, type StandOptions } from './stand.ts';

const GET = 'GET /held HTTP/1.1\r\nHost: a\r\n\r\n';
const UPGRADE =
  'GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n';
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

let stand: Stand;

afterEach(() => stand.close());

async function start(options: Partial<StandOptions>): Promise<void> {
  stand = await Stand.start({ upstream: () => undefined, ...options });
}

/** Once the upstream has `count` heads, all of them unanswered. */
async function held(count: number): Promise<Peer> {
  await expect.poll(() => stand.upstreams[0]?.received.split('\r\n\r\n').length).toBe(count + 1);
  return stand.upstreams[0] as Peer;
}

const leaving: readonly [string, (client: Peer) => void][] = [
  ['resets', (client) => client.reset()],
  ['closes', (client) => client.socket.destroy()],
];
const AHEAD = ['', 'sent ahead'];
/** Every way of leaving, with and without having sent more than the request. */
const ways = leaving.flatMap(([how, leave]) => AHEAD.map((ahead) => ({ how, leave, ahead })));

describe('a client that asks for a WebSocket', () => {
  it.each(ways)('and $how while the upstream is silent closes its upstream connection ($ahead)', async (way) => {
    await start({ gateway: { halfClosedTimeoutMs: 3_600_000 } });
    const client = stand.client(UPGRADE + way.ahead);
    const upstream = await held(1);
    client.send(way.ahead);
    way.leave(client);
    await upstream.ended();
    const [ended] = await stand.endings(1);
    expect(ended?.ending).toEqual({ kind: 'cancelled' });
    await stand.allClosed();
  });

  it('after another request, and closes its side before that is answered, is not passed on', async () => {
    await start({ gateway: { halfClosedTimeoutMs: 3_600_000 } });
    const client = stand.client(GET + UPGRADE);
    const upstream = await held(1);
    await expect.poll(() => stand.reporter.open).toBe(2);
    client.finish();
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
    await client.ended();
    expect(client.received).toBe('HTTP/1.1 204 No Content\r\n\r\n');
    expect((await stand.endings(2)).map(({ ending }) => ending.kind)).toEqual(['completed', 'cancelled']);
    await stand.allClosed();
    expect(upstream.received).not.toContain('Upgrade');
  });

  it('and closes its side during the refusal gets the whole refusal', async () => {
    await start({});
    const client = stand.client(UPGRADE);
    const upstream = await held(1);
    upstream.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nnot ');
    await client.take('not ');
    client.finish();
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    upstream.send('so');
    await client.take('so');
    expect((await stand.endings(1))[0]?.ending).toEqual({ kind: 'completed' });
  });

  it.each(ways)('after a held request, and $how, ends both ($ahead)', async (way) => {
    await start({ gateway: { halfClosedTimeoutMs: 50 } });
    const client = stand.client(GET + UPGRADE + way.ahead);
    const upstream = await held(1);
    await expect.poll(() => stand.reporter.open).toBe(2);
    client.send(way.ahead);
    way.leave(client);
    await upstream.ended();
    expect((await stand.endings(2)).map(({ ending }) => ending.kind)).toEqual(['cancelled', 'cancelled']);
    await stand.allClosed();
  });

  it.each(leaving)('or for something else, after a held request, and %s, ends that, too', async (_how, leave) => {
    await start({ gateway: { halfClosedTimeoutMs: 50 } });
    const client = stand.client(GET + UPGRADE.replace('websocket', 'h2c'));
    const upstream = await held(1);
    leave(client);
    await upstream.ended();
    expect((await stand.endings(1)).map(({ ending }) => ending.kind)).toEqual(['cancelled']);
    await stand.allClosed();
  });

  it('has what it sends ahead passed on after the upgrade, in order', async () => {
    await start({});
    const client = stand.client(`${GET}${UPGRADE}one `);
    const upstream = await held(1);
    client.send('two ');
    await expect.poll(() => stand.reporter.open).toBe(2);
    upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
    await held(2);
    client.send('three ');
    await client.take('204 No Content\r\n\r\n');
    // All that was sent has been read by now, since all ends share this event loop.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    upstream.send(SWITCHING);
    await client.take(SWITCHING);
    client.send('four');
    expect(await upstream.take('four')).toMatch(/one two three four$/);
  });

  it('can send a bounded number of bytes ahead', async () => {
    await start({ gateway: { headBytes: 16_384 } });
    const client = stand.client(UPGRADE);
    const upstream = await held(1);
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
    await start({ gateway: { headBytes: 16_384, memory: new RequestMemory(budget) } });
    const client = stand.client(`${UPGRADE}one`);
    const upstream = await held(1);
    client.send('x'.repeat(10_000));
    await expect.poll(() => budget.used.ahead).toBe(10_003);
    upstream.send(SWITCHING);
    await client.take(SWITCHING);
    await upstream.take('x'.repeat(10_000));
    expect(budget.used.ahead).toBe(0);
    expect(budget.usedBytes).toBe(0);
  });

  it.each([
    ['together with its request', ''],
    ['behind it', 'y'],
  ])('ends where there is no memory for what it sends ahead %s', async (_when, first) => {
    const budget = new MemoryBudget(16_384);
    await start({ gateway: { headBytes: 16_384, memory: new RequestMemory(budget) } });
    const ahead = 'x'.repeat(12_000);
    const client = stand.client(first === '' ? UPGRADE + ahead : UPGRADE + first);
    if (first !== '') {
      await held(1);
      client.send(ahead);
    }
    await client.ended();
    expect(client.received).toMatch(first === '' ? /^HTTP\/1\.1 503 / : /^$/);
    expect(stand.reporter.hits.countOf('limits.memoryBytes')).toBe(1);
    client.socket.destroy();
    await stand.allClosed();
    expect(budget.usedBytes).toBe(0);
  });

  it('or another protocol after a held request, and half-closes, is refused when its turn comes', async () => {
    await start({});
    const client = stand.client(GET + UPGRADE.replace('websocket', 'h2c'));
    const upstream = await held(1);
    client.finish();
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 204 No Content\r\n\r\nHTTP\/1\.1 400 Bad Request\r\n/);
  });

  it('and is refused can go on sending, and gets the whole answer', async () => {
    await start({});
    const client = stand.client(`${UPGRADE}ahead`);
    const upstream = await held(1);
    client.send('more');
    upstream.send('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno');
    expect(await client.take('no')).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    await client.ended();
  });
});
