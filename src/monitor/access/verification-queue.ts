/**
 * Bounds how many passwords are verified concurrently, and chooses the next one. A verification takes 32 MiB and 0.2 s
 * of a thread. Node has four threads for all file access and name resolution.
 *
 * The address with the fewest recent failures is next; among equals, the newest attempt. A queued flood is older than a
 * reader who arrives now: the reader waits for the two running verifications and one more. An attempt that finds no
 * room evicts the oldest attempt of its address, or of the address with the most failures.
 */
export interface Attempt {
  readonly address: string;
  /** Identifies name and password. Attempts of one address with the same credential share one verification. */
  readonly credential: string;
}

interface Waiting {
  readonly address: string;
  /** False: evicted from the queue. */
  readonly settle: (hasSlot: boolean) => void;
}

const SLOTS = 2;
/** Bounds what one address costs. */
const MAX_OF_ADDRESS = 4;
/** Two threads verify this many in 13 s. */
const MAX_WAITING = 128;

export class VerificationQueue<T> {
  /** Read when a slot is given, since the address may have failed while it waited. */
  readonly #failuresOf: (address: string) => number;
  /** Oldest first. */
  readonly #waiting: Waiting[] = [];
  readonly #shared = new Map<string, Promise<T | undefined>>();
  #running = 0;

  constructor(failuresOf: (address: string) => number) {
    this.#failuresOf = failuresOf;
  }

  /** Queued and running verifications. */
  get size(): number {
    return this.#waiting.length + this.#running;
  }

  /** Runs `work` when it gets a slot. The outcome is undefined after an eviction. */
  run({ address, credential }: Attempt, work: () => Promise<T>): Promise<T | undefined> {
    const key = `${address}\n${credential}`;
    const same = this.#shared.get(key);
    if (same !== undefined) return same;
    const outcome = this.#runInSlot(address, work).finally(() => this.#shared.delete(key));
    this.#shared.set(key, outcome);
    return outcome;
  }

  async #runInSlot(address: string, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#running < SLOTS) this.#running++;
    else if (!(await this.#wait(address))) return undefined;
    try {
      return await work();
    } finally {
      const next = this.#takeWhere((failures, best) => failures <= best);
      // The slot passes to the next attempt.
      if (next === undefined) this.#running--;
      else next.settle(true);
    }
  }

  #wait(address: string): Promise<boolean> {
    const own = this.#waiting.filter((one) => one.address === address);
    if (own.length >= MAX_OF_ADDRESS) this.#takeAt(this.#waiting.indexOf(own[0] as Waiting))?.settle(false);
    return new Promise((settle) => {
      this.#waiting.push({ address, settle });
      if (this.#waiting.length > MAX_WAITING) this.#takeWhere((failures, worst) => failures > worst)?.settle(false);
    });
  }

  /** Removes the last attempt, from the oldest to the newest, whose address compares so with the one before it. */
  #takeWhere(isBetter: (failures: number, chosen: number) => boolean): Waiting | undefined {
    let chosen = { at: 0, failures: this.#failuresOf(this.#waiting[0]?.address ?? '') };
    for (const [at, { address }] of this.#waiting.entries()) {
      const failures = this.#failuresOf(address);
      if (isBetter(failures, chosen.failures)) chosen = { at, failures };
    }
    return this.#takeAt(chosen.at);
  }

  #takeAt(at: number): Waiting | undefined {
    return this.#waiting.splice(at, 1)[0];
  }
}
