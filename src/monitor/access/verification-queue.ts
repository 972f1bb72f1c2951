/**
 * Bounds how many passwords are verified at once: a verification takes 32 MiB and 0.2 s of a thread, and Node has four
 * threads for all file access and name resolution.
 *
 * The newest is next, since a queued flood is older than a reader who arrives now: the reader waits for one of the
 * running verifications. If the queue is full, the oldest is evicted.
 */
const SLOTS = 2;
/** Two threads verify this many in 7 s. */
const MAX_WAITING = 64;

export class VerificationQueue {
  /** Oldest first. Called with false if evicted. */
  readonly #waiting: ((hasSlot: boolean) => void)[] = [];
  #running = 0;

  get isBusy(): boolean {
    return this.#running === SLOTS;
  }

  /** Runs `work` when it gets a slot. The outcome is undefined after an eviction. */
  async run<T>(work: () => Promise<T>): Promise<T | undefined> {
    if (!this.isBusy) this.#running += 1;
    else if (!(await this.#wait())) return undefined;
    try {
      return await work();
    } finally {
      const next = this.#waiting.pop();
      // The slot passes to the next one.
      if (next === undefined) this.#running -= 1;
      else next(true);
    }
  }

  #wait(): Promise<boolean> {
    return new Promise((settle) => {
      this.#waiting.push(settle);
      if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()?.(false);
    });
  }
}
