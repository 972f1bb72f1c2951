import type { MemoryBudget } from './memory-budget.ts';
import { EvictableBodies, type Unfinished } from './unfinished-bodies.ts';

/** Granted to each connection even without room: a normal head in two packets fits. 40 MB for 10,000 connections. */
export const FREE_BYTES = 4 * 1024;

export interface HeadWaiter {
  /** Must answer that there is no memory, end the connection, and keep nothing. */
  onHeadEvicted(): void;
}

/** The budget's `requests` memory for all connections. Unfinished heads that exceed `FREE_BYTES` may be evicted. */
export class RequestMemory {
  readonly budget: MemoryBudget;
  readonly unfinished: EvictableBodies;

  constructor(budget: MemoryBudget) {
    this.budget = budget;
    this.unfinished = new EvictableBodies(budget, 'requests');
  }
}

/** Memory of one connection: pipelined requests, or the beginning of a head. */
export class RequestAccount implements Unfinished {
  readonly #memory: RequestMemory;
  bytes = 0;
  #waiter: HeadWaiter | undefined;

  constructor(memory: RequestMemory) {
    this.#memory = memory;
  }

  /** Sets the total to `bytes`; false without room for it. With `waiter`, the bytes begin a head and may be evicted. */
  keep(bytes: number, waiter?: HeadWaiter): boolean {
    const { budget, unfinished } = this.#memory;
    const change = bytes - this.bytes;
    // The part of the change that is within `FREE_BYTES`.
    const free = Math.min(Math.max(0, FREE_BYTES - this.bytes), change);
    if (change > free && !unfinished.take(this, change - free)) return false;
    if (change < 0) budget.giveBack('requests', -change);
    else if (free > 0) budget.takeAnyway('requests', free);
    this.bytes = bytes;
    this.#waiter = waiter;
    unfinished.setUnfinished(this, waiter !== undefined && bytes > FREE_BYTES);
    return true;
  }

  giveUp(): void {
    this.#waiter?.onHeadEvicted();
    this.keep(0);
  }
}
