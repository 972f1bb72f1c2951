/** Users do not notice a restart: the real CometD client continues with its clientId, which the new process recognises. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { logIn } from '../support/comet/browsers.ts';
import { CometdPeer } from '../support/comet/cometd-peer.ts';
import { startCometdPlant } from '../support/comet/cometd-plant.ts';
import type { Browser } from '../support/comet/peer.ts';
import { startSidecarProcess } from '../support/sidecar-process.ts';
import { StatisticsReader } from './comet/statistics.ts';

/** How long the server keeps an absent client: longer than a start on a busy machine. */
const KEPT_MS = 60_000;

const cleanUps: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

it.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s: after a restart the session, its name, subscriptions and counts are back, without a new login or handshake',
  async (signal) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'd2-sidecar-comet-restart-'));
    const plant = await startCometdPlant(undefined, KEPT_MS);
    const start = async (listen: string) => {
      const upstream = `http://127.0.0.1:${plant.port}/smartWeb`;
      const args = ['--upstream', upstream, '--listen', listen, '--monitor', '127.0.0.1:0'];
      const state = { D2_SIDECAR_STATE_FILE: path.join(folder, 'state'), D2_SIDECAR_STATE_INTERVAL: '100ms' };
      const sidecar = await startSidecarProcess(args, { ...state, D2_SIDECAR_STOP_DEADLINE: '0' });
      cleanUps.unshift(() => sidecar.stop());
      return { sidecar, reader: new StatisticsReader(sidecar.monitor) };
    };
    cleanUps.push(
      () => plant.close(),
      () => rm(folder, { recursive: true }),
    );

    const first = await start('127.0.0.1:0');
    const { listen, monitor } = first.sidecar;
    const browser: Browser = { userName: 'anna', cookies: new Map(), fields: {}, ext: undefined };
    const peer = new CometdPeer(`http://${listen}`, browser, { transport: 'long-polling' });
    cleanUps.unshift(() => peer.kill());
    await logIn(`http://${listen}`, { browser, login: 'form', tabs: 1 }, 1);
    await peer.connect();
    await peer.monitor('H.Boiler', 'channel');
    await peer.monitor('H.Pump', 'service');
    plant.push('H.Boiler');
    await expect.poll(() => peer.tally.valueCount).toBe(1);
    const [session] = await first.reader.sessions();
    expect(session).toMatchObject({ userName: 'anna' });
    const saves = async () => {
      const text = await (await fetch(`http://${monitor}/metrics`)).text();
      return Number(/^d2_sidecar_state_saves_total (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    // The second poll from now on begins after the restart.
    const before = await saves();
    await expect.poll(saves, { timeout: 10_000 }).toBeGreaterThan(before + 1);
    const { clientId, handshakes, connects } = peer;
    await first.sidecar.stop(signal);

    const second = await start(listen);
    await expect.poll(() => peer.connects, { timeout: 15_000 }).toBeGreaterThan(connects + 1);
    expect(peer.clientId).toBe(clientId);
    expect(peer.handshakes).toBe(handshakes);
    expect(await second.reader.sessions()).toEqual([expect.objectContaining({ id: session?.id, userName: 'anna' })]);
    plant.push('H.Boiler');
    await expect.poll(() => peer.tally.valueCount).toBe(2);
    await expect
      .poll(async () => (await second.reader.statistics()).totals)
      .toMatchObject({ monitored: 2, subscriptions: 2, values: 2 });
    await peer.unmonitor('H.Pump');
    expect((await second.reader.statistics()).totals).toMatchObject({ monitored: 1, subscriptions: 1 });
    const text = await (await fetch(`http://${second.sidecar.monitor}/metrics`)).text();
    expect(text).toContain('d2_comet_adopted_clients_total 0');
    expect(text).toMatch(/^d2_comet_handshakes_total\{outcome="accepted"\} 1$/m);
  },
  60_000,
);
