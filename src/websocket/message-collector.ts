import type { MemoryBudget } from './memory-budget.ts';
import { copyUnmasked } from './unmask.ts';

/** Up to here a frame's announced length is believed and allocated at once; beyond, memory follows what really came. */
const MAX_TRUSTED_BYTES = 64 * 1_024;

/** The payload of one message that comes in several pieces, unmasked; its memory is taken from the budget. */
export class MessageCollector {
  readonly #maxBytes: number;
  readonly #budget: MemoryBudget;
  #bytes: Buffer | undefined;
  #length = 0;

  /** Never holds more than `maxBytes`; the caller does not append more. */
  constructor(maxBytes: number, budget: MemoryBudget) {
    this.#maxBytes = maxBytes;
    this.#budget = budget;
  }

  get heldBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  /** `announced` bytes of the frame are still to come, these included. `false` when there is no memory for them. */
  append(
    source: Buffer,
    range: { readonly from: number; readonly to: number },
    frame: { readonly mask: number; readonly payloadBytes: number; readonly payloadLeft: number },
  ): boolean {
    const bytes = this.#roomFor(range.to - range.from, frame.payloadLeft);
    if (bytes === undefined) return false;
    if (frame.mask === 0) source.copy(bytes, this.#length, range.from, range.to);
    else copyUnmasked(source, range, bytes, this.#length, frame.mask, frame.payloadBytes - frame.payloadLeft);
    this.#length += range.to - range.from;
    return true;
  }

  /** What has come so far; valid until `release` or the next `append`. */
  view(): Buffer {
    return this.#bytes?.subarray(0, this.#length) ?? Buffer.alloc(0);
  }

  /** Empties it and gives its memory back. */
  release(): void {
    this.#budget.give(this.heldBytes);
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
    if (!this.#budget.take(capacity)) return undefined;
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.#bytes?.copy(grown, 0, 0, this.#length);
    this.#budget.give(this.heldBytes);
    this.#bytes = grown;
    return grown;
  }
}
