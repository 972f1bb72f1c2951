import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../../../src/proxy/exchange/exchange.ts';
import { usedBytes } from '../../../support/garbage.ts';
import { type Peer, send, takeHead } from '../../../support/wire/peer.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { untilStill } from '../../../support/wire/still.ts';
import { GET, SWITCHING, UPGRADE, useStand } from '../stand.ts';

const NO_CONTENT = 'HTTP/1.1 204 No Content\r\n\r\n';

const stand = useStand();

const leaving: readonly [string, (client: Peer) => void][] = [
  ['resets', (client) => client.reset()],
  ['closes', (client) => client.socket.destroy()],
];
const asking: readonly [what: string, asked: string, halfClosedMs: number][] = [
  ['a WebSocket', `${UPGRADE}ahead`, 3_600_000],
  ['a WebSocket after a held request', `${GET + UPGRADE}ahead`, 50],
  ['another protocol after a held request', GET + UPGRADE.replace('websocket', 'h2c'), 50],
];

describe.each(leaving)('a client that %s while the upstream is silent', (_how, leave) => {
  it.each(asking)(
    'having asked for %s ends its exchange and its upstream connection',
    async (_, asked, halfClosedMs) => {
      const [client, upstream] = await stand.begin(asked, { timeouts: { halfClosedMs } });
      await expect.poll(() => stand.sidecar.reporter.open).toBe(1);
      leave(client);
      await upstream.ended();
      expect(await stand.endings(1)).toEqual(['cancelled']);
      await stand.allClosed();
    },
  );
});

describe('a client that asks for a WebSocket', () => {
  it('after another request, and closes its side before that is answered, is not passed on', async () => {
    const [client, upstream] = await stand.begin(GET + UPGRADE, { timeouts: { halfClosedMs: 3_600_000 } });
    await turns(10);
    client.finish();
    await turns(10);
    upstream.send(NO_CONTENT);
    await client.ended();
    expect(client.received).toBe(NO_CONTENT);
    // The first call counts a second later: its client could have left.
    expect(await stand.endings(2)).toEqual(['cancelled', 'completed']);
    await stand.allClosed();
    expect(upstream.received).not.toContain('Upgrade');
  });

  it('gets the whole refusal, whether it closes its side during it or has sent more', async () => {
    for (const ahead of ['', 'ahead']) {
      const [client, upstream] = await stand.begin(UPGRADE + ahead);
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
    const [client, upstream] = await stand.begin(`${GET}${UPGRADE}one `);
    client.send('two ');
    await turns(10);
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
    const [client, upstream] = await stand.begin(UPGRADE);
    // More than the kernel's buffers on both sides of the loopback hold.
    client.send('x'.repeat(32 * 1024 * 1024));
    // One read beyond the bound; the rest waits in the kernel and with the client.
    await untilStill(() => client.socket.writableLength, 100);
    expect(client.socket.writableLength).toBeGreaterThan(0);
    expect(stand.memory.used.ahead).toBeLessThan(1_048_576);
    upstream.send(SWITCHING);
    await client.take(SWITCHING);
    await expect.poll(() => client.socket.writableLength, { timeout: 10_000 }).toBe(0);
  });

  it.each<[string, (upstream: Peer) => unknown, string]>([
    ['answered', (upstream) => upstream.send(SWITCHING), SWITCHING],
    ['failed', (upstream) => upstream.socket.destroy(), ' 502 '],
  ])('has what it sends ahead charged to the memory budget until its upstream has %s', async (_how, act, received) => {
    const [client, upstream] = await stand.begin(`${UPGRADE}one`, { limits: { memoryBytes: 65_536 } });
    client.send('x'.repeat(10_000));
    await expect.poll(() => stand.memory.used.ahead).toBe(10_003);
    act(upstream);
    await client.take(received);
    await expect.poll(() => stand.memory.used.ahead).toBe(0);
  });

  it.each([
    ['together with its request', '', /^HTTP\/1\.1 503 /],
    ['behind it', 'y', /^$/],
  ])('ends where there is no memory for what it sends ahead %s', async (_when, first, received) => {
    await stand.start({ limits: { memoryBytes: 16_384 } });
    const ahead = 'x'.repeat(12_000);
    const client = stand.client(UPGRADE + (first || ahead));
    if (first !== '') {
      await stand.asked();
      client.send(ahead);
    }
    await client.ended();
    expect(client.received).toMatch(received);
    expect(stand.sidecar.reporter.hits.countOf('limits.memoryBytes')).toBe(1);
    client.socket.destroy();
    await stand.allClosed();
    expect(stand.memory.usedBytes).toBe(0);
  });
});

const LARGE = UPGRADE.replace(/\r\n$/, `X: ${'x'.repeat(55_000)}\r\n\r\n`);
const headBytes = 64 * 1024;

it('an open WebSocket keeps no exchange', async () => {
  await stand.start({ upstream: [takeHead, send(SWITCHING)], limits: { headBytes } });
  await stand.client(LARGE).head();
  await stand.endings(1);
  const exchange = new WeakRef<Exchange>(stand.ended[0]!.exchange);
  stand.ended = [];
  await usedBytes();
  expect(exchange.deref()).toBeUndefined();
});

it('the head of a handshake that waits is charged to the memory budget; without room it is refused with 503', async () => {
  await stand.start({ limits: { headBytes, memoryBytes: 600_000 } });
  const first = stand.client(LARGE);
  const upstream = await stand.asked();
  expect(stand.memory.used.requests).toBeGreaterThan(55_000);
  const second = stand.client(LARGE);
  expect(await second.head()).toMatch(/^HTTP\/1\.1 503 /);
  expect(stand.sidecar.reporter.hits.countOf('limits.memoryBytes')).toBe(1);
  upstream.send(SWITCHING);
  await first.head();
  expect(stand.memory.usedBytes).toBe(0);
});
