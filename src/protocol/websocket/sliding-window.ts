import type { MemoryBudget } from '../../limits/memory-budget.ts';

/** Initial capacity: most connections send little, so their window never grows to its full size. */
const FIRST_BYTES = 1_024;

/** Extra capacity, as a part of the window's size: this many bytes come in before the window is moved. */
const SLACK_PART = 8;

/** The last inflated bytes, which a compressed message may refer back to (RFC 7692 §7.2). */
export class SlidingWindow {
  readonly #size: number;
  readonly #maxCapacity: number;
  readonly #budget: MemoryBudget;
  #bytes: Buffer | undefined;
  #length = 0;

  /** `size` in bytes, e.g. 32,768. Up to an eighth more is held, all of it taken from `budget`. */
  constructor(size: number, budget: MemoryBudget) {
    this.#size = size;
    this.#maxCapacity = size + size / SLACK_PART;
    this.#budget = budget;
  }

  get heldBytes(): number {
    return this.#bytes?.length ?? 0;
  }

  /** At most the last `size` bytes, `undefined` without any; valid until the next `append`. */
  view(): Buffer | undefined {
    if (this.#length === 0) return undefined;
    return this.#bytes?.subarray(Math.max(0, this.#length - this.#size), this.#length);
  }

  /** `false` if the budget has no memory for it; the window is useless then. */
  append(output: Buffer): boolean {
    const added = output.length > this.#size ? output.subarray(output.length - this.#size) : output;
    if (added.length === 0) return true;
    const bytes = this.#roomFor(added.length);
    if (bytes === undefined) return false;
    bytes.set(added, this.#length);
    this.#length += added.length;
    return true;
  }

  clear(): void {
    this.#length = 0;
  }

  release(): void {
    this.#budget.giveBack('windows', this.heldBytes);
    this.#bytes = undefined;
    this.#length = 0;
  }

  #roomFor(added: number): Buffer | undefined {
    const bytes = this.#bytes;
    const needed = this.#length + added;
    if (bytes !== undefined && needed <= bytes.length) return bytes;
    if (bytes !== undefined && bytes.length === this.#maxCapacity) {
      const kept = Math.min(this.#size, this.#maxCapacity - added);
      bytes.copyWithin(0, this.#length - kept, this.#length);
      this.#length = kept;
      return bytes;
    }
    return this.#grow(needed, added);
  }

  #grow(needed: number, added: number): Buffer | undefined {
    const wanted = Math.max(FIRST_BYTES, 2 * this.heldBytes, needed);
    // Past half the capacity, take all of it instead of another step soon after.
    const capacity = wanted > this.#maxCapacity / 2 ? this.#maxCapacity : wanted;
    if (!this.#budget.take('windows', capacity)) return undefined;
    // Not from Node's pool: a small slice held for hours would keep its whole slab alive.
    const grown = Buffer.allocUnsafeSlow(capacity);
    const kept = Math.min(this.#length, capacity - added);
    this.#bytes?.copy(grown, 0, this.#length - kept, this.#length);
    this.#budget.giveBack('windows', this.heldBytes);
    this.#bytes = grown;
    this.#length = kept;
    return grown;
  }
}
