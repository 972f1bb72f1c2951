/** Requests sent before their turn: what is kept of them, for one connection and for all together. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { untilStill } from '../../support/wire/still.ts';
import { type LimitStand, MODES, post, type RawPeer, startLimitStand } from './limit-stand.ts';

const KEY = 'limits.memoryBytes';
const MEBIBYTE = 1024 * 1024;

function sized(target: string, bytes: number): string {
  const [start, end] = [`GET ${target} HTTP/1.1\r\nHost: a\r\nX: `, '\r\n\r\n'];
  return start + 'x'.repeat(bytes - start.length - end.length) + end;
}

/** Half of it is for requests: 131,072 bytes. */
const smallMemory = ({ limits }: Config): Partial<Config> => ({ limits: { ...limits, memoryBytes: 262_144 } });

async function holding(stand: LimitStand): Promise<RawPeer> {
  const before = stand.upstream.heldNow;
  const peer = await stand.connect();
  peer.send('GET /hold HTTP/1.1\r\nHost: a\r\n\r\n');
  await stand.upstream.holding(before + 1);
  return peer;
}

/** Until nothing moves between a client and the sidecar any more: what has not been taken by then waits in the system. */
async function standsStill({ socket }: RawPeer): Promise<void> {
  await untilStill(() => socket.writableLength, 100);
}

async function expectServed(peer: RawPeer, count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) expect((await peer.response()).status).toBe(200);
}

describe.each(MODES)('requests sent ahead, $name', (mode) => {
  /** A stand, and a client whose request is held. */
  const started = async (config?: (base: Config) => Partial<Config>) => {
    const stand = await startLimitStand(mode, config);
    return { stand, peer: await holding(stand) };
  };

  // A head of 62 kB each, so that they come in more reads than one.
  it('wait in the system’s buffers past limits.headBytes, and are all answered', async () => {
    const { stand, peer } = await started();
    // More than the kernel's buffers hold.
    const count = 600;
    peer.send(sized('/a', 62_000).repeat(count));
    await standsStill(peer);
    expect(peer.socket.writableLength).toBeGreaterThan(MEBIBYTE);
    expect(stand.sidecar.reporter.open).toBeLessThan(8);
    expect(await stand.kept('requests')).toBeGreaterThan(60_000);
    expect(await stand.kept('requests')).toBeLessThan(5 * 65_536);
    stand.upstream.release();
    await expectServed(peer, 1 + count);
    expect(await stand.kept('requests')).toBe(0);
  });

  it('are all answered, in order, though more come than may wait: 300 of 300 bytes, and the client closes its side', async () => {
    const { stand, peer } = await started();
    for (let i = 0; i < 300; i += 1) peer.send(sized(`/${i}`, 300));
    peer.socket.end();
    await standsStill(peer);
    stand.upstream.release();
    await expectServed(peer, 301);
    const targets = [...stand.upstream.received.matchAll(/GET \/(\d+) /g)].map(([, n]) => Number(n));
    expect(targets).toEqual(Array.from({ length: 300 }, (_, i) => i));
    await peer.ended();
  });

  it('may have bodies, which wait as well', async () => {
    const { stand, peer } = await started();
    peer.send(post('/body', 'b'.repeat(8 * MEBIBYTE)) + sized('/behind', 100));
    await standsStill(peer);
    expect(peer.socket.writableLength).toBeGreaterThan(0);
    expect(await stand.kept('requests')).toBeGreaterThan(0);
    expect(await stand.kept('requests')).toBeLessThan(4 * 65_536);
    stand.upstream.release();
    await expectServed(peer, 3);
    expect(await stand.kept('requests')).toBe(0);
  });

  it('are given back with their connection', async () => {
    const { stand, peer } = await started(({ timeouts }) => ({ timeouts: { ...timeouts, halfClosedMs: 50 } }));
    peer.send(sized('/a', 30_000));
    await expect.poll(() => stand.kept('requests')).toBeGreaterThanOrEqual(30_000);
    peer.socket.destroy();
    await expect.poll(() => stand.kept('requests')).toBe(0);
  });

  it('are refused with 503 when there is no memory for them, and others are served', async () => {
    const stand = await startLimitStand(mode, smallMemory);
    const peers: RawPeer[] = [];
    for (let i = 0; i < 6; i += 1) peers.push(await holding(stand));
    for (const [i, peer] of peers.entries()) {
      peer.send(sized('/a', 50_000));
      // Two fit.
      if (i < 2) await expect.poll(() => stand.kept('requests')).toBeGreaterThanOrEqual((i + 1) * 50_000);
      else await expect.poll(() => stand.hits(KEY)).toBe(i - 1);
    }
    expect(await stand.kept('requests')).toBeLessThanOrEqual(131_072);
    expect((await (await stand.connect()).ask(sized('/b', 300))).status).toBe(200);
    for (const _ of peers) stand.upstream.release();
    const statuses: number[] = [];
    for (const peer of peers) {
      expect((await peer.response()).status).toBe(200);
      statuses.push((await peer.response()).status);
    }
    expect(statuses).toEqual([200, 200, 503, 503, 503, 503]);
    expect(await stand.kept('requests')).toBe(0);
  });
});

const BEGUN = `GET /a HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(30_000)}`;
const END = '\r\n\r\n';

describe.each(MODES)('heads that are not finished, $name', (mode) => {
  let stand: LimitStand;

  beforeEach(async () => {
    stand = await startLimitStand(mode, smallMemory);
  });

  /** Every other connection has been served before. */
  async function begin(count: number): Promise<RawPeer[]> {
    const peers: RawPeer[] = [];
    for (let i = 0; i < count; i += 1) {
      const peer = await stand.connect();
      if (i % 2 === 1) await peer.ask(sized('/first', 100));
      peer.send(BEGUN);
      await expect.poll(() => stand.kept('requests')).toBeGreaterThan((i + 1) * 30_000);
      peers.push(peer);
    }
    return peers;
  }

  it('are charged until they are complete, or gone with their connection', async () => {
    const [whole, left, ended] = (await begin(3)) as [RawPeer, RawPeer, RawPeer];
    whole.send(END);
    await expectServed(whole, 1);
    left.socket.destroy();
    ended.socket.end();
    await expect.poll(() => stand.kept('requests')).toBe(0);
    expect(await stand.hits(KEY)).toBe(0);
  });

  it('are answered with 503, the longest unfinished first, when memory is short', async () => {
    const [oldest, ...others] = (await begin(4)) as [RawPeer, ...RawPeer[]];
    const last = await stand.connect();
    last.send(BEGUN);
    expect((await oldest.response()).status).toBe(503);
    await oldest.ended();
    for (const peer of [...others, last]) {
      peer.send(END);
      await expectServed(peer, 1);
    }
    expect(await stand.hits(KEY)).toBe(1);
  });

  it('are not charged while a body comes', async () => {
    const peer = await stand.connect();
    peer.send('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
    for (let sent = 200_000; sent <= 1_000_000; sent += 200_000) {
      peer.send('b'.repeat(200_000));
      await expect.poll(() => stand.upstream.received.length).toBeGreaterThan(sent);
      expect(await stand.kept('requests')).toBe(0);
    }
    await expectServed(peer, 1);
  });
});

// The shape of Node's own test-http-pipeline-flood.
it.each(MODES)(
  'a flood of small requests is not read on, though the first is answered to nobody, $name',
  async (mode) => {
    const stand = await startLimitStand(mode);
    const peer = await stand.connect();
    peer.socket.pause();
    peer.send('GET /app/x HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2_000_000));
    await standsStill(peer);
    expect(peer.socket.writableLength).toBeGreaterThan(MEBIBYTE);
    expect(stand.sidecar.reporter.open).toBeLessThanOrEqual(1);
    const other = await stand.connect();
    expect((await other.ask(sized('/b', 100))).status).toBe(200);
  },
);
