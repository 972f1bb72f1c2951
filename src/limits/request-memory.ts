import type { MemoryBudget } from './memory-budget.ts';

/** Each connection may keep that much even without room: an honest head in two packets fits. 40 MB for 10,000 connections. */
export const FREE_BYTES = 4 * 1024;

/** A connection that waits for the rest of a head. */
export interface HeadWaiter {
  /** Answers that there is no memory, ends the connection, and keeps nothing. */
  onHeadEvicted(): void;
}

/**
 * Memory of kind `requests` for all connections. When it is used up, the head that has been unfinished for longest is evicted: an
 * honest head is whole within milliseconds, an attacker's is old.
 */
export class RequestMemory {
  readonly budget: MemoryBudget;
  /** Accounts beyond their free bytes that wait for the rest of a head, oldest first. */
  readonly #unfinished = new Map<RequestAccount, HeadWaiter>();

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  /** True once `bytes` have been taken for `account`. */
  take(account: RequestAccount, bytes: number): boolean {
    while (!this.budget.take('requests', bytes)) {
      if (!this.#evictOldest(account)) return false;
    }
    return true;
  }

  wait(account: RequestAccount, waiter: HeadWaiter): void {
    if (!this.#unfinished.has(account)) this.#unfinished.set(account, waiter);
  }

  stopWaiting(account: RequestAccount): void {
    this.#unfinished.delete(account);
  }

  #evictOldest(except: RequestAccount): boolean {
    for (const [account, waiter] of this.#unfinished) {
      if (account === except) continue;
      waiter.onHeadEvicted();
      account.keep(0);
      return true;
    }
    return false;
  }
}

/** What one connection keeps: requests before their turn, or the beginning of a head. */
export class RequestAccount {
  readonly #memory: RequestMemory;
  #bytes = 0;

  constructor(memory: RequestMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Keeps `bytes` in all from now on. False without room for them: it keeps what it kept. `waiter`: the bytes are the beginning of
   * a head of its own.
   */
  keep(bytes: number, waiter?: HeadWaiter): boolean {
    const change = bytes - this.#bytes;
    // Of what is kept in any case, as much as has not been taken yet.
    const free = Math.min(Math.max(0, FREE_BYTES - this.#bytes), change);
    if (change > free && !this.#memory.take(this, change - free)) return false;
    if (change < 0) this.#memory.budget.give('requests', -change);
    else if (free > 0) this.#memory.budget.takeAnyway('requests', free);
    this.#bytes = bytes;
    if (waiter !== undefined && bytes > FREE_BYTES) this.#memory.wait(this, waiter);
    else this.#memory.stopWaiting(this);
    return true;
  }
}
