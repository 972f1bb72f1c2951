/** A restart on the same port under load, as clients see it: what fails, what they may retry, and how often they have to. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { CometdPeer } from '../support/comet/cometd-peer.ts';
import { RIGHT_PASSWORD } from '../support/comet/login-desk.ts';
import { playsAll } from '../support/effort.ts';
import { exitOf, MAIN_PATH, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { toUnusedPort } from '../support/wire/unused-port.ts';
import { type RollingPlant, startRollingPlant } from './rolling/plant.ts';
import { Meetings, RestClient, type RestClientOptions } from './rolling/rest-client.ts';
import { SocketClient } from './rolling/socket-client.ts';

const REST_CLIENTS: readonly (RestClientOptions & { readonly count: number })[] = [
  { count: 12, method: 'POST', keepsAlive: true, pauseMs: 5 },
  { count: 6, method: 'POST', keepsAlive: true, pauseMs: 333 },
  // Pauses longer than the quiet time, and shorter than the drain.
  { count: 6, method: 'POST', keepsAlive: true, pauseMs: 1_250 },
  { count: 6, method: 'POST', keepsAlive: false, pauseMs: 10 },
  { count: 4, method: 'GET', keepsAlive: true, pauseMs: 7 },
];
const SOCKETS = 20;
const POLLERS = 8;
const ROUNDS = playsAll ? 3 : 1;
const STOP = { D2_SIDECAR_STOP_DELAY: '1500ms', D2_SIDECAR_STOP_WINDOW: '1500ms', D2_SIDECAR_STOP_DEADLINE: '15s' };

const cleanUps: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Ports {
  readonly listen: number;
  readonly monitor: number;
}

function start(plant: RollingPlant, ports: Ports, control: string): Promise<SidecarProcess> {
  const args = [
    ...['--upstream', `http://127.0.0.1:${plant.port}/smartWeb`],
    ...['--listen', `127.0.0.1:${ports.listen}`, '--monitor', `127.0.0.1:${ports.monitor}`],
  ];
  return startSidecarProcess(args, { ...STOP, D2_SIDECAR_CONTROL_SOCKET: control });
}

/** `d2-sidecar drain --wait`, as a preStop hook runs it. */
async function drain(control: string, wait: string): Promise<{ code: number; text: string }> {
  const child = spawn(process.execPath, [MAIN_PATH, 'drain', '--control', control, '--wait', wait]);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  return { code: await exitOf(child), text };
}

/** Polls liveness and readiness; records each answer and when the monitoring port was gone. */
class Prober {
  readonly live = new Map<string, number>();
  readonly ready: string[] = [];
  #isStopped = false;

  async run(port: number): Promise<void> {
    while (!this.#isStopped) {
      const [live, ready] = await Promise.all([probe(port, '/livez'), probe(port, '/readyz')]);
      this.live.set(live, (this.live.get(live) ?? 0) + 1);
      if (this.ready.at(-1) !== ready) this.ready.push(ready);
      await delay(10);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }
}

/** A new connection each time, as kubelet does. */
function probe(port: number, target: string): Promise<string> {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path: target, agent: false }, (response) => {
      response.resume();
      resolve(String(response.statusCode));
    });
    request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
  });
}

/** When it logged the message, in milliseconds. */
function timeOf({ logs }: SidecarProcess, message: string): number {
  return Date.parse(String(logs.find(({ msg }) => msg === message)?.time));
}

async function startPollers(port: number): Promise<readonly CometdPeer[]> {
  const peers = Array.from({ length: POLLERS }, (_, i) => {
    const userName = `user${i}`;
    const ext = { authentication: { user: userName, credentials: RIGHT_PASSWORD } };
    const browser = { userName, cookies: new Map<string, string>(), fields: {}, ext };
    return new CometdPeer(`http://127.0.0.1:${port}`, browser, { transport: 'long-polling' });
  });
  cleanUps.push(() => {
    for (const peer of peers) peer.kill();
  });
  await Promise.all(peers.map((peer) => peer.connect()));
  return peers;
}

it('a rolling restart under load fails no request, forces no new login, and closes WebSockets in order', {
  timeout: 120_000,
}, async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-rolling-'));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  const control = path.join(folder, 'c/control.sock');
  const plant = await startRollingPlant();
  cleanUps.push(() => plant.close());
  const ports = { listen: await toUnusedPort(), monitor: await toUnusedPort() };
  let sidecar = await start(plant, ports, control);
  cleanUps.push(() => sidecar.stop('SIGKILL'));

  const meetings = new Meetings();
  const rest = REST_CLIENTS.flatMap(({ count, ...options }, kind) =>
    Array.from({ length: count }, (_, i) => new RestClient(`c${kind}.${i}`, ports.listen, options, meetings)),
  );
  const sockets = Array.from({ length: SOCKETS }, () => new SocketClient(ports.listen));
  const clients = [...rest, ...sockets];
  cleanUps.push(() => {
    for (const client of clients) client.stop();
  });
  const pollers = await startPollers(ports.listen);
  const running = Promise.all(clients.map((client) => client.run()));
  await expect.poll(() => sockets.every(({ echoes }) => echoes > 0), { timeout: 10_000 }).toBe(true);

  const absences: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const prober = new Prober();
    const probing = prober.run(ports.monitor);
    await expect.poll(() => prober.ready, { timeout: 10_000 }).toEqual(['200']);
    const before = meetings.announced;
    const draining = await drain(control, '2500ms');
    expect(draining.code).toBe(0);
    expect(draining.text).toMatch(/no longer ready.*\n.*WebSockets? open, waiting/s);
    // New connections were served during the drain: clients that open one for each call got their answers.
    expect(meetings.announced - before).toBeGreaterThan(20);
    expect(prober.ready).toEqual(['200', '503']);
    const [code] = await Promise.all([sidecar.stop(), sidecar.exited]);
    expect([code, sidecar.logs.at(-1)?.msg]).toEqual([0, 'stopped']);
    prober.stop();
    await probing;
    // Alive until the end, and then gone.
    expect([...prober.live.keys()].filter((answer) => answer !== 'ECONNREFUSED' && answer !== 'ECONNRESET')).toEqual([
      '200',
    ]);

    const stoppedAccepting = timeOf(sidecar, 'stopping');
    const echoesBefore = sockets.map(({ echoes }) => echoes);
    const connectsBefore = pollers.map(({ connects }) => connects);
    sidecar = await start(plant, ports, control);
    absences.push(timeOf(sidecar, 'listening') - stoppedAccepting);
    await expect
      .poll(() => sockets.every(({ echoes }, i) => echoes > (echoesBefore[i] ?? 0)), { timeout: 10_000 })
      .toBe(true);
    await expect
      .poll(() => pollers.every(({ connects }, i) => connects > (connectsBefore[i] ?? 0)), { timeout: 10_000 })
      .toBe(true);
  }
  for (const client of clients) client.stop();
  await running;

  const closes = sockets.flatMap((socket) => socket.closes);
  const socketsRefused = sockets.reduce((sum, { refused }) => sum + refused, 0);
  const { answered, refused, reset, reused, failures } = meetings;
  process.stdout.write(
    `${ROUNDS} restarts: ${answered} calls answered, ${failures.length} failed; retried: ${refused} whose connection was ` +
      `refused, ${reset} whose connection was reset before it was established, ${reused} GETs on a connection that had just been closed; ${closes.length} WebSockets closed with ` +
      `${[...new Set(closes)].join(', ')}, ${socketsRefused} refused on reconnect; port closed for ` +
      `${absences.join(', ')} ms\n`,
  );
  expect(failures).toEqual([]);
  expect(refused).toBeGreaterThan(0);
  const ids = rest.flatMap((client) => client.ids);
  expect(ids.filter((id) => plant.carriedOut.get(id) !== 1)).toEqual([]);
  expect(sockets.flatMap(({ wrong }) => wrong)).toEqual([]);
  expect(closes.length).toBeGreaterThanOrEqual(SOCKETS * ROUNDS);
  expect(new Set(closes)).toEqual(new Set([1001]));
  expect(pollers.map(({ handshakes }) => handshakes)).toEqual(pollers.map(() => 1));
});
