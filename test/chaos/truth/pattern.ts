/** Bytes that both ends can compute, so that every one of them can be verified without being stored. */
import { Random } from '../../support/fuzz/random.ts';

/** FNV-1a over the UTF-16 units, mixed with the seed: the same on every machine. */
export function hashOf(seed: number, label: string): number {
  let hash = (0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)) >>> 0;
  for (let i = 0; i < label.length; i += 1) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193) >>> 0;
  return hash >>> 0;
}

export function randomOf(seed: number, label: string): Random {
  return new Random(hashOf(seed, label));
}

/**
 * `bytes` bytes for `label` alone, e.g. `r17/answer`. They begin with the label itself, as far as it fits, so that
 * a stray body shows where it belongs; the rest is noise (xorshift32), so that a shifted, lost or repeated piece shows at once.
 */
export function patternOf(seed: number, label: string, bytes: number): Buffer {
  const words = new Uint32Array((bytes + 3) >> 2);
  let state = hashOf(seed, label) || 1;
  for (let i = 0; i < words.length; i += 1) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[i] = state;
  }
  const pattern = Buffer.from(words.buffer, 0, bytes);
  pattern.write(`${label}\n`, 'latin1');
  return pattern;
}

/** Compares arriving bytes with the expected ones. */
export class PatternCheck {
  readonly #expected: Buffer;
  #offset = 0;

  constructor(expected: Buffer) {
    this.#expected = expected;
  }

  get received(): number {
    return this.#offset;
  }

  get isComplete(): boolean {
    return this.#offset === this.#expected.length;
  }

  /** Undefined while all bytes are right; otherwise what is wrong and where, e.g. `byte 17 is 0x41, not 0x42`. */
  take(chunk: Buffer, from: number, to: number): string | undefined {
    const end = this.#offset + to - from;
    if (end > this.#expected.length) return `${end} bytes, not ${this.#expected.length}`;
    if (chunk.compare(this.#expected, this.#offset, end, from, to) !== 0) return this.#firstDifference(chunk, from, to);
    this.#offset = end;
    return undefined;
  }

  #firstDifference(chunk: Buffer, from: number, to: number): string {
    for (let at = from; at < to; at += 1) {
      const [got, wanted] = [chunk[at] ?? 0, this.#expected[this.#offset + at - from] ?? 0];
      if (got !== wanted)
        return `byte ${this.#offset + at - from} is 0x${got.toString(16)}, not 0x${wanted.toString(16)}`;
    }
    return 'an unknown difference';
  }
}
