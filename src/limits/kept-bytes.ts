import type { EvictableBodies, Unfinished } from './unfinished-bodies.ts';

/** An announced length up to this is allocated at once. Beyond it, memory grows with the bytes that really arrive. */
const MAX_TRUSTED_BYTES = 64 * 1_024;
/** The first allocation: a body that comes byte by byte is not copied for each of its first bytes. */
const MIN_BYTES = 512;

/**
 * Charged for each kept body besides its bytes: the buffer's objects, the reading, and the exchange that waits for it.
 * Without this price, a budget for megabytes would admit millions of bodies of one byte.
 */
export const KEPT_BODY_BYTES = 2_048;

/** A growing copy of one body or message. Its memory is charged to the budget. */
export class KeptBytes {
  readonly #maxBytes: number;
  readonly #bodies: EvictableBodies;
  readonly #owner: Unfinished;
  readonly #isSecret: boolean;
  #bytes: Buffer | undefined;
  #length = 0;

  /**
   * Allocates at most `maxBytes`; the caller must not append more. `owner.giveUp` may be called while it holds
   * bytes. With `isSecret`, memory is overwritten before it is freed.
   */
  constructor(maxBytes: number, bodies: EvictableBodies, owner: Unfinished, isSecret = false) {
    this.#maxBytes = maxBytes;
    this.#bodies = bodies;
    this.#owner = owner;
    this.#isSecret = isSecret;
  }

  get length(): number {
    return this.#length;
  }

  /** What is charged to the budget. */
  get heldBytes(): number {
    return this.#bytes === undefined ? 0 : this.#bytes.length + KEPT_BODY_BYTES;
  }

  /**
   * Grows by `added` bytes and returns the part to write them to; undefined without memory for them. `announced`: how
   * many bytes are known to be coming, including these.
   */
  extend(added: number, announced: number): Buffer | undefined {
    const from = this.#length;
    const bytes = this.#roomFor(added, announced);
    if (bytes === undefined) return undefined;
    this.#length += added;
    return bytes.subarray(from, this.#length);
  }

  /** The bytes so far. Valid until `release` or the next `extend`. */
  view(): Buffer {
    return this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  release(): void {
    if (this.#bytes === undefined) return;
    this.#bodies.end(this.#owner, this.heldBytes);
    if (this.#isSecret) this.#bytes.fill(0);
    this.#bytes = undefined;
    this.#length = 0;
  }

  #roomFor(added: number, announced: number): Buffer | undefined {
    const needed = this.#length + added;
    if (this.#bytes !== undefined && needed <= this.#bytes.length) return this.#bytes;
    const expected = this.#length + announced;
    // Doubled: otherwise a message of a million small fragments would be copied a million times.
    const wanted = Math.max(
      MIN_BYTES,
      expected <= MAX_TRUSTED_BYTES ? expected : needed,
      2 * (this.#bytes?.length ?? 0),
    );
    const capacity = Math.min(wanted, this.#maxBytes);
    if (!this.#bodies.take(this.#owner, capacity + KEPT_BODY_BYTES)) return undefined;
    // Not from Node's pool: a kept slice of one byte would keep its whole slab of 8 KiB or more alive.
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.#bytes?.copy(grown, 0, 0, this.#length);
    if (this.#isSecret) this.#bytes?.fill(0);
    this.#bodies.giveBack(this.heldBytes);
    this.#bytes = grown;
    return grown;
  }
}
