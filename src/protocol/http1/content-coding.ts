import * as zlib from 'node:zlib';
import { hasSafeBrotli } from '../../base/advisories.ts';
import { parseCodings } from '../../base/content-codings.ts';
import { limitInflatedBytes } from '../../limits/unfinished-bodies.ts';

const ZLIB_METHOD_DEFLATE = 8;
/** 4 MiB, the default of encoders. The decoder allocates the whole window that a body asks for, up to 16 MiB. */
const MAX_BROTLI_WINDOW_BITS = 22;

/** 8 MiB: the most that a sender may ask of a receiver for zstd content (RFC 9659 §3). */
const MAX_ZSTD_WINDOW_LOG = 23;
/** `ZSTD_d_windowLogMax`; today's Node types do not have it. */
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
 * `bytes` without their content coding (RFC 9110 §8.4). Undefined if it is unknown or not safe to decode (brotli with a
 * window of more than 4 MiB, or on a Node.js with a hole in its decoder), or if the output exceeds `maxInflatedBytes`
 * or is far too large for `bytes`. Only one coding is removed: a second could expand a thousandfold again. zstd needs
 * Node 22.15.
 */
export function decodeContent(
  bytes: Buffer,
  contentEncoding: string | undefined,
  maxInflatedBytes: number,
  canDecodeBrotli = hasSafeBrotli(process.versions.node),
): Buffer | undefined {
  const [coding, another] = parseCodings(contentEncoding);
  if (coding === undefined) return bytes;
  const decode = another === undefined && Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decode === undefined || (coding === 'br' && !canDecodeBrotli)) return undefined;
  if (bytes.length === 0) return bytes;
  try {
    return decode(bytes, { maxOutputLength: limitInflatedBytes(bytes.length, maxInflatedBytes) });
  } catch {
    // Broken, too large or not safe to decode; the peer that receives the body will report a broken one.
    return undefined;
  }
}

/** `deflate` means the zlib format (RFC 1950), but some servers send the raw one (RFC 9110 §8.4.1.2). */
function inflateZlibOrRaw(bytes: Buffer, options: zlib.ZlibOptions): Buffer {
  const [first = 0, second = 0] = bytes;
  const isZlib = (first & 0x0f) === ZLIB_METHOD_DEFLATE && ((first << 8) | second) % 31 === 0;
  return isZlib ? zlib.inflateSync(bytes, options) : zlib.inflateRawSync(bytes, options);
}

function decodeBrotli(bytes: Buffer, options: zlib.BrotliOptions): Buffer {
  const [first = 0] = bytes;
  const size = (first >> 1) & 0b111;
  // WBITS of RFC 7932 §9.1, for windows from 2^18 up; 17 for all smaller ones, which are always accepted.
  const windowBits = (first & 1) === 1 && size > 0 ? 17 + size : 17;
  if (windowBits > MAX_BROTLI_WINDOW_BITS) throw new RangeError('brotli window too large');
  const { maxOutputLength = 0 } = options;
  return zlib.brotliDecompressSync(bytes, { maxOutputLength });
}

function zstdDecoder(): Record<string, Decode> {
  const candidate: unknown = Reflect.get(zlib, 'zstdDecompressSync');
  if (typeof candidate !== 'function') return {};
  const params = { [ZSTD_D_WINDOW_LOG_MAX]: MAX_ZSTD_WINDOW_LOG };
  return { zstd: (bytes, { maxOutputLength }) => candidate(bytes, { maxOutputLength, params }) as Buffer };
}
