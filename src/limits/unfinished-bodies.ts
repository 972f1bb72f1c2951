import type { MemoryBudget } from './memory-budget.ts';

/** A body or message of which a part has come. */
export interface Unfinished {
  /** Gives back what it took: its room is needed for others. Its bytes pass unread. */
  giveUp(): void;
}

/**
 * The memory of bodies and messages that have come in part. When there is none left, the one that has been unfinished for longest makes
 * room: honest ones are whole within milliseconds, while those of an attacker stay. Only for small ones: large ones that push each other
 * out would leave more behind for the garbage collector than the budget allows.
 */
const MAX_PUSHING_BYTES = 64 * 1024;

export class UnfinishedBodies {
  readonly #memory: MemoryBudget;
  readonly #oldestFirst = new Set<Unfinished>();

  constructor(memory: MemoryBudget) {
    this.#memory = memory;
  }

  /** Takes `bytes` more for `body`; false when there is no room even without all the others. */
  take(body: Unfinished, bytes: number): boolean {
    while (!this.#memory.take('bodies', bytes)) {
      const oldest = bytes > MAX_PUSHING_BYTES ? undefined : this.#oldestOther(body);
      if (oldest === undefined) return false;
      this.#oldestFirst.delete(oldest);
      oldest.giveUp();
    }
    this.#oldestFirst.add(body);
    return true;
  }

  /** Takes `bytes` for what was made of a body, and is bounded by it. */
  takeAnyway(bytes: number): void {
    this.#memory.takeAnyway('bodies', bytes);
  }

  /** Gives back `bytes`; what they were taken for goes on. */
  give(bytes: number): void {
    this.#memory.give('bodies', bytes);
  }

  /** `body` has ended, and gives back its last `bytes`. */
  end(body: Unfinished, bytes: number): void {
    this.#oldestFirst.delete(body);
    this.#memory.give('bodies', bytes);
  }

  #oldestOther(body: Unfinished): Unfinished | undefined {
    for (const other of this.#oldestFirst) if (other !== body) return other;
    return undefined;
  }
}
