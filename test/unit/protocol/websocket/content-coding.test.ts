import * as zlib from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeContent } from '../../../../src/protocol/websocket/content-coding.ts';

const BODY = Buffer.from(JSON.stringify([{ channel: '/meta/connect', successful: true, text: 'äöü'.repeat(50) }]));
const LIMIT = 100_000;

describe('a body', () => {
  const coded: Readonly<Record<string, Buffer>> = {
    gzip: zlib.gzipSync(BODY),
    'x-gzip': zlib.gzipSync(BODY),
    GZip: zlib.gzipSync(BODY),
    deflate: zlib.deflateSync(BODY),
    br: zlib.brotliCompressSync(BODY),
    'identity ,, gzip, identity': zlib.gzipSync(BODY),
  };
  for (const [coding, bytes] of Object.entries(coded)) {
    it(`is read out of ${coding}`, () => {
      expect(decodeContent(bytes, coding, LIMIT)?.equals(BODY)).toBe(true);
    });
  }

  it('is read out of deflate in the raw format, and with every window of the zlib format', () => {
    expect(decodeContent(zlib.deflateRawSync(BODY), 'deflate', LIMIT)).toEqual(BODY);
    for (let windowBits = 9; windowBits <= 15; windowBits += 1) {
      for (const level of [1, 6, 9]) {
        expect(decodeContent(zlib.deflateSync(BODY, { windowBits, level }), 'deflate', LIMIT)).toEqual(BODY);
      }
    }
  });

  it('is read out of several gzip members', () => {
    const halves = [BODY.subarray(0, 100), BODY.subarray(100)].map((half) => zlib.gzipSync(half));
    expect(decodeContent(Buffer.concat(halves), 'gzip', LIMIT)).toEqual(BODY);
  });

  it('without a coding is itself', () => {
    for (const coding of [undefined, '', 'identity', 'identity, identity', ' , ']) {
      expect(decodeContent(BODY, coding, 1)).toBe(BODY);
    }
  });

  it('may be empty under any known coding', () => {
    for (const coding of ['gzip', 'deflate', 'br']) expect(decodeContent(Buffer.alloc(0), coding, 1)).toHaveLength(0);
    expect(decodeContent(Buffer.alloc(0), 'compress', 1)).toBeUndefined();
  });

  it.runIf('zstdCompressSync' in zlib)('is read out of zstd', () => {
    const compress = Reflect.get(zlib, 'zstdCompressSync') as (bytes: Buffer) => Buffer;
    expect(decodeContent(compress(BODY), 'zstd', LIMIT)).toEqual(BODY);
    expect(decodeContent(compress(BODY), 'zstd', 100)).toBeUndefined();
  });

  it.skipIf('zstdCompressSync' in zlib)('in zstd is not read on a Node without zstd', () => {
    expect(decodeContent(BODY, 'zstd', LIMIT)).toBeUndefined();
  });
});

describe('decodeContent returns undefined for', () => {
  it('unknown codings, also names of Object.prototype', () => {
    for (const coding of ['compress', 'gzip, aes128gcm', 'constructor', '__proto__', 'gzip;q=1', 'gzip br']) {
      expect(decodeContent(zlib.gzipSync(BODY), coding, LIMIT), coding).toBeUndefined();
    }
  });

  it('more than one coding', () => {
    expect(decodeContent(zlib.gzipSync(zlib.gzipSync(BODY)), 'gzip, gzip', LIMIT)).toBeUndefined();
    expect(decodeContent(zlib.brotliCompressSync(zlib.gzipSync(BODY)), 'gzip, br', LIMIT)).toBeUndefined();
  });

  it('broken or truncated content', () => {
    for (const [coding, bytes] of [
      ['gzip', zlib.gzipSync(BODY)],
      ['deflate', zlib.deflateSync(BODY)],
      ['deflate', zlib.deflateRawSync(BODY)],
      ['br', zlib.brotliCompressSync(BODY)],
    ] as const) {
      expect(decodeContent(bytes.subarray(0, -3), coding, LIMIT), coding).toBeUndefined();
      expect(decodeContent(BODY, coding, LIMIT), coding).toBeUndefined();
    }
  });

  it('a brotli body that asks for a window of more than 4 MiB', () => {
    const withWindow = (bits: number): Buffer =>
      zlib.brotliCompressSync(BODY, {
        params: { [zlib.constants.BROTLI_PARAM_LGWIN]: bits, [zlib.constants.BROTLI_PARAM_QUALITY]: 0 },
      });
    for (let bits = 10; bits <= 22; bits += 1) expect(decodeContent(withWindow(bits), 'br', LIMIT)).toEqual(BODY);
    // Encoders write a smaller window for a small body: WBITS of 23 and 24 are set here.
    for (const first of [0x0d, 0x0f]) {
      const body = zlib.brotliCompressSync(BODY);
      body[0] = ((body[0] as number) & 0xf0) | first;
      expect(zlib.brotliDecompressSync(body)).toEqual(BODY);
      expect(decodeContent(body, 'br', LIMIT)).toBeUndefined();
    }
  });

  it('content that exceeds the limit by one byte', () => {
    const zeros = Buffer.alloc(50_000);
    for (const [coding, bytes] of [
      ['gzip', zlib.gzipSync(zeros)],
      ['deflate', zlib.deflateSync(zeros)],
      ['br', zlib.brotliCompressSync(zeros, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } })],
    ] as const) {
      expect(decodeContent(bytes, coding, 50_000)?.equals(zeros), coding).toBe(true);
      expect(decodeContent(bytes, coding, 49_999), coding).toBeUndefined();
    }
  });

  it('content above 64 KiB that is more than a hundred times the sent bytes', () => {
    const ofLength = (length: number) => zlib.gzipSync(Buffer.alloc(length));
    const bytes = ofLength(60_000);
    expect(decodeContent(bytes, 'gzip', 1_000_000)).toHaveLength(60_000);
    const bomb = ofLength(200_000);
    expect(bomb.length).toBeLessThan(1_000);
    expect(decodeContent(bomb, 'gzip', 1_000_000)).toBeUndefined();
    const random = Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7_919) % 251));
    const plain = Buffer.concat(Array.from({ length: 40 }, () => random));
    expect(decodeContent(zlib.gzipSync(plain, { level: 1 }), 'gzip', 1_000_000)).toHaveLength(200_000);
  });
});
