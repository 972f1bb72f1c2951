/**
 * The cost of reading Comet: 5,000 values a second over a compressed WebSocket, through a sidecar that reads it and,
 * alternating, through one that does not; with ten values in each message, and with one. Messages are compressed
 * beforehand and written by a bare socket to a client that drops them, so that both ends cost almost nothing.
 *
 *   npm run build && npx vitest run --config test/bench/vitest.config.ts comet
 *
 * Compare the two only within one run. `COMET_LOAD_ROUNDS` (default 4) pairs of rounds of `COMET_LOAD_SECONDS` (default 8) each.
 */
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { constants, createDeflateRaw } from 'node:zlib';
import { expect, it } from 'vitest';
import { cpuUsOf } from '../support/load/proc.ts';
import { listening, portOf } from '../support/net.ts';
import { flagsFor, startSidecarProcess } from '../support/sidecar-process.ts';
import { medianOf } from './load/statistics.ts';

const ROUNDS = Number(process.env.COMET_LOAD_ROUNDS ?? 4);
const SECONDS = Number(process.env.COMET_LOAD_SECONDS ?? 8);
const WARM_UP_SECONDS = 2;
const OBJECTS = Array.from({ length: 1_000 }, (_, i) => `H.Plant.Unit${i % 40}.Measurement${i}`);
const VALUES_PER_SECOND = 5_000;
const TICK_MS = 5;
const EXTENSION = 'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
const ACCEPT = `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n${EXTENSION}`;
const UPGRADE =
  'GET /smartWeb/api/cometd HTTP/1.1\r\nHost: plant\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n${EXTENSION}`;
const HANDSHAKE = { channel: '/meta/handshake', id: '1' };

/** Measures in pairs of rounds, with reading and without, and prints the medians of the share of a core. */
async function compare(title: string, measure: (isReading: boolean) => Promise<number>): Promise<void> {
  const cores: Record<'on' | 'off', number[]> = { on: [], off: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    // The first one alternates, so that a machine that slows down affects both alike.
    for (const way of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      const core = await measure(way === 'on');
      cores[way].push(core);
      print(`  ${way.padEnd(3)} core ${core.toFixed(3)}`);
    }
  }
  const [on, off] = [medianOf(cores.on), medianOf(cores.off)];
  print(`${title}: medians of ${ROUNDS} rounds of ${SECONDS} s`);
  print(`  core: reading ${on.toFixed(3)}, not reading ${off.toFixed(3)}`);
  print(`  reading costs ${(((on - off) / VALUES_PER_SECOND) * 1e6).toFixed(1)} µs a value`);
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

/** Calls `push` at the given rate, however late the timers are, until the returned function is called. */
function atRate(perSecond: number, push: (at: number) => void): () => void {
  const beganMs = performance.now();
  let pushed = 0;
  const timer = setInterval(() => {
    const wanted = Math.floor(((performance.now() - beganMs) / 1_000) * perSecond);
    for (; pushed < wanted; pushed += 1) push(pushed);
  }, TICK_MS);
  return () => clearInterval(timer);
}

it.each([10, 1])('values in each message: %i, compressed with context takeover', async (values) => {
  const frames = await compressedFrames((WARM_UP_SECONDS + SECONDS + 1) * (VALUES_PER_SECOND / values), values);
  const push = (socket: net.Socket) => pushFrames(socket, frames, VALUES_PER_SECOND / values);
  await compare(`values in each message: ${values}`, (isReading) => measureFrames(push, isReading));
});

async function measureFrames(push: (socket: net.Socket) => void, isReading: boolean): Promise<number> {
  const upstream = net.createServer(push);
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
  return core;
}

function pushFrames(socket: net.Socket, frames: readonly Buffer[], perSecond: number): void {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    const answer = JSON.stringify([{ ...HANDSHAKE, clientId: 'load', successful: true }]);
    socket.write(ACCEPT);
    socket.write(Buffer.concat([headOf(0x81, answer.length), Buffer.from(answer)]));
    socket.once(
      'close',
      atRate(perSecond, (at) => frames[at] !== undefined && socket.write(frames[at])),
    );
  });
}

/** Frames of one direction with context takeover, as a server sends them. */
async function compressedFrames(count: number, valuesEach: number): Promise<Buffer[]> {
  const deflate = createDeflateRaw();
  let out: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => out.push(chunk));
  const frames: Buffer[] = [];
  for (let i = 0; i < count; i += 1) {
    const messages = Array.from({ length: valuesEach }, (_, nth) => toDelivery(i * valuesEach + nth));
    deflate.write(JSON.stringify(messages));
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    // RSV1, without the four bytes that end every flush (RFC 7692 §7.2.1).
    const message = Buffer.concat(out).subarray(0, -4);
    out = [];
    frames.push(Buffer.concat([headOf(0xc1, message.length), message]));
  }
  return frames;
}

function toDelivery(i: number): object {
  const data = { value: (i * 7919) % 1_000, quality: 'good', time: 1_700_000_000_000 + i };
  return { channel: `/d2/object/${OBJECTS[i % OBJECTS.length]}`, data };
}

function headOf(first: number, length: number): Buffer {
  return Buffer.from(length < 126 ? [first, length] : [first, 126, length >> 8, length & 0xff]);
}

async function valuesSeen(monitor: string): Promise<number> {
  const response = await fetch(`http://${monitor}/smartWeb/api/rest/v0/admin/metrics/d2/object`);
  const { meters } = (await response.json()) as { meters: { 'object.newValues': { count: number } } };
  return meters['object.newValues'].count;
}
