import { type Clock, NS_PER_S } from '../base/clock.ts';
import type { MemoryBudget } from './memory-budget.ts';

/** At the bound, a connection is reset only after it has taken nothing for this long. */
const MAX_AGE_NS = 5 * NS_PER_S;
/** At this multiple of the bound the minimum age is 0, so memory never grows further. */
const HARD_BOUND = 4;

/** Unsent writes of this size may pause the other side: Node 20's high-water mark of a socket. */
const PAUSING_BYTES = 16 * 1024;

/**
 * Charged for each queued write besides its bytes. Measured in Node 20: 60 to 245 bytes, buffers costing most. Without
 * this price, an answer in pieces of some bytes would take 40 times of what is charged.
 */
export const QUEUED_WRITE_BYTES = 256;

/** One direction of a connection, on which writes may stall. */
export type StallingConnection = Pick<QueuedWrites, 'stalledBytes' | 'sentBytes' | 'onStalledTooLong'>;

interface Stall {
  readonly sinceNs: number;
  readonly sentBytes: number;
  bytes: number;
}

/**
 * The budget's `stalled` memory for all connections: answers that clients do not read, and bodies that upstreams do not
 * read. Above the kind's share of the budget, the connection that has stalled longest is reset. A slow reader that
 * keeps taking some bytes always counts as the newest, so a connection must have stalled for a minimum age. The age
 * shrinks as the excess grows.
 */
export class StalledWrites {
  readonly #budget: MemoryBudget;
  readonly #clock: Clock;
  readonly #oldestFirst = new Map<StallingConnection, Stall>();

  constructor(budget: MemoryBudget, clock: Clock) {
    this.#budget = budget;
    this.#clock = clock;
  }

  get size(): number {
    return this.#oldestFirst.size;
  }

  /** Charges the connection's unsent writes. Call when a write has to wait, and when it no longer has to. */
  check(connection: StallingConnection): void {
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

  remove(connection: StallingConnection): void {
    const known = this.#oldestFirst.get(connection);
    if (known === undefined) return;
    this.#oldestFirst.delete(connection);
    this.#budget.giveBack('stalled', known.bytes);
  }

  /** Used memory as a multiple of the kind's share. */
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
        // The peer has taken bytes meanwhile: Node emits no 'drain' after a write below the high-water mark.
        this.#charge(connection);
        continue;
      }
      this.remove(connection);
      this.#budget.refuse('stalled');
      connection.onStalledTooLong();
    }
  }
}

/** What a `net.Socket` says about its writes. */
export interface WritableSocket {
  readonly destroyed: boolean;
  readonly bytesWritten: number;
  readonly writableLength: number;
}

export interface WritesOwner {
  /**
   * Bytes that it keeps besides, until its peer goes on. A method: a getter in a literal gets a hidden class for each
   * object, which V8 creates in its old heap, and the object stays until the next full collection
   * (`npm run bench -- --workload close`).
   */
  keptBytes?(): number;
  /** Must free the unsent writes, e.g. by a reset of the client's connection. */
  onStalledTooLong(): void;
}

export class QueuedWrites {
  readonly #socket: WritableSocket;
  readonly #stalled: StalledWrites;
  readonly #pausedBytes: number;
  readonly #owner: WritesOwner;
  /** Writes since the queue was last seen empty. */
  #writes = 0;

  /** `pausedBytes`: memory that the other side holds while it is paused. */
  constructor(socket: WritableSocket, stalled: StalledWrites, pausedBytes: number, owner: WritesOwner) {
    this.#socket = socket;
    this.#stalled = stalled;
    this.#pausedBytes = pausedBytes;
    this.#owner = owner;
  }

  /** Call after each write. */
  wrote(): void {
    this.#writes = this.#socket.writableLength > 0 ? this.#writes + 1 : 0;
  }

  /** Memory that waits for the peer; 0: none. */
  get stalledBytes(): number {
    const { destroyed, writableLength } = this.#socket;
    if (destroyed) return 0;
    // No queued write is empty.
    const writes = Math.min(this.#writes, writableLength);
    const bytes = (this.#owner.keptBytes?.() ?? 0) + writableLength + writes * QUEUED_WRITE_BYTES;
    return writableLength < PAUSING_BYTES ? bytes : bytes + this.#pausedBytes;
  }

  /** Bytes that the peer has taken. When it changes, the connection is no longer stalled. */
  get sentBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  onStalledTooLong(): void {
    this.#owner.onStalledTooLong();
  }

  check(): void {
    this.#stalled.check(this);
  }

  release(): void {
    this.#stalled.remove(this);
  }
}
