/** Heads of which a part is in Node's parser: what they take for all connections together. */
import { expect, it } from 'vitest';
import type { Config } from '../../../../src/config/config.ts';
import { type LimitStand, LimitStands, MODES, type Mode, type RawPeer } from '../../limits/limit-stand.ts';

const stands = new LimitStands();

const KEY = 'limits.memoryBytes';
const GATEWAY = MODES.find(({ name }) => name === 'gateway') as Mode;
/** Half of it is for requests: 131,072 bytes. */
const smallMemory = ({ limits }: Config): Partial<Config> => ({ limits: { ...limits, memoryBytes: 262_144 } });
const BEGUN = `GET /a HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(30_000)}`;

async function begun(stand: LimitStand, first = ''): Promise<RawPeer> {
  const peer = await stand.connect();
  if (first !== '') await peer.ask(first);
  peer.send(BEGUN);
  return peer;
}

it('are charged until they are complete, or gone with their connection', async () => {
  const stand = await stands.start(GATEWAY, smallMemory);
  const peers = [await begun(stand), await begun(stand, 'GET /first HTTP/1.1\r\nHost: a\r\n\r\n')];
  await expect.poll(() => stand.kept('requests')).toBeGreaterThan(60_000);
  peers[0]?.send('\r\n\r\n');
  expect((await peers[0]?.response())?.status).toBe(200);
  peers[1]?.socket.destroy();
  await expect.poll(() => stand.kept('requests')).toBe(0);
});

it('are charged after a request that is being served, though they came in the same read', async () => {
  const stand = await stands.start(GATEWAY, smallMemory);
  const peer = await stand.connect();
  peer.send(`GET /hold HTTP/1.1\r\nHost: a\r\n\r\n${BEGUN}`);
  await stand.upstream.holding(1);
  await expect.poll(() => stand.kept('requests')).toBeGreaterThan(30_000);
  stand.upstream.release();
  expect((await peer.response()).status).toBe(200);
  await expect.poll(() => stand.kept('requests')).toBeGreaterThan(30_000);
  peer.send('\r\n\r\n');
  expect((await peer.response()).status).toBe(200);
});

it('are answered with 503, the longest unfinished first, when memory is short', async () => {
  const stand = await stands.start(GATEWAY, smallMemory);
  const peers: RawPeer[] = [];
  for (let i = 0; i < 5; i += 1) {
    peers.push(await begun(stand));
    if (i < 4) await expect.poll(() => stand.kept('requests')).toBeGreaterThan((i + 1) * 30_000);
  }
  const [oldest, ...others] = peers as [RawPeer, ...RawPeer[]];
  expect((await oldest.response()).status).toBe(503);
  await oldest.ended();
  expect(await stand.hits(KEY)).toBe(1);
  for (const peer of others) {
    peer.send('\r\n\r\n');
    expect((await peer.response()).status).toBe(200);
  }
});

it('are not charged while a body comes', async () => {
  const stand = await stands.start(GATEWAY, smallMemory);
  const peer = await stand.connect();
  peer.send('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
  for (let i = 0; i < 4; i += 1) {
    peer.send('b'.repeat(200_000));
    await expect.poll(() => stand.upstream.received.length).toBeGreaterThan(200_000 * (i + 1));
    expect(await stand.kept('requests')).toBe(0);
  }
  peer.send('b'.repeat(200_000));
  expect((await peer.response()).status).toBe(200);
});
