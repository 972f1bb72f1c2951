/** Bytes that both ends can compute, so that every one of them can be verified without being stored. */
import { Random } from '../../support/fuzz/random.ts';
import { BodySeen } from '../../system/wire/message-reader.ts';

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

export class PlannedBody extends BodySeen {
  /** What is wrong and where, e.g. `byte 17 is 0x41, not 0x42`. */
  wrong: string | undefined;
  readonly #expected: Buffer;

  constructor(expected: Buffer) {
    super();
    this.#expected = expected;
  }

  get isWhole(): boolean {
    return this.bytes === this.#expected.length;
  }

  override add(chunk: Buffer): void {
    if (this.wrong !== undefined) return;
    const end = this.bytes + chunk.length;
    const wanted = this.#expected.subarray(this.bytes, end);
    const at = chunk.equals(wanted) ? -1 : chunk.findIndex((byte, i) => byte !== wanted[i]);
    if (end > this.#expected.length) this.wrong = `${end} bytes, not ${this.#expected.length}`;
    else if (at !== -1)
      this.wrong = `byte ${this.bytes + at} is 0x${chunk[at]?.toString(16)}, not 0x${wanted[at]?.toString(16)}`;
    this.bytes = end;
  }
}
