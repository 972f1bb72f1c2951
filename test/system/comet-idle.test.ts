/** A client that only listens is idle: neither values from the server nor heartbeats count as activity. */
import { afterEach, expect, it } from 'vitest';
import { logIn } from '../support/comet/browsers.ts';
import { startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { CometdPeer, type CometdPeerOptions } from '../support/comet/cometd-peer.ts';
import { startCometdPlant } from '../support/comet/cometd-plant.ts';
import type { Browser } from '../support/comet/peer.ts';
import type { Plant } from '../support/comet/plant.ts';
import { startWebSocketPlant } from '../support/comet/websocket-plant.ts';
import { StatisticsReader } from './comet/statistics.ts';

const cleanUps: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

it.each<[CometdPeerOptions['transport'], () => Promise<Plant>]>([
  ['long-polling', () => startCometdPlant()],
  ['websocket', () => startWebSocketPlant({ deflate: {} })],
])('%s: a session ends after the idle time, although heartbeats and values continue', async (transport, startPlant) => {
  const plant = await startPlant();
  const sidecar = await startCometSidecar(plant.port, { sessions: { idle: '2s', cometGone: '1m' } });
  const browser: Browser = { userName: 'anna', cookies: new Map(), fields: {}, ext: undefined };
  const peer = new CometdPeer(sidecar.origin, browser, { transport });
  const pushing = setInterval(() => plant.push('H.Boiler'), 50);
  cleanUps.push(
    () => clearInterval(pushing),
    () => peer.kill(),
    () => sidecar.close(),
    () => plant.close(),
  );
  await logIn(sidecar.origin, { browser, login: 'form', tabs: 1 }, 1);
  await peer.connect();
  await peer.monitor('H.Boiler', 'channel');

  const reader = new StatisticsReader(sidecar.process.monitor);
  expect((await reader.sessions()).map(({ userName }) => userName)).toEqual(['anna']);
  await expect.poll(() => reader.sessions(), { timeout: 8_000, interval: 50 }).toEqual([]);
  const { totals } = await reader.statistics();
  expect([totals.monitored, totals.subscriptions]).toEqual([0, 0]);
  // It was connected all the time, and received values.
  const received = peer.tally.valueCount;
  expect(received).toBeGreaterThan(10);
  await expect.poll(() => peer.tally.valueCount, { timeout: 4_000 }).toBeGreaterThan(received);
});
