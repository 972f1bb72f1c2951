import type { EvictableBodies, Unfinished } from './unfinished-bodies.ts';

/** Granted to each connection even without room: a normal head in two packets fits. 40 MB for 10,000 connections. */
export const FREE_BYTES = 4 * 1024;

export interface HeadWaiter {
  /** Must answer that there is no memory, end the connection, and keep nothing. */
  onHeadEvicted(): void;
}

/** Memory of one connection: pipelined requests, or the beginning of a head. */
export class RequestAccount implements Unfinished {
  readonly #memory: EvictableBodies;
  bytes = 0;
  #waiter: HeadWaiter | undefined;

  /** `memory` is of the kind `requests`, for all connections. */
  constructor(memory: EvictableBodies) {
    this.#memory = memory;
  }

  /** Sets the total to `bytes`; false without room for it. With `waiter`, the bytes begin a head and may be evicted. */
  keep(bytes: number, waiter?: HeadWaiter): boolean {
    const memory = this.#memory;
    const change = bytes - this.bytes;
    // The part of the change that is within `FREE_BYTES`.
    const free = Math.min(Math.max(0, FREE_BYTES - this.bytes), change);
    if (change > free && !memory.take(this, change - free)) return false;
    if (change < 0) memory.giveBack(-change);
    else if (free > 0) memory.takeAnyway(free);
    this.bytes = bytes;
    this.#waiter = waiter;
    memory.setUnfinished(this, waiter !== undefined && bytes > FREE_BYTES);
    return true;
  }

  giveUp(): void {
    this.#waiter?.onHeadEvicted();
    this.keep(0);
  }
}
