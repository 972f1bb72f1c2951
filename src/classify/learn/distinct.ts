/** Counts different values without keeping them: of each there is a hash, of at most `max` of them. */
export class DistinctValues {
  readonly #max: number;
  readonly #hashes = new Set<number>();

  constructor(max: number) {
    this.#max = max;
  }

  /** How many different ones; at most `max`. */
  get size(): number {
    return this.#hashes.size;
  }

  get isFull(): boolean {
    return this.#hashes.size >= this.#max;
  }

  add(hash: number): void {
    if (!this.isFull) this.#hashes.add(hash);
  }

  addAll(other: DistinctValues): void {
    for (const hash of other.#hashes) this.add(hash);
  }

  /** `17`, or `256 or more`. */
  toString(): string {
    return this.isFull ? `${this.size} or more` : String(this.size);
  }
}

/**
 * A hash of 52 bits, of the first 256 characters and the length: two runs of FNV-1a from different starts (Fowler, Noll and Vo,
 * RFC 9923). It tells values apart; it does not protect them, and leaves the process as little as they do.
 */
export function hashOf(text: string): number {
  let low = 0x811c9dc5 ^ text.length;
  let high = 0x9dc5811c;
  const end = Math.min(text.length, MAX_CHARS);
  for (let at = 0; at < end; at += 1) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, FNV_PRIME);
    high = Math.imul(high ^ code, FNV_PRIME) ^ (low >>> 15);
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}

const MAX_CHARS = 256;
const FNV_PRIME = 0x01000193;
