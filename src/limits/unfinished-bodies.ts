import type { MemoryBudget, MemoryKind } from './memory-budget.ts';

export interface Unfinished {
  /** Frees its memory. The rest of a body passes unread. */
  giveUp(): void;
}

/** Larger bodies evict none: if they evicted each other, garbage would soon exceed the budget. */
const MAX_EVICTING_BYTES = 64 * 1024;

/**
 * The budget's memory of one kind for what is unfinished. When it is used up, what has been unfinished longest is evicted:
 * honest bodies and heads are complete within milliseconds, those of an attacker stay.
 */
export class EvictableBodies {
  readonly #memory: MemoryBudget;
  readonly #kind: MemoryKind;
  readonly #oldestFirst = new Set<Unfinished>();

  constructor(memory: MemoryBudget, kind: 'bodies' | 'requests' = 'bodies') {
    this.#memory = memory;
    this.#kind = kind;
  }

  /** Takes `bytes` more for `body`; false if even evictions leave no room. */
  take(body: Unfinished, bytes: number): boolean {
    while (!this.#memory.take(this.#kind, bytes)) {
      const oldest = this.#kind === 'bodies' && bytes > MAX_EVICTING_BYTES ? undefined : this.#oldestOther(body);
      if (oldest === undefined) return false;
      this.#oldestFirst.delete(oldest);
      oldest.giveUp();
    }
    this.#oldestFirst.add(body);
    return true;
  }

  /** Takes `bytes` without a check; the caller bounds them. */
  takeAnyway(bytes: number): void {
    this.#memory.takeAnyway(this.#kind, bytes);
  }

  giveBack(bytes: number): void {
    this.#memory.giveBack(this.#kind, bytes);
  }

  end(body: Unfinished, bytes: number): void {
    this.#oldestFirst.delete(body);
    this.#memory.giveBack(this.#kind, bytes);
  }

  /** Whether `body`, which keeps its memory, can be evicted. */
  setUnfinished(body: Unfinished, isUnfinished: boolean): void {
    if (isUnfinished) this.#oldestFirst.add(body);
    else this.#oldestFirst.delete(body);
  }

  #oldestOther(body: Unfinished): Unfinished | undefined {
    for (const other of this.#oldestFirst) if (other !== body) return other;
    return undefined;
  }
}
