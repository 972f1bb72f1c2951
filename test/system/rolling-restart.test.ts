/** A restart on the same port under load, as clients see it: what fails, what they may retry, and how often they have to. */
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { toPlan } from '../support/comet/browsers.ts';
import { CometdPeer } from '../support/comet/cometd-peer.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { playsAll } from '../support/effort.ts';
import { send, toUnusedPort } from '../support/net.ts';
import { runSidecar, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { type RollingPlant, startRollingPlant } from './rolling/plant.ts';
import { type Meetings, type RestClientOptions, runRestClient } from './rolling/rest-client.ts';
import { SocketClient } from './rolling/socket-client.ts';

const REST_CLIENTS: readonly (RestClientOptions & { readonly count: number })[] = [
  { count: 12, method: 'POST', keepAlive: true, pauseMs: 5 },
  { count: 6, method: 'POST', keepAlive: true, pauseMs: 333 },
  // Pauses longer than the quiet time, and shorter than the drain.
  { count: 6, method: 'POST', keepAlive: true, pauseMs: 1_250 },
  { count: 6, method: 'POST', keepAlive: false, pauseMs: 10 },
  { count: 4, method: 'GET', keepAlive: true, pauseMs: 7 },
];
const SOCKETS = 20;
const POLLERS = 8;
const ROUNDS = playsAll ? 3 : 1;
const STOP = { D2_SIDECAR_STOP_DELAY: '1500ms', D2_SIDECAR_STOP_WINDOW: '1500ms', D2_SIDECAR_STOP_DEADLINE: '15s' };

const defer = deferTo(afterEach);

type Ports = Readonly<Record<'listen' | 'monitor', number>>;

function start({ port }: RollingPlant, { listen, monitor }: Ports, control: string): Promise<SidecarProcess> {
  const places = ['--listen', `127.0.0.1:${listen}`, '--monitor', `127.0.0.1:${monitor}`];
  const args = ['--upstream', `http://127.0.0.1:${port}/smartWeb`, ...places];
  return startSidecarProcess(args, { ...STOP, D2_SIDECAR_CONTROL_SOCKET: control });
}

/** Polls liveness and readiness on a new connection each time, as kubelet does: answers, and changes of readiness. */
async function probe(
  port: number,
  seen: { live: Set<string>; ready: string[] },
  isStopped: () => boolean,
): Promise<void> {
  const ask = (target: string) =>
    send(port, target).then(
      ({ status }) => String(status),
      (error: NodeJS.ErrnoException) => error.code ?? 'error',
    );
  for (; !isStopped(); await delay(10)) {
    const [live, ready] = await Promise.all([ask('/livez'), ask('/readyz')]);
    seen.live.add(live);
    if (seen.ready.at(-1) !== ready) seen.ready.push(ready);
  }
}

async function startPollers(port: number): Promise<readonly CometdPeer[]> {
  const peers = Array.from({ length: POLLERS }, (_, i) => {
    const { browser } = toPlan(`user${i}`, 'ext', 1);
    return new CometdPeer(`http://127.0.0.1:${port}`, browser, 'long-polling');
  });
  defer(() => peers.map((peer) => peer.kill()));
  await Promise.all(peers.map((peer) => peer.connect()));
  return peers;
}

it('a rolling restart under load fails no request, forces no new login, and closes WebSockets in order', {
  timeout: 120_000,
}, async () => {
  const control = path.join(temporaryFolder(defer), 'c/control.sock');
  const plant = await startRollingPlant();
  defer(() => plant.close());
  const ports = { listen: await toUnusedPort(), monitor: await toUnusedPort() };
  let sidecar = await start(plant, ports, control);
  defer(() => sidecar.stop('SIGKILL'));

  const meetings: Meetings = { ids: [], failures: [], announced: 0, retried: 0 };
  let isStopped = false;
  defer(() => (isStopped = true));
  const rest = REST_CLIENTS.flatMap(({ count, ...options }, kind) =>
    Array.from({ length: count }, (_, i) =>
      runRestClient(`c${kind}.${i}`, ports.listen, options, meetings, () => isStopped),
    ),
  );
  const sockets = Array.from({ length: SOCKETS }, () => new SocketClient());
  const running = Promise.all([...rest, ...sockets.map((socket) => socket.run(ports.listen, () => isStopped))]);
  const pollers = await startPollers(ports.listen);
  await expect.poll(() => sockets.every(({ echoes }) => echoes > 0), { timeout: 10_000 }).toBe(true);

  for (let round = 0; round < ROUNDS; round += 1) {
    const seen = { live: new Set<string>(), ready: [] };
    let isGone = false;
    const probing = probe(ports.monitor, seen, () => isGone);
    await expect.poll(() => seen.ready, { timeout: 10_000 }).toEqual(['200']);
    const announced = meetings.announced;
    const draining = await runSidecar(['drain', '--control', control, '--wait', '2500ms']);
    expect(draining.code).toBe(0);
    expect(draining.stdout).toMatch(/no longer ready, .*WebSockets? open\n.*timed out, .*WebSockets? still open/s);
    // New connections were served during the drain: clients that open one for each call got their answers.
    expect(meetings.announced - announced).toBeGreaterThan(20);
    expect(seen.ready).toEqual(['200', '503']);
    const [code] = await Promise.all([sidecar.stop(), sidecar.exited]);
    expect([code, sidecar.logs.at(-1)?.msg]).toEqual([0, 'stopped']);
    isGone = true;
    await probing;
    // Alive until the end, and then gone.
    expect([...seen.live].filter((answer) => !/ECONNREFUSED|ECONNRESET/.test(answer))).toEqual(['200']);

    const before = [sockets.map(({ echoes }) => echoes), pollers.map(({ connects }) => connects)];
    sidecar = await start(plant, ports, control);
    const grown = () => [
      sockets.every(({ echoes }, i) => echoes > (before[0]?.[i] ?? 0)),
      pollers.every(({ connects }, i) => connects > (before[1]?.[i] ?? 0)),
    ];
    await expect.poll(grown, { timeout: 10_000 }).toEqual([true, true]);
  }
  isStopped = true;
  await running;

  const closes = sockets.flatMap((socket) => socket.closes);
  expect(meetings.failures).toEqual([]);
  expect(meetings.retried).toBeGreaterThan(0);
  expect(meetings.ids.filter((id) => plant.carriedOut.get(id) !== 1)).toEqual([]);
  expect(sockets.flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(closes.length).toBeGreaterThanOrEqual(SOCKETS * ROUNDS);
  expect(new Set(closes)).toEqual(new Set([1001]));
  expect(pollers.map(({ handshakes }) => handshakes)).toEqual(pollers.map(() => 1));
});
