/**
 * One budget for all bytes that are kept because of what clients send: `limits.memoryBytes`. Code that keeps such bytes takes them
 * here first, and does without them when they are refused. docs/limits.md says what each kind does then.
 */

/** `limits.memoryBytes` unless the configuration says otherwise. */
export const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;

/**
 * `bodies`: bodies and WebSocket messages that are being read. `windows`: what compressed WebSockets may refer back to. `requests`:
 * unfinished heads, and requests sent before their turn. `ahead`: bytes behind a request for an upgrade that has no answer yet.
 * `names`: names in Comet requests that wait for their answers. `stalled`: answers that clients do not read, and bodies that
 * upstreams do not read.
 */
export const MEMORY_KINDS = ['bodies', 'windows', 'requests', 'ahead', 'names', 'stalled'] as const;

export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** No kind takes more than this part, so that one of them cannot stop the others. */
const SHARE_OF_A_KIND = 1 / 2;

const NONE: Readonly<Record<MemoryKind, number>> = {
  bodies: 0,
  windows: 0,
  requests: 0,
  ahead: 0,
  names: 0,
  stalled: 0,
};

export class MemoryBudget {
  /** A reload may change it. Below `usedBytes`, nothing more is given until enough has come back. */
  maxBytes: number;
  readonly #used: Record<MemoryKind, number> = { ...NONE };
  readonly #refusals: Record<MemoryKind, number> = { ...NONE };
  #usedBytes = 0;

  constructor(maxBytes: number = DEFAULT_MEMORY_BYTES) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Bytes kept now, by kind; all kinds are there. */
  get used(): Readonly<Record<MemoryKind, number>> {
    return this.#used;
  }

  /** The most that `take` gives to one kind. */
  get shareBytes(): number {
    return this.maxBytes * SHARE_OF_A_KIND;
  }

  /** How often there was no room, by kind. */
  get refusals(): Readonly<Record<MemoryKind, number>> {
    return this.#refusals;
  }

  /** Takes all of `bytes`, or takes nothing and returns false. */
  take(kind: MemoryKind, bytes: number): boolean {
    const { shareBytes } = this;
    // Stalled writes may exceed their share for some seconds. That does not take the share of others.
    const excessBytes = Math.max(0, this.#used.stalled - shareBytes);
    const isTooMuch = this.#usedBytes - excessBytes + bytes > this.maxBytes;
    if (isTooMuch || this.#used[kind] + bytes > shareBytes) {
      this.refuse(kind);
      return false;
    }
    this.#add(kind, bytes);
    return true;
  }

  /** Counts that there was no room. */
  refuse(kind: MemoryKind): void {
    this.#refusals[kind] += 1;
  }

  /** Takes `bytes` in any case: for a small, bounded amount that each connection needs, or where the caller keeps a bound itself. */
  takeAnyway(kind: MemoryKind, bytes: number): void {
    this.#add(kind, bytes);
  }

  /** Gives back what was taken. */
  give(kind: MemoryKind, bytes: number): void {
    this.#add(kind, -bytes);
  }

  #add(kind: MemoryKind, bytes: number): void {
    this.#used[kind] += bytes;
    this.#usedBytes += bytes;
  }
}
