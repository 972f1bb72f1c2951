/** What a little that unpacks to very much costs, measured on this process: its peak of memory actually in use. */
import { readFileSync, writeFileSync } from 'node:fs';
import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeContent } from '../../../../src/protocol/websocket/content-coding.ts';
import {
  compressed,
  deflated,
  Listener,
  WITH_TAKEOVER,
  WITHOUT_TAKEOVER,
} from '../../../support/protocol/websocket/frames.ts';

const MB = 1_000_000;
const GIB = 1_024 ** 3;
const MAX_MESSAGE_BYTES = 1_100_000;
const MAX_INFLATED_BYTES = 4_194_304;

/** As `deflated` of so many zeros, made of one block of a mebibyte again and again. */
function deflatedZeros(bytes: number): Buffer {
  const block = zlib.deflateRawSync(Buffer.alloc(1_024 ** 2), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
  return Buffer.alloc((bytes / 1_024 ** 2) * block.length, block).subarray(0, -4);
}

async function brotliZeros(bytes: number): Promise<Buffer> {
  const params = { [zlib.constants.BROTLI_PARAM_QUALITY]: 1, [zlib.constants.BROTLI_PARAM_LGWIN]: 22 };
  const brotli = zlib.createBrotliCompress({ params });
  const chunks: Buffer[] = [];
  brotli.on('data', (chunk: Buffer) => chunks.push(chunk));
  const ended = new Promise((resolve) => brotli.once('end', resolve));
  const zeros = Buffer.alloc(1_024 ** 2);
  for (let written = 0; written < bytes; written += zeros.length) {
    if (!brotli.write(zeros)) await new Promise((resolve) => brotli.once('drain', resolve));
  }
  brotli.end();
  await ended;
  return Buffer.concat(chunks);
}

/** Bytes by which the process was at most larger while `work` ran than before. */
function peakGrowth(work: () => void): number {
  const field = (name: string): number => {
    const line = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'latin1'));
    return Number(line?.[1]) * 1_024;
  };
  // Linux: the peak begins anew.
  writeFileSync('/proc/self/clear_refs', '5');
  const before = field('VmRSS');
  work();
  return field('VmHWM') - before;
}

describe.runIf(process.platform === 'linux')('1 GiB of zeros', () => {
  const payload = deflatedZeros(GIB);
  const bomb = compressed(payload);

  it('take a good megabyte when compressed', () => {
    expect(payload.length).toBeLessThan(MAX_MESSAGE_BYTES);
    const part = zlib.inflateRawSync(deflatedZeros(8 * 1_024 ** 2), { finishFlush: zlib.constants.Z_SYNC_FLUSH });
    expect(part.equals(Buffer.alloc(8 * 1_024 ** 2))).toBe(true);
  });

  it.each([WITH_TAKEOVER, WITHOUT_TAKEOVER])('in a message are not inflated, %o', (deflate) => {
    const limits = { maxMessageBytes: MAX_MESSAGE_BYTES, maxInflatedBytes: MAX_INFLATED_BYTES };
    const listener = new Listener({ deflate, ...limits });
    const growth = peakGrowth(() => {
      for (let at = 0; at < bomb.length; at += 65_536) listener.reader.push(bomb.subarray(at, at + 65_536));
    });
    expect(listener.told).toEqual([{ unread: 'inflated-too-large' }]);
    expect([listener.reader.heldBytes, listener.budget.usedBytes]).toEqual([0, 0]);
    expect(growth).toBeLessThan(16 * MB);
    listener.push(compressed(deflated('after')));
    expect(listener.texts).toEqual(deflate.contextTakeover ? [] : ['after']);
  });

  it('again and again cost no more than a few of them', () => {
    const growth = peakGrowth(() => {
      for (let i = 0; i < 50; i += 1) {
        new Listener({ deflate: WITH_TAKEOVER, maxMessageBytes: MAX_MESSAGE_BYTES }).reader.push(bomb);
      }
    });
    expect(growth).toBeLessThan(100 * MB);
  });

  it.each([
    ['gzip', () => Buffer.concat([Buffer.from('1f8b0800000000000003', 'hex'), payload])],
    // The largest window, asked for at once.
    ['br', () => brotliZeros(GIB)],
    ['br, gzip', async () => zlib.gzipSync(await brotliZeros(GIB))],
  ])('in a body of %s are not decoded', async (coding, toBody) => {
    const body = await toBody();
    let decoded: Buffer | undefined = body;
    const growth = peakGrowth(() => {
      decoded = decodeContent(body, coding, MAX_INFLATED_BYTES);
    });
    expect(decoded).toBeUndefined();
    expect(growth).toBeLessThan(16 * MB);
  });
});
