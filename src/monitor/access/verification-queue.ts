/**
 * Bounds how many passwords are verified concurrently, and chooses the next one. A verification takes 32 MiB and 0.2 s
 * of a thread. Node has four threads for all file access and name resolution.
 *
 * The address with the fewest recent failures is next. Among equals, the newest and the oldest address alternate.
 * Newest first, since a queued flood is older than a reader who arrives now: the reader waits for the two running
 * verifications and one more. Oldest first, since newer addresses could otherwise delay an old one forever.
 */
export interface Attempt {
  readonly address: string;
  /** Identifies name and password. Attempts of one address with the same credential share one verification. */
  readonly credential: string;
}

/**
 * Recent failures of an address, or 0. Read when a slot is given, since the address may have failed while it waited.
 */
export interface RecentFailures {
  failuresOf(address: string): number;
}

/** A queued or running verification, and how many requests wait for its outcome. */
interface Shared<T> {
  outcome: Promise<T | undefined>;
  requests: number;
}

interface Slot {
  readonly hasFailed: boolean;
}

interface Waiting {
  readonly requests: () => number;
  /** Undefined: evicted from the queue. */
  readonly settle: (slot: Slot | undefined) => void;
}

/** The queue of one address. */
interface Group {
  readonly address: string;
  /** Oldest first. */
  readonly waiting: Waiting[];
  /** Slots that it got since its queue was last empty. */
  given: number;
}

const SLOTS = 2;
/** Addresses with recent failures may be guessing: they never occupy both slots. */
const SLOTS_OF_FAILED = 1;
const MAX_OF_ADDRESS = 4;
/** Two threads verify this many in 13 s. */
const MAX_WAITING = 128;
/** More than a page sends concurrently. */
const MAX_SHARED = 16;

export class VerificationQueue<T> {
  readonly #failures: RecentFailures;
  /** By address; the one that has waited longest is first. */
  readonly #groups = new Map<string, Group>();
  readonly #shared = new Map<string, Shared<T>>();
  #waitingCount = 0;
  #running = 0;
  #runningOfFailed = 0;
  #refused = 0;
  #isOldestNext = false;

  constructor(failures: RecentFailures) {
    this.#failures = failures;
  }

  /** Queued and running verifications. */
  get size(): number {
    return this.#waitingCount + this.#running;
  }

  /** Requests refused for lack of room. */
  get refused(): number {
    return this.#refused;
  }

  /** Runs `work` when it gets a slot. The outcome is undefined without room in the queue, or after an eviction. */
  run(attempt: Attempt, work: () => Promise<T>): Promise<T | undefined> {
    const key = `${attempt.address}\n${attempt.credential}`;
    const same = this.#shared.get(key);
    if (same !== undefined) return this.#join(same);
    const shared: Shared<T> = { outcome: Promise.resolve(undefined), requests: 1 };
    this.#shared.set(key, shared);
    shared.outcome = this.#runInSlot(attempt.address, () => shared.requests, work).finally(() =>
      this.#shared.delete(key),
    );
    return shared.outcome;
  }

  #join(shared: Shared<T>): Promise<T | undefined> {
    if (shared.requests >= MAX_SHARED) {
      this.#refused++;
      return Promise.resolve(undefined);
    }
    shared.requests++;
    return shared.outcome;
  }

  async #runInSlot(address: string, requests: () => number, work: () => Promise<T>): Promise<T | undefined> {
    const hasFailed = this.#hasFailed(address);
    const slot = this.#hasSlot(hasFailed) ? this.#take(hasFailed) : await this.#wait(address, requests);
    if (slot === undefined) return undefined;
    try {
      return await work();
    } finally {
      this.#running--;
      if (slot.hasFailed) this.#runningOfFailed--;
      this.#startNext();
    }
  }

  #hasFailed(address: string): boolean {
    return this.#failures.failuresOf(address) > 0;
  }

  #hasSlot(hasFailed: boolean): boolean {
    return this.#running < SLOTS && (!hasFailed || this.#runningOfFailed < SLOTS_OF_FAILED);
  }

  #take(hasFailed: boolean): Slot {
    this.#running++;
    if (hasFailed) this.#runningOfFailed++;
    return { hasFailed };
  }

  #wait(address: string, requests: () => number): Promise<Slot | undefined> {
    if (!this.#makeRoom(address)) {
      this.#refused += requests();
      return Promise.resolve(undefined);
    }
    const group = this.#groups.get(address) ?? { address, waiting: [], given: 0 };
    this.#groups.set(address, group);
    this.#waitingCount++;
    return new Promise((settle) => group.waiting.push({ requests, settle }));
  }

  /** False if the queue is full and every queued address has fewer failures. */
  #makeRoom(address: string): boolean {
    const own = this.#groups.get(address);
    if (own !== undefined && own.waiting.length >= MAX_OF_ADDRESS) {
      this.#evictFrom(own);
      return true;
    }
    if (this.#waitingCount < MAX_WAITING) return true;
    const worst = this.#worst();
    if (worst === undefined || this.#failures.failuresOf(address) > this.#failures.failuresOf(worst.address))
      return false;
    this.#evictFrom(worst);
    return true;
  }

  /** The address with the most failures, then the longest queue, then the longest wait. */
  #worst(): Group | undefined {
    let worst: { readonly group: Group; readonly failures: number } | undefined;
    for (const group of this.#groups.values()) {
      const failures = this.#failures.failuresOf(group.address);
      const isWorse =
        worst === undefined ||
        failures > worst.failures ||
        (failures === worst.failures && group.waiting.length > worst.group.waiting.length);
      if (isWorse) worst = { group, failures };
    }
    return worst?.group;
  }

  #evictFrom(group: Group): void {
    const oldest = this.#remove(group, true);
    this.#refused += oldest?.requests() ?? 0;
    oldest?.settle(undefined);
  }

  #startNext(): void {
    while (this.#running < SLOTS) {
      const isOldest = this.#isOldestNext;
      const group = this.#best(isOldest);
      if (group === undefined) return;
      this.#isOldestNext = !isOldest;
      group.given++;
      // Takes the slot here: the waiting attempt only continues after this turn of the event loop.
      const slot = this.#take(this.#hasFailed(group.address));
      this.#remove(group, isOldest)?.settle(slot);
    }
  }

  /** The address with the fewest failures, then the fewest slots given; among equals the oldest or the newest. */
  #best(isOldest: boolean): Group | undefined {
    let best: { readonly group: Group; readonly failures: number } | undefined;
    for (const group of this.#groups.values()) {
      if (!this.#hasSlot(this.#hasFailed(group.address))) continue;
      const failures = this.#failures.failuresOf(group.address);
      const excess = best === undefined ? -1 : failures - best.failures || group.given - best.group.given;
      if (excess < 0 || (excess === 0 && !isOldest)) best = { group, failures };
    }
    return best?.group;
  }

  #remove(group: Group, isOldest: boolean): Waiting | undefined {
    const waiting = isOldest ? group.waiting.shift() : group.waiting.pop();
    if (waiting !== undefined) this.#waitingCount--;
    if (group.waiting.length === 0) this.#groups.delete(group.address);
    return waiting;
  }
}
