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

/** Granted to each connection even without room: a normal head in two packets fits. 40 MB for 10,000 connections. */
export const FREE_BYTES = 4 * 1024;

/** Memory of one connection: pipelined requests, or the beginning of a head. */
export class RequestAccount implements Unfinished {
  readonly #memory: EvictableBodies;
  bytes = 0;
  #onEvicted: (() => void) | undefined;

  /** `memory` is of the kind `requests`, for all connections. */
  constructor(memory: EvictableBodies) {
    this.#memory = memory;
  }

  /**
   * Sets the total to `bytes`; false without room for it. With `onEvicted`, the bytes begin a head and may be evicted:
   * it must answer that there is no memory, end the connection, and keep nothing.
   */
  keep(bytes: number, onEvicted?: () => void): boolean {
    const memory = this.#memory;
    const change = bytes - this.bytes;
    // The part of the change that is within `FREE_BYTES`.
    const free = Math.min(Math.max(0, FREE_BYTES - this.bytes), change);
    if (change > free && !memory.take(this, change - free)) return false;
    if (change < 0) memory.giveBack(-change);
    else if (free > 0) memory.takeAnyway(free);
    this.bytes = bytes;
    this.#onEvicted = onEvicted;
    memory.setUnfinished(this, onEvicted !== undefined && bytes > FREE_BYTES);
    return true;
  }

  giveUp(): void {
    this.#onEvicted?.();
    this.keep(0);
  }
}

/** An announced length up to this is allocated at once. Beyond it, memory grows with the bytes that really arrive. */
const MAX_TRUSTED_BYTES = 64 * 1_024;
/** The first allocation: a body that comes byte by byte is not copied for each of its first bytes. */
const MIN_BYTES = 512;

/**
 * Charged for each kept body besides its bytes: the buffer's objects, the reading, and the exchange that waits for it.
 * Without this price, a budget for megabytes would admit millions of bodies of one byte.
 */
export const KEPT_BODY_BYTES = 2_048;

/** A growing copy of one body or message. Its memory is charged to the budget. */
export class KeptBytes {
  readonly #maxBytes: number;
  readonly #bodies: EvictableBodies;
  readonly #owner: Unfinished;
  readonly #isSecret: boolean;
  #bytes: Buffer | undefined;
  length = 0;

  /**
   * Allocates at most `maxBytes`; the caller must not append more. `owner.giveUp` may be called while it holds
   * bytes. With `isSecret`, memory is overwritten before it is freed.
   */
  constructor(maxBytes: number, bodies: EvictableBodies, owner: Unfinished, isSecret = false) {
    this.#maxBytes = maxBytes;
    this.#bodies = bodies;
    this.#owner = owner;
    this.#isSecret = isSecret;
  }

  /** What is charged to the budget. */
  get heldBytes(): number {
    return this.#bytes === undefined ? 0 : this.#bytes.length + KEPT_BODY_BYTES;
  }

  /**
   * Grows by `added` bytes and returns the part to write them to; undefined without memory for them. `announced`: how
   * many bytes are known to be coming, including these.
   */
  extend(added: number, announced: number): Buffer | undefined {
    const from = this.length;
    const bytes = this.#roomFor(added, announced);
    if (bytes === undefined) return undefined;
    this.length += added;
    return bytes.subarray(from, this.length);
  }

  /** Adds a copy of `bytes`. Otherwise returns why they cannot be kept, and adds nothing: the owner has to give up. */
  append(bytes: Buffer): 'body-too-large' | 'budget' | undefined {
    if (this.length + bytes.length > this.#maxBytes) return 'body-too-large';
    const target = this.extend(bytes.length, bytes.length);
    if (target === undefined) return 'budget';
    bytes.copy(target);
    return undefined;
  }

  /** The bytes so far. Valid until `release` or the next `extend`. */
  view(): Buffer {
    return this.#bytes?.subarray(0, this.length) ?? Buffer.alloc(0);
  }

  release(): void {
    if (this.#bytes === undefined) return;
    this.#bodies.end(this.#owner, this.heldBytes);
    if (this.#isSecret) this.#bytes.fill(0);
    this.#bytes = undefined;
    this.length = 0;
  }

  #roomFor(added: number, announced: number): Buffer | undefined {
    const needed = this.length + added;
    if (this.#bytes !== undefined && needed <= this.#bytes.length) return this.#bytes;
    const expected = this.length + announced;
    // Doubled: otherwise a message of a million small fragments would be copied a million times.
    const wanted = Math.max(
      MIN_BYTES,
      expected <= MAX_TRUSTED_BYTES ? expected : needed,
      2 * (this.#bytes?.length ?? 0),
    );
    const capacity = Math.min(wanted, this.#maxBytes);
    if (!this.#bodies.take(this.#owner, capacity + KEPT_BODY_BYTES)) return undefined;
    // Not from Node's pool: a kept slice of one byte would keep its whole slab of 8 KiB or more alive.
    const grown = Buffer.allocUnsafeSlow(capacity);
    this.#bytes?.copy(grown, 0, 0, this.length);
    if (this.#isSecret) this.#bytes?.fill(0);
    this.#bodies.giveBack(this.heldBytes);
    this.#bytes = grown;
    return grown;
  }
}

/** Content may be this many times larger than what was sent: encoders reach that with repetitive JSON. */
const MAX_RATIO = 100;
/** Up to this size any ratio is allowed: a short message may repeat much of earlier ones. */
const ANY_RATIO_BYTES = 64 * 1024;

/** Maximum content of a message of `sentBytes`, at most `maxBytes`: a bomb of a few bytes is given up early. */
export function limitInflatedBytes(sentBytes: number, maxBytes: number): number {
  return Math.min(maxBytes, ANY_RATIO_BYTES + MAX_RATIO * sentBytes);
}
