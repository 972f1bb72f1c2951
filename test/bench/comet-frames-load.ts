/**
 * The cost of reading each value in a compressed WebSocket message of its own: 5,000 messages a second, compressed beforehand and
 * written by a bare socket to a client that drops them, so that both ends cost almost nothing.
 *
 *   npm run build && npx vitest run --config test/bench/vitest.config.ts comet-frames
 *
 * Compare the two only within one run. `COMET_LOAD_ROUNDS` (default 4) pairs of rounds of `COMET_LOAD_SECONDS` (default 8) each.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { constants, createDeflateRaw } from 'node:zlib';
import { expect, it } from 'vitest';
import { startSidecarProcess } from '../support/sidecar-process.ts';

const ROUNDS = Number(process.env.COMET_LOAD_ROUNDS ?? 4);
const SECONDS = Number(process.env.COMET_LOAD_SECONDS ?? 8);
const WARM_UP_SECONDS = 1;
const MESSAGES_PER_SECOND = 5_000;
const OBJECTS = 1_000;
const TICK_MS = 2;
/** Of Linux on all usual machines (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;
const ACCEPT =
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n' +
  'Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
const UPGRADE =
  'GET /smartWeb/api/cometd HTTP/1.1\r\nHost: plant\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n';
const HANDSHAKE = { channel: '/meta/handshake', id: '1' };

it('5,000 messages a second, compressed with context takeover', async () => {
  const frames = await compressedFrames((WARM_UP_SECONDS + SECONDS + 1) * MESSAGES_PER_SECOND);
  const shares: { on: number[]; off: number[] } = { on: [], off: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    // The first one alternates, so that a machine that slows down affects both alike.
    for (const way of round % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const)) {
      const share = await measure(frames, way === 'on');
      shares[way].push(share);
      process.stdout.write(`  ${way.padEnd(3)} ${(share * 100).toFixed(1)} % of a core\n`);
    }
  }
  const [on, off] = [median(shares.on), median(shares.off)];
  const us = ((on - off) / MESSAGES_PER_SECOND) * 1e6;
  process.stdout.write(
    `median of ${ROUNDS} rounds: reading ${(on * 100).toFixed(1)} %, not reading ${(off * 100).toFixed(1)} %, ` +
      `reading costs ${((on - off) * 100).toFixed(1)} % of a core, ${us.toFixed(1)} µs a message\n`,
  );
});

/** Share of a core that the sidecar uses, with and without reading. */
async function measure(frames: readonly Buffer[], isReading: boolean): Promise<number> {
  const upstream = net.createServer((socket) => pushFrames(socket, frames)).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as net.AddressInfo;
  const sidecar = await startSidecarProcess(
    ['--upstream', `http://127.0.0.1:${port}/smartWeb`, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'],
    { D2_SIDECAR_COMET_ENABLED: String(isReading), D2_SIDECAR_JVM_SOURCE: 'none' },
  );
  const client = net.connect(Number(sidecar.listen.split(':')[1]), '127.0.0.1');
  client.on('error', () => undefined);
  client.write(UPGRADE);
  client.write(maskedText(JSON.stringify([HANDSHAKE])));
  client.resume();
  await wait(WARM_UP_SECONDS * 1_000);
  const before = cpuSecondsOf(sidecar.pid);
  const beganMs = performance.now();
  await wait(SECONDS * 1_000);
  const share = (cpuSecondsOf(sidecar.pid) - before) / ((performance.now() - beganMs) / 1_000);
  const values = isReading ? await valuesSeen(sidecar.monitor) : 0;
  client.destroy();
  upstream.close();
  await sidecar.stop('SIGKILL');
  if (isReading) expect(values).toBeGreaterThan(0.9 * (WARM_UP_SECONDS + SECONDS) * MESSAGES_PER_SECOND);
  return share;
}

function pushFrames(socket: net.Socket, frames: readonly Buffer[]): void {
  socket.on('error', () => undefined);
  socket.once('data', () => {
    socket.write(ACCEPT);
    socket.write(plainText(JSON.stringify([{ ...HANDSHAKE, clientId: 'load', successful: true }])));
    const beganMs = performance.now();
    let at = 0;
    const timer = setInterval(() => {
      const due = Math.floor(((performance.now() - beganMs) / 1_000) * MESSAGES_PER_SECOND);
      for (; at < Math.min(due, frames.length); at += 1) socket.write(frames[at] as Buffer);
    }, TICK_MS);
    socket.once('close', () => clearInterval(timer));
  });
}

/** Frames of one direction with context takeover, as a server sends them. */
async function compressedFrames(count: number): Promise<Buffer[]> {
  const deflate = createDeflateRaw();
  let out: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => out.push(chunk));
  const frames: Buffer[] = [];
  for (let i = 0; i < count; i += 1) {
    const channel = `/d2/object/H.Plant.Unit${i % 40}.Measurement${i % OBJECTS}`;
    deflate.write(
      JSON.stringify([{ channel, data: { value: (i * 7919) % 1_000, quality: 'good', time: 1_700_000_000_000 + i } }]),
    );
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, resolve));
    const message = Buffer.concat(out);
    out = [];
    // RSV1, without the four bytes that end every flush (RFC 7692 §7.2.1).
    frames.push(Buffer.concat([headOf(0xc1, message.length - 4), message.subarray(0, -4)]));
  }
  return frames;
}

function plainText(text: string): Buffer {
  return Buffer.concat([headOf(0x81, text.length), Buffer.from(text)]);
}

/** Masked with zeros, which changes nothing. */
function maskedText(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

function headOf(first: number, length: number): Buffer {
  return Buffer.from(length < 126 ? [first, length] : [first, 126, length >> 8, length & 0xff]);
}

function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function valuesSeen(monitor: string): Promise<number> {
  const response = await fetch(`http://${monitor}/smartWeb/api/rest/v0/admin/metrics/d2/object`);
  const { meters } = (await response.json()) as { meters: { 'object.newValues': { count: number } } };
  return meters['object.newValues'].count;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] as number) + (sorted[sorted.length >> 1] as number)) / 2;
}
