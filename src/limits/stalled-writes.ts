import { type Clock, NS_PER_S } from '../base/clock.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** At the bound, only a connection that has taken nothing for that long is reset. */
const MAX_AGE_NS = 5 * NS_PER_S;
/** At this many times the bound, any is: memory never grows further. */
const HARD_BOUND = 4;

/** A write of that size makes the other side wait, in all versions of Node. */
export const PAUSING_BYTES = 16 * 1024;

/** A connection on which writes may wait, to its client or to its upstream. */
export interface StallingConnection {
  /** Memory that its unsent writes take; 0 when none waits. */
  readonly stalledBytes: number;
  /** Bytes that its peers have taken. Another value means that it is not stalled any more. */
  readonly sentBytes: number;
  /** Resets the client's connection. */
  onStalledTooLong(): void;
}

interface Stall {
  readonly sinceNs: number;
  readonly sentBytes: number;
  bytes: number;
}

/**
 * Memory of kind `stalled` for all connections: answers that clients do not read, and bodies that upstreams do not read. Past the
 * kind's share of the budget, the connection that has been stalled for longest is reset. A slow reader takes some bytes again and
 * again, and so becomes the newest; that is why a connection has to be stalled for a minimum age. The age shrinks with the excess.
 */
export class StalledWrites {
  readonly #budget: MemoryBudget;
  readonly #clock: Clock;
  readonly #oldestFirst = new Map<StallingConnection, Stall>();

  constructor(budget: MemoryBudget, clock: Clock) {
    this.#budget = budget;
    this.#clock = clock;
  }

  /** Connections that are stalled now. */
  get size(): number {
    return this.#oldestFirst.size;
  }

  /** To be called when a write has to wait, and when it no longer has to. */
  look(connection: StallingConnection): void {
    this.#charge(connection);
    if (this.#excess > 1) this.#resetOldest(connection);
  }

  #charge(connection: StallingConnection): void {
    const bytes = connection.stalledBytes;
    if (bytes === 0) {
      this.remove(connection);
      return;
    }
    const { sentBytes } = connection;
    const known = this.#oldestFirst.get(connection);
    if (known?.sentBytes === sentBytes) {
      this.#budget.takeAnyway('stalled', bytes - known.bytes);
      known.bytes = bytes;
    } else {
      this.remove(connection);
      this.#budget.takeAnyway('stalled', bytes);
      this.#oldestFirst.set(connection, { sinceNs: this.#clock.nowNs(), sentBytes, bytes });
    }
  }

  /** To be called when the connection has closed. */
  remove(connection: StallingConnection): void {
    const known = this.#oldestFirst.get(connection);
    if (known === undefined) return;
    this.#oldestFirst.delete(connection);
    this.#budget.give('stalled', known.bytes);
  }

  /** What is used, in shares of a kind. */
  get #excess(): number {
    return this.#budget.used.stalled / this.#budget.shareBytes;
  }

  #resetOldest(newest: StallingConnection): void {
    for (const [connection, stall] of this.#oldestFirst) {
      const excess = this.#excess;
      if (excess <= 1) return;
      if (connection === newest) continue;
      const minAgeNs = (MAX_AGE_NS * (HARD_BOUND - excess)) / (HARD_BOUND - 1);
      if (this.#clock.nowNs() - stall.sinceNs < minAgeNs) return;
      if (connection.stalledBytes === 0 || connection.sentBytes !== stall.sentBytes) {
        // It has taken bytes meanwhile: Node emits no 'drain' after a write below the high-water mark.
        this.#charge(connection);
        continue;
      }
      this.remove(connection);
      this.#budget.refuse('stalled');
      connection.onStalledTooLong();
    }
  }
}
