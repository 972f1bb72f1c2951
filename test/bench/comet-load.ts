/**
 * The cost of reading Comet: 5,000 values a second over a compressed WebSocket, through a sidecar that reads it and,
 * alternating, through one that does not. First ten values in a message to a client with 1,000 subscribed objects, while
 * other users call over REST; then each value in a message of its own, compressed beforehand and written by a bare socket
 * to a client that drops them, so that both ends cost almost nothing.
 *
 *   npm run build && npx vitest run --config test/bench/vitest.config.ts comet
 *
 * Compare the two only within one run. `COMET_LOAD_ROUNDS` (default 4) pairs of rounds of `COMET_LOAD_SECONDS` (default 8) each.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { constants, createDeflateRaw } from 'node:zlib';
import { afterAll, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { CometdPeer } from '../support/comet/cometd-peer.ts';
import { until } from '../support/comet/until.ts';
import { deferTo } from '../support/deferred.ts';
import { listening, portOf, startApplication } from '../support/net.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { cpuUsOf } from './load/proc.ts';
import { medianOf } from './load/statistics.ts';

const ROUNDS = Number(process.env.COMET_LOAD_ROUNDS ?? 4);
const SECONDS = Number(process.env.COMET_LOAD_SECONDS ?? 8);
const WARM_UP_SECONDS = 2;
const OBJECTS = Array.from({ length: 1_000 }, (_, i) => `H.Plant.Unit${i % 40}.Measurement${i}`);
const VALUES_PER_SECOND = 5_000;
const TICK_MS = 5;
const PROBER = fileURLToPath(new URL('./rest-prober.mjs', import.meta.url));
const EXTENSION = 'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
const ACCEPT = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n${EXTENSION}`;
const UPGRADE =
  'GET /smartWeb/api/cometd HTTP/1.1\r\nHost: plant\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${EXTENSION}`;
const defer = deferTo(afterAll);
const HANDSHAKE = { channel: '/meta/handshake', id: '1' };

/** Figures of one round; `core` is the share of a core that the sidecar uses. */
type Figures = Readonly<Record<string, number>> & { readonly core: number };

/** Measures in pairs of rounds, with reading and without, and prints the medians. */
async function compare(title: string, measure: (isReading: boolean) => Promise<Figures>): Promise<void> {
  const rounds: Record<'on' | 'off', Figures[]> = { on: [], off: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    // The first one alternates, so that a machine that slows down affects both alike.
    for (const way of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      const figures = await measure(way === 'on');
      rounds[way].push(figures);
      print(`  ${way.padEnd(3)} ${Object.entries(figures).map(([name, value]) => `${name} ${value.toFixed(3)}`)}`);
    }
  }
  const median = (way: 'on' | 'off', name: string) =>
    medianOf(rounds[way].map((figures) => figures[name] ?? Number.NaN));
  print(`${title}: medians of ${ROUNDS} rounds of ${SECONDS} s`);
  for (const name of Object.keys(rounds.on[0] ?? {})) {
    print(
      `  ${name.padEnd(16)} reading ${median('on', name).toFixed(3)}   not reading ${median('off', name).toFixed(3)}`,
    );
  }
  const core = median('on', 'core') - median('off', 'core');
  print(
    `  reading costs ${((core / VALUES_PER_SECOND) * 1e6).toFixed(1)} µs a value: ${(core * 100).toFixed(1)} % of a core`,
  );
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** The share of a core that a process uses within the next seconds. */
async function coreOf(pid: number): Promise<number> {
  const [beforeUs, beganMs] = [cpuUsOf(pid), performance.now()];
  await wait(SECONDS * 1_000);
  return (cpuUsOf(pid) - beforeUs) / ((performance.now() - beganMs) * 1_000);
}

/** Calls `push` for each value at the given rate, however late the timers are, until the returned function is called. */
function atRate(valuesAtOnce: number, push: (at: number) => void): () => number {
  const beganMs = performance.now();
  let pushed = 0;
  const timer = setInterval(() => {
    const wanted = Math.floor(((performance.now() - beganMs) / 1_000) * VALUES_PER_SECOND);
    for (; pushed + valuesAtOnce <= wanted; pushed += valuesAtOnce) push(pushed);
  }, TICK_MS);
  return () => {
    clearInterval(timer);
    return pushed;
  };
}

it('10 values in a message, like a server that collects values', async () => {
  const { port, server, close } = await startApplication((_, response) => response.end('{"result":1}'));
  defer(close);
  const plant = new WebSocketServer({ server, perMessageDeflate: { threshold: 0 } });
  plant.on('connection', acceptAll);
  const reading = await startCometSidecar(defer, port);
  const passing = await startCometSidecar(defer, port, { comet: { enabled: false } });
  await compare('10 values in a message', (isReading) => measurePeer(isReading ? reading : passing, plant));
});

/** Accepts each message, and holds the connects. */
function acceptAll(socket: WebSocket): void {
  const advice = { reconnect: 'retry', interval: 0, timeout: 30_000 };
  const more = { clientId: 'load', version: '1.0', supportedConnectionTypes: ['websocket'], successful: true, advice };
  socket.on('message', (bytes: Buffer) => {
    const messages = JSON.parse(bytes.toString('utf8')) as (typeof HANDSHAKE & { advice?: object })[];
    const answered = messages.filter(({ channel, advice }) => channel !== '/meta/connect' || advice !== undefined);
    if (answered.length > 0) socket.send(JSON.stringify(answered.map((message) => ({ ...message, ...more }))));
  });
}

function toValues(first: number): string {
  const names = Array.from({ length: 10 }, (_, i) => OBJECTS[(first + i) % OBJECTS.length]);
  const data = { value: first / 8, unit: '°C', state: ['Valid', 'Normal'] };
  return JSON.stringify(
    names.map((objectName) => ({ channel: `/d2/object/${objectName}`, data: { objectName, ...data } })),
  );
}

async function measurePeer({ listen, pid }: SidecarProcess, plant: WebSocketServer) {
  const origin = `http://${listen}`;
  const browser = { userName: 'load', cookies: new Map(), fields: {}, ext: { authentication: { user: 'load' } } };
  const webSocket = { perMessageDeflate: { threshold: 0 } };
  const peer = new CometdPeer(origin, browser, { transport: 'websocket', webSocket });
  await peer.connect();
  await Promise.all(OBJECTS.map((object) => peer.monitor(object, 'channel')));
  const prober = fork(PROBER, [`${origin}/smartWeb/api/rest/v0/d2/rpc/E.Load/Probe`]);
  await once(prober, 'spawn');
  const stopPushing = atRate(10, (at) => {
    for (const socket of plant.clients) socket.send(toValues(at));
  });
  await wait(WARM_UP_SECONDS * 1_000);
  prober.send('start');
  const before = peer.tally.valueCount;
  const core = await coreOf(pid);
  const valuesPerSecond = (peer.tally.valueCount - before) / SECONDS;
  const told = once(prober, 'message');
  prober.send('stop');
  const [rest] = (await told) as [Readonly<Record<'count' | 'p50Us' | 'p99Us' | 'maxUs', number>>];
  const pushed = stopPushing();
  await until('all values have come', () => peer.tally.valueCount >= pushed);
  prober.kill();
  await peer.disconnect();
  expect(valuesPerSecond).toBeGreaterThan(VALUES_PER_SECOND * 0.95);
  return { core, valuesPerSecond, ...rest };
}

it('each value in a message of its own, compressed with context takeover', async () => {
  const frames = await compressedFrames((WARM_UP_SECONDS + SECONDS + 1) * VALUES_PER_SECOND);
  await compare('each value in a message of its own', (isReading) => measureFrames(frames, isReading));
});

async function measureFrames(frames: readonly Buffer[], isReading: boolean): Promise<Figures> {
  const upstream = net.createServer((socket) => pushFrames(socket, frames));
  const env = { D2_SIDECAR_COMET_ENABLED: String(isReading), D2_SIDECAR_JVM_SOURCE: 'none' };
  const sidecar = await startSidecarProcess(flagsFor(await listening(upstream)), env);
  const client = net.connect(portOf(sidecar.listen), '127.0.0.1');
  client.on('error', () => undefined);
  client.write(UPGRADE);
  // Masked with zeros, which changes nothing.
  const handshake = JSON.stringify([HANDSHAKE]);
  client.write(Buffer.concat([Buffer.from([0x81, 0x80 | handshake.length, 0, 0, 0, 0]), Buffer.from(handshake)]));
  client.resume();
  await wait(WARM_UP_SECONDS * 1_000);
  const core = await coreOf(sidecar.pid);
  const values = isReading ? await valuesSeen(sidecar.monitor) : 0;
  client.destroy();
  upstream.close();
  await sidecar.stop('SIGKILL');
  if (isReading) expect(values).toBeGreaterThan(0.9 * (WARM_UP_SECONDS + SECONDS) * VALUES_PER_SECOND);
  return { core };
}

function pushFrames(socket: net.Socket, frames: readonly Buffer[]): void {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    const answer = JSON.stringify([{ ...HANDSHAKE, clientId: 'load', successful: true }]);
    socket.write(ACCEPT);
    socket.write(Buffer.concat([headOf(0x81, answer.length), Buffer.from(answer)]));
    socket.once(
      'close',
      atRate(1, (at) => frames[at] !== undefined && socket.write(frames[at])),
    );
  });
}

/** Frames of one direction with context takeover, as a server sends them. */
async function compressedFrames(count: number): Promise<Buffer[]> {
  const deflate = createDeflateRaw();
  let out: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => out.push(chunk));
  const frames: Buffer[] = [];
  for (let i = 0; i < count; i += 1) {
    const data = { value: (i * 7919) % 1_000, quality: 'good', time: 1_700_000_000_000 + i };
    deflate.write(JSON.stringify([{ channel: `/d2/object/${OBJECTS[i % OBJECTS.length]}`, data }]));
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    // RSV1, without the four bytes that end every flush (RFC 7692 §7.2.1).
    const message = Buffer.concat(out).subarray(0, -4);
    out = [];
    frames.push(Buffer.concat([headOf(0xc1, message.length), message]));
  }
  return frames;
}

function headOf(first: number, length: number): Buffer {
  return Buffer.from(length < 126 ? [first, length] : [first, 126, length >> 8, length & 0xff]);
}

async function valuesSeen(monitor: string): Promise<number> {
  const response = await fetch(`http://${monitor}/smartWeb/api/rest/v0/admin/metrics/d2/object`);
  const { meters } = (await response.json()) as { meters: { 'object.newValues': { count: number } } };
  return meters['object.newValues'].count;
}
