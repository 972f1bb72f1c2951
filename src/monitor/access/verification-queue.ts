/**
 * Verifies one password at a time: it takes 32 MiB and 0.2 s of a processor that the traffic needs too.
 *
 * Preferred ones come first. Among equals the newest is next, since a queued flood is older than a reader who arrives
 * now. If the queue is full, the oldest is evicted, and a preferred one only if all are.
 */

/** All of them take 13 s, one after the other. */
const MAX_WAITING = 64;

/** Called with false if evicted. Queues of these are oldest first. */
type Waiting = (isNext: boolean) => void;

export class VerificationQueue {
  readonly #preferred: Waiting[] = [];
  readonly #others: Waiting[] = [];
  #isBusy = false;

  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Runs `work` when it is its turn. The outcome is undefined after an eviction. */
  async run<T>(work: () => Promise<T>, isPreferred = false): Promise<T | undefined> {
    if (this.#isBusy && !(await this.#wait(isPreferred))) return undefined;
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      const next = this.#preferred.pop() ?? this.#others.pop();
      this.#isBusy = next !== undefined;
      next?.(true);
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
