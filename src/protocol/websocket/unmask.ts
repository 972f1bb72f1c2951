import { endianness } from 'node:os';

const IS_LITTLE_ENDIAN = endianness() === 'LE';

/** Below this size, setting up a view of words costs more than it saves; test/bench/websocket.bench.ts. */
const MIN_WORDWISE_BYTES = 96;

/**
 * Copies `source[from, to)` to `target` at `at` without the masking of RFC 6455 §5.3. `mask` is the masking key as one
 * number, its first byte in the highest position, e.g. 0x37fa213d. `phase` is the number of payload bytes of the frame
 * that came before. `source` belongs to the traffic and is not changed.
 */
export function copyUnmasked(
  source: Buffer,
  range: { readonly from: number; readonly to: number },
  target: Buffer,
  at: number,
  mask: number,
  phase: number,
): void {
  const bytes = range.to - range.from;
  if (bytes < MIN_WORDWISE_BYTES) {
    for (let i = 0; i < bytes; i += 1) {
      target[at + i] = (source[range.from + i] as number) ^ maskByte(mask, phase + i);
    }
    return;
  }
  source.copy(target, at, range.from, range.to);
  unmaskWords(target, at, at + bytes, mask, phase);
}

function unmaskWords(target: Buffer, from: number, to: number, mask: number, phase: number): void {
  let i = from;
  let index = phase;
  // An Int32Array must start at an offset divisible by four in its buffer.
  for (; (target.byteOffset + i) % 4 !== 0; i += 1, index += 1) xorAt(target, i, maskByte(mask, index));
  const word = wordOf(mask, index);
  const words = new Int32Array(target.buffer, target.byteOffset + i, (to - i) >>> 2);
  for (let w = 0; w < words.length; w += 1) words[w] = (words[w] as number) ^ word;
  // Four bytes are one whole key, so `index` is still right.
  for (i += words.length * 4; i < to; i += 1, index += 1) xorAt(target, i, maskByte(mask, index));
}

function xorAt(bytes: Buffer, i: number, value: number): void {
  bytes[i] = (bytes[i] as number) ^ value;
}

function maskByte(mask: number, index: number): number {
  return (mask >>> (24 - 8 * (index & 3))) & 0xff;
}

/** The key from byte `index` on, in the byte order of this machine's words. */
function wordOf(mask: number, index: number): number {
  const [a, b, c, d] = [0, 1, 2, 3].map((i) => maskByte(mask, index + i)) as [number, number, number, number];
  return IS_LITTLE_ENDIAN ? (d << 24) | (c << 16) | (b << 8) | a : (a << 24) | (b << 16) | (c << 8) | d;
}
