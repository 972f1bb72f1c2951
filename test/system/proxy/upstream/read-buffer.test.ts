import { createHash } from 'node:crypto';
import net from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ReadBuffer, ReadBuffers } from '../../../../src/proxy/upstream/read-buffer.ts';
import { untilTestEnds } from '../../../support/deferred.ts';
import { startApplication } from '../../../support/net.ts';
import { startStand } from '../../../support/wire/stand.ts';

const SIZE = 64 * 1024;
const MEGABYTE = 1_048_576;

/** A socket as far as a read buffer looks at one; what was written to `slow` is not sent before somebody reads it. */
function peers() {
  const slow = new PassThrough({ highWaterMark: 1 }) as unknown as net.Socket;
  const quick = new PassThrough({ highWaterMark: 2 * MEGABYTE }).resume() as unknown as net.Socket;
  return { slow, quick };
}

describe('the buffer of an upstream connection', () => {
  it('is the shared one until a read fills it, and again after a small read', () => {
    const buffers = new ReadBuffers();
    const one = new ReadBuffer(buffers);
    const other = new ReadBuffer(buffers);
    expect(one.next()).toBe(other.next());
    one.resize(SIZE - 1);
    expect(one.next()).toBe(other.next());
    one.resize(SIZE);
    const own = one.next();
    expect(own).not.toBe(other.next());
    expect(own).toHaveLength(SIZE);
    one.resize(SIZE / 2);
    expect(one.next()).toBe(own);
    one.resize(SIZE / 2 - 1);
    expect(one.next()).toBe(other.next());
    other.resize(SIZE);
    expect(other.next()).toBe(own);
  });

  it('is its own for 256 connections at most, until they close', () => {
    const buffers = new ReadBuffers();
    const all = Array.from({ length: 257 }, () => new ReadBuffer(buffers));
    for (const one of all) one.resize(SIZE);
    const last = all.at(-1) as ReadBuffer;
    expect(all.filter((one) => one.next() !== buffers.shared)).toHaveLength(256);
    expect(last.next() === buffers.shared).toBe(true);
    all[0]?.release();
    last.resize(SIZE);
    expect(last.next() === buffers.shared).toBe(false);
  });

  it('is replaced while a slow peer has not taken all bytes of the last read', () => {
    const { slow, quick } = peers();
    const buffer = new ReadBuffer(new ReadBuffers());
    buffer.resize(SIZE);
    const first = buffer.next();
    buffer.pass(first.subarray(0, 100), quick);
    expect(buffer.next()).toBe(first);
    slow.cork();
    expect(buffer.pass(first, slow)).toBe(false);
    expect(buffer.next()).not.toBe(first);
    buffer.resize(1);
    buffer.resize(SIZE);
    expect(buffer.next()).not.toBe(first);
  });

  it('keeps no reference to shared memory in what it writes', () => {
    const { slow } = peers();
    const buffer = new ReadBuffer(new ReadBuffers());
    const shared = buffer.next();
    shared.fill('a');
    slow.cork();
    buffer.pass(shared.subarray(0, 5_000), slow);
    shared.fill('b');
    slow.uncork();
    expect(String(slow.read(5_000))).toBe('a'.repeat(5_000));
  });
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('a turn of the event loop allows each connection two full reads, and reads on in the next turn', async () => {
  const buffers = new ReadBuffers();
  const resumed: string[] = [];
  const connectionOf = (name: string, isPaused = false) => {
    const socket = { destroyed: false, isPaused: () => isPaused, resume: () => resumed.push(name) };
    const buffer = new ReadBuffer(buffers);
    return (length = SIZE) => buffer.mayReadOn(length, socket as unknown as net.Socket);
  };
  const [one, other, paused] = [connectionOf('one'), connectionOf('other'), connectionOf('paused', true)];
  expect([one(), one(100), one(), other(), other(), paused(), paused()]).toEqual([
    ...[true, true, false, true, false, true, false],
  ]);
  await turn();
  expect(resumed).toEqual(['one', 'other']);
  expect([one(), one()]).toEqual([true, false]);
  await turn();
});

/** Bytes that tell which answer they belong to, and where. */
function answerOf(index: number): Buffer {
  const bytes = Buffer.alloc(8 * MEGABYTE + index);
  for (let at = 0; at + 4 <= bytes.length; at += 4) bytes.writeUInt32LE((index << 24) | at, at);
  return bytes;
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

// 6 s of processor time: 100 MB in small pieces.
it('large answers side by side reach slow, fast and irregular readers without a wrong byte', {
  timeout: 60_000,
}, async () => {
  const answers = Array.from({ length: 12 }, (_, index) => answerOf(index));
  const upstream = await startApplication(
    ({ url }, response) => response.end(answers[Number(url?.split('/').at(-1))]),
    untilTestEnds,
  );
  const stand = await startStand({ upstreamPort: upstream.port }, untilTestEnds);

  async function fetchSlowly(index: number): Promise<string> {
    const client = net.connect(stand.port, '127.0.0.1');
    untilTestEnds(() => client.destroy());
    client.write(`GET /smartWeb/${index} HTTP/1.1\r\nHost: plant\r\nConnection: close\r\n\r\n`);
    const pieces: Buffer[] = [];
    let turns = 0;
    for await (const piece of client) {
      pieces.push(piece as Buffer);
      // Every third client lets the others go first after each piece, every other third after every tenth one.
      if (index % 3 === 1 || (index % 3 === 2 && turns++ % 10 === 0)) {
        for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
      }
    }
    const whole = Buffer.concat(pieces);
    return digest(whole.subarray(whole.indexOf('\r\n\r\n') + 4));
  }

  const seen = await Promise.all(answers.map((_, index) => fetchSlowly(index)));
  expect(seen).toEqual(answers.map(digest));
});
