import type { MemoryBudget } from './memory-budget.ts';

export interface Unfinished {
  /** Frees its memory for others. The rest of its bytes passes unread. */
  giveUp(): void;
}

/** Larger bodies evict none: if they evicted each other, garbage would soon exceed the budget. */
const MAX_EVICTING_BYTES = 64 * 1024;

/**
 * The budget's `bodies` memory. When it is used up, the body that has been unfinished longest is evicted: honest ones
 * are complete within milliseconds, those of an attacker stay.
 */
export class UnfinishedBodies {
  readonly #memory: MemoryBudget;
  readonly #oldestFirst = new Set<Unfinished>();

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** Takes `bytes` more for `body`; false if even evictions leave no room. */
  take(body: Unfinished, bytes: number): boolean {
    while (!this.#memory.take('bodies', bytes)) {
      const oldest = bytes > MAX_EVICTING_BYTES ? undefined : this.#oldestOther(body);
      if (oldest === undefined) return false;
      this.#oldestFirst.delete(oldest);
      oldest.giveUp();
    }
    this.#oldestFirst.add(body);
    return true;
  }

  /** Takes `bytes` for data that was derived from a body and is bounded by it. */
  takeAnyway(bytes: number): void {
    this.#memory.takeAnyway('bodies', bytes);
  }

  /** Gives back `bytes` of an unfinished body. */
  giveBack(bytes: number): void {
    this.#memory.giveBack('bodies', bytes);
  }

  /** Ends `body` and gives back its last `bytes`. */
  end(body: Unfinished, bytes: number): void {
    this.#oldestFirst.delete(body);
    this.#memory.giveBack('bodies', bytes);
  }

  #oldestOther(body: Unfinished): Unfinished | undefined {
    for (const other of this.#oldestFirst) if (other !== body) return other;
    return undefined;
  }
}
