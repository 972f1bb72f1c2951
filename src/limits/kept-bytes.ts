import type { Unfinished, UnfinishedBodies } from './unfinished-bodies.ts';

/** Up to here an announced length is believed and allocated at once; beyond it, memory follows what really came. */
const MAX_TRUSTED_BYTES = 64 * 1_024;
/** Bodies below it come from Node's pool, which costs a tenth of memory of their own. */
const MAX_POOLED_BYTES = 2_048;

/** A growing copy of one body or message; its memory is taken from the budget. */
export class KeptBytes {
  readonly #maxBytes: number;
  readonly #bodies: UnfinishedBodies;
  readonly #owner: Unfinished;
  readonly #isSecret: boolean;
  #bytes: Buffer | undefined;
  #length = 0;

  /**
   * Never holds more than `maxBytes`; the caller does not append more. `owner` may be asked to give up while it holds something.
   * `isSecret`: what is no longer needed is overwritten.
   */
  constructor(maxBytes: number, bodies: UnfinishedBodies, owner: Unfinished, isSecret = false) {
    this.#maxBytes = maxBytes;
    this.#bodies = bodies;
    this.#owner = owner;
    this.#isSecret = isSecret;
  }

  get length(): number {
    return this.#length;
  }

  /** Memory that it holds. */
  get heldBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  /**
   * Makes `added` bytes longer what is kept, and gives where they are to be written; undefined when there is no memory for them.
   * `announced`: how many are known to be coming, these included.
   */
  extend(added: number, announced: number): Buffer | undefined {
    const from = this.#length;
    const bytes = this.#roomFor(added, announced);
    if (bytes === undefined) return undefined;
    this.#length += added;
    return bytes.subarray(from, this.#length);
  }

  /** What has come so far; valid until `release` or the next `extend`. */
  view(): Buffer {
    return this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  /** Empties it and gives its memory back. */
  release(): void {
    if (this.#bytes === undefined) return;
    this.#bodies.end(this.#owner, this.#bytes.length);
    if (this.#isSecret) this.#bytes.fill(0);
    this.#bytes = undefined;
    this.#length = 0;
  }

  #roomFor(added: number, announced: number): Buffer | undefined {
    const needed = this.#length + added;
    if (this.#bytes !== undefined && needed <= this.#bytes.length) return this.#bytes;
    const expected = this.#length + announced;
    // Doubled, so that a message of a million small fragments is not copied a million times.
    const wanted = Math.max(expected <= MAX_TRUSTED_BYTES ? expected : needed, 2 * this.heldBytes);
    const capacity = Math.min(wanted, this.#maxBytes);
    if (!this.#bodies.take(this.#owner, capacity)) return undefined;
    const grown = capacity < MAX_POOLED_BYTES ? Buffer.allocUnsafe(capacity) : Buffer.allocUnsafeSlow(capacity);
    this.#bytes?.copy(grown, 0, 0, this.#length);
    if (this.#isSecret) this.#bytes?.fill(0);
    this.#bodies.give(this.heldBytes);
    this.#bytes = grown;
    return grown;
  }
}
