/** 64 MiB: at 36 KiB for the full window of one direction, some 1,800 compressed directions. */
export const DEFAULT_BUDGET_BYTES = 64 * 1024 * 1024;

/** Memory that many readers share. Who is refused goes without, so the sum never exceeds `maxBytes` (default 64 MiB). */
export class MemoryBudget {
  /** May become another one; below `usedBytes` nothing more is given until as much has come back. */
  maxBytes: number;
  #usedBytes = 0;
  #refusals = 0;

  constructor(maxBytes: number = DEFAULT_BUDGET_BYTES) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** How often `take` said no. */
  get refusals(): number {
    return this.#refusals;
  }

  /** All of `bytes` or, with `false`, nothing. */
  take(bytes: number): boolean {
    if (this.#usedBytes + bytes > this.maxBytes) {
      this.#refusals += 1;
      return false;
    }
    this.#usedBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#usedBytes -= bytes;
  }
}
