import * as zlib from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeContent as decode } from '../../../../src/protocol/http1/content-coding.ts';

// Both kinds of Node.js are tested, whichever runs the tests.
let canDecodeBrotli = true;
const decodeContent = (bytes: Buffer, coding: string | undefined, maxBytes: number) =>
  decode(bytes, coding, maxBytes, canDecodeBrotli);

const BODY = Buffer.from(JSON.stringify([{ channel: '/meta/connect', successful: true, text: 'äöü'.repeat(50) }]));
const LIMIT = 100_000;
const halves = [BODY.subarray(0, 100), BODY.subarray(100)].map((half) => zlib.gzipSync(half));

it.each([
  ['gzip', zlib.gzipSync(BODY)],
  ['x-GZip', zlib.gzipSync(BODY)],
  ['identity ,, gzip, identity', zlib.gzipSync(BODY)],
  ['deflate', zlib.deflateSync(BODY)],
  ['br', zlib.brotliCompressSync(BODY)],
  ['deflate', zlib.deflateRawSync(BODY)],
  ['gzip', Buffer.concat(halves)],
])('a body is read of the coding %s', (coding, bytes) => {
  expect(decodeContent(bytes, coding, LIMIT)).toEqual(BODY);
});

describe('on a Node.js with a hole in its brotli decoder', () => {
  beforeEach(() => {
    canDecodeBrotli = false;
  });
  afterEach(() => {
    canDecodeBrotli = true;
  });

  it.each(['br', 'BR', ' Br ', 'identity, br', 'br,', 'br, identity'])('a body of %j is not read', (coding) => {
    expect(decodeContent(zlib.brotliCompressSync(BODY), coding, LIMIT)).toBeUndefined();
  });
});

it.each([undefined, '', 'identity', 'identity, identity', ' , '])('a body without a coding is kept: %j', (coding) => {
  expect(decodeContent(BODY, coding, 1)).toBe(BODY);
});

it.runIf('zstdCompressSync' in zlib)('a body is read of the coding zstd', () => {
  const compress = Reflect.get(zlib, 'zstdCompressSync') as (bytes: Buffer) => Buffer;
  expect(decodeContent(compress(BODY), 'zstd', LIMIT)).toEqual(BODY);
  expect(decodeContent(compress(BODY), 'zstd', 100)).toBeUndefined();
});

it.skipIf('zstdCompressSync' in zlib)('a body is not read in zstd on a Node without zstd', () => {
  expect(decodeContent(BODY, 'zstd', LIMIT)).toBeUndefined();
});

// Also names of Object.prototype.
it.each(['compress', 'gzip, gzip', 'gzip, aes128gcm', 'constructor', '__proto__', 'gzip;q=1', 'gzip br'])(
  'a body is not read of %s',
  (coding) => {
    expect(decodeContent(zlib.gzipSync(BODY), coding, LIMIT)).toBeUndefined();
    expect(decodeContent(Buffer.alloc(0), coding, 1)).toBeUndefined();
  },
);

it.each([
  ['gzip', zlib.gzipSync(BODY)],
  ['deflate', zlib.deflateSync(BODY)],
  ['deflate', zlib.deflateRawSync(BODY)],
  ['br', zlib.brotliCompressSync(BODY)],
])('a body is not read of %s that is broken or truncated', (coding, bytes) => {
  expect(decodeContent(bytes.subarray(0, -3), coding, LIMIT)).toBeUndefined();
  expect(decodeContent(BODY, coding, LIMIT)).toBeUndefined();
});

// Encoders write a smaller window for a small body: WBITS of 23 and 24 are set here.
it.each([0x0d, 0x0f])('a body is not read of brotli that asks for a window of more than 4 MiB', (first) => {
  const body = zlib.brotliCompressSync(BODY);
  body[0] = ((body[0] as number) & 0xf0) | first;
  expect(zlib.brotliDecompressSync(body)).toEqual(BODY);
  expect(decodeContent(body, 'br', LIMIT)).toBeUndefined();
});

const ZEROS = Buffer.alloc(50_000);
it.each([
  ['gzip', zlib.gzipSync(ZEROS)],
  ['deflate', zlib.deflateSync(ZEROS)],
  ['br', zlib.brotliCompressSync(ZEROS, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } })],
])('a body is not read of %s that exceeds the limit by one byte', (coding, bytes) => {
  expect(decodeContent(bytes, coding, 50_000)?.equals(ZEROS)).toBe(true);
  expect(decodeContent(bytes, coding, 49_999)).toBeUndefined();
});

it('a body is not read above 64 KiB that is more than a hundred times the sent bytes', () => {
  const lengthOf = (content: Buffer) => decodeContent(zlib.gzipSync(content, { level: 1 }), 'gzip', 1_000_000)?.length;
  const zeros = Buffer.alloc(200_000);
  expect(zlib.gzipSync(zeros, { level: 1 }).length).toBeLessThan(1_000);
  const noise = Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7_919) % 251));
  const contents = [zeros.subarray(0, 60_000), zeros, Buffer.alloc(200_000, noise)];
  expect(contents.map(lengthOf)).toEqual([60_000, undefined, 200_000]);
});
