import * as zlib from 'node:zlib';
import { toMaxInflatedBytes } from './inflated-bound.ts';

const ZLIB_METHOD_DEFLATE = 8;
/** 4 MiB, what encoders use unless told otherwise; the decoder allocates all of what a body asks for, up to 16 MiB. */
const MAX_BROTLI_WINDOW_BITS = 22;

/** 8 MiB: what a sender may ask of a receiver for zstd content (RFC 9659 §3). */
const MAX_ZSTD_WINDOW_LOG = 23;
/** `ZSTD_d_windowLogMax`, which the Node of today's types does not name. */
const ZSTD_D_WINDOW_LOG_MAX = 100;

type Decode = (bytes: Buffer, options: zlib.ZlibOptions) => Buffer;

const DECODERS: Readonly<Record<string, Decode>> = {
  gzip: zlib.gunzipSync,
  'x-gzip': zlib.gunzipSync,
  deflate: inflateZlibOrRaw,
  br: decodeBrotli,
  ...zstdDecoder(),
};

/**
 * `bytes` without their content coding (RFC 9110 §8.4), e.g. `gzip`; `undefined` when it is unknown, when they do not decode, when
 * a brotli body asks for a window of more than 4 MiB, or when more than `maxInflatedBytes` come out, or far more than `bytes` should
 * hold. One coding is all that is taken off: nobody sends two, and the second could hold a thousand times the first. `identity` and
 * no coding give `bytes` themselves, whatever their size, and so does an empty body. zstd needs Node 22.15.
 */
export function decodeContent(
  bytes: Buffer,
  contentEncoding: string | undefined,
  maxInflatedBytes: number,
): Buffer | undefined {
  const [coding, another] = toCodings(contentEncoding);
  if (coding === undefined) return bytes;
  const decode = another === undefined && Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decode === undefined) return undefined;
  if (bytes.length === 0) return bytes;
  try {
    return decode(bytes, { maxOutputLength: toMaxInflatedBytes(bytes.length, maxInflatedBytes) });
  } catch {
    // Broken or too large; the peer for whom it is meant will say so.
    return undefined;
  }
}

function toCodings(contentEncoding: string | undefined): string[] {
  const names = (contentEncoding ?? '').split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '' && name !== 'identity');
}

/** `deflate` means the zlib format (RFC 1950), but some send the raw one (RFC 9110 §8.4.1.2). */
function inflateZlibOrRaw(bytes: Buffer, options: zlib.ZlibOptions): Buffer {
  const [first = 0, second = 0] = bytes;
  const isZlib = (first & 0x0f) === ZLIB_METHOD_DEFLATE && ((first << 8) | second) % 31 === 0;
  return isZlib ? zlib.inflateSync(bytes, options) : zlib.inflateRawSync(bytes, options);
}

function decodeBrotli(bytes: Buffer, options: zlib.BrotliOptions): Buffer {
  if (toBrotliWindowBits(bytes[0] ?? 0) > MAX_BROTLI_WINDOW_BITS) throw new RangeError('brotli window too large');
  const { maxOutputLength = 0 } = options;
  return zlib.brotliDecompressSync(bytes, { maxOutputLength });
}

/** The windows from 2^18 on, of which alone the size matters here: WBITS of RFC 7932 §9.1. */
function toBrotliWindowBits(first: number): number {
  const size = (first >> 1) & 0b111;
  return (first & 1) === 1 && size > 0 ? 17 + size : 17;
}

function zstdDecoder(): Record<string, Decode> {
  const candidate: unknown = Reflect.get(zlib, 'zstdDecompressSync');
  if (typeof candidate !== 'function') return {};
  const params = { [ZSTD_D_WINDOW_LOG_MAX]: MAX_ZSTD_WINDOW_LOG };
  return { zstd: (bytes, { maxOutputLength }) => candidate(bytes, { maxOutputLength, params }) as Buffer };
}
