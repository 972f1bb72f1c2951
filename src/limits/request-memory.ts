import type { MemoryBudget } from './memory-budget.ts';

/** Granted to each connection even without room: a normal head in two packets fits. 40 MB for 10,000 connections. */
export const FREE_BYTES = 4 * 1024;

export interface HeadWaiter {
  /** Must answer that there is no memory, end the connection, and keep nothing. */
  onHeadEvicted(): void;
}

/**
 * The budget's `requests` memory for all connections. When it is used up, the head that has been unfinished longest is
 * evicted: an honest head is complete within milliseconds, an attacker's is old.
 */
export class RequestMemory {
  readonly budget: MemoryBudget;
  /** Accounts with an unfinished head that exceed `FREE_BYTES`, oldest first. */
  readonly #unfinished = new Map<RequestAccount, HeadWaiter>();

  constructor(budget: MemoryBudget) {
    this.budget = budget;
  }

  /** Evicts other heads if necessary; false if that does not make enough room. */
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

/** Memory of one connection: pipelined requests, or the beginning of a head. */
export class RequestAccount {
  readonly #memory: RequestMemory;
  #bytes = 0;

  constructor(memory: RequestMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Sets the total to `bytes`; false without room for it. With `waiter`, the bytes begin a head and may be evicted. */
  keep(bytes: number, waiter?: HeadWaiter): boolean {
    const change = bytes - this.#bytes;
    // The part of the change that is within `FREE_BYTES`.
    const free = Math.min(Math.max(0, FREE_BYTES - this.#bytes), change);
    if (change > free && !this.#memory.take(this, change - free)) return false;
    if (change < 0) this.#memory.budget.giveBack('requests', -change);
    else if (free > 0) this.#memory.budget.takeAnyway('requests', free);
    this.#bytes = bytes;
    if (waiter !== undefined && bytes > FREE_BYTES) this.#memory.wait(this, waiter);
    else this.#memory.stopWaiting(this);
    return true;
  }
}
