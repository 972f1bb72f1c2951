/**
 * Bounds how many passwords are verified at once: a verification takes 32 MiB and 0.2 s of a thread, and Node has four
 * threads for all file access and name resolution.
 *
 * Preferred ones come first. Among equals the newest is next, since a queued flood is older than a reader who arrives
 * now: the reader waits for one of the running verifications. If the queue is full, the oldest is evicted, and a
 * preferred one only if all are.
 */
const SLOTS = 2;
/** Two threads verify this many in 7 s. */
const MAX_WAITING = 64;

/** Called with false if evicted. Queues of these are oldest first. */
type Waiting = (hasSlot: boolean) => void;

export class VerificationQueue {
  readonly #preferred: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #running = 0;

  get isBusy(): boolean {
    return this.#running === SLOTS;
  }

  /** Runs `work` when it gets a slot. The outcome is undefined after an eviction. */
  async run<T>(work: () => Promise<T>, isPreferred = false): Promise<T | undefined> {
    if (!this.isBusy) this.#running += 1;
    else if (!(await this.#wait(isPreferred))) return undefined;
    try {
      return await work();
    } finally {
      const next = this.#preferred.pop() ?? this.#others.pop();
      // The slot passes to the next one.
      if (next === undefined) this.#running -= 1;
      else next(true);
    }
  }

  #wait(isPreferred: boolean): Promise<boolean> {
    return new Promise((settle) => {
      (isPreferred ? this.#preferred : this.#others).push(settle);
      if (this.#preferred.length + this.#others.length <= MAX_WAITING) return;
      const evicted = this.#others.shift() ?? this.#preferred.shift();
      evicted?.(false);
    });
  }
}
