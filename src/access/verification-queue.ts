/**
 * Bounds how many passwords are verified at a time. Each takes 32 MiB and 0.2 s of a thread, of which Node has four for all of its
 * files and names. Who waits is served address by address, so that a flood from one delays others by one turn each; and
 * addresses that are over their limit never have all of the slots.
 */
export interface Turn {
  readonly address: string;
  /** Has failed too often. */
  readonly isLimited: boolean;
}

interface Waiting extends Turn {
  readonly start: () => void;
}

const SLOTS = 2;
const LIMITED_SLOTS = 1;
const MAX_OF_ADDRESS = 4;
const MAX_WAITING = 512;

export class VerificationQueue {
  /** By address, the one whose turn is next first. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #running = 0;
  #runningLimited = 0;
  #refused = 0;

  /** Waiting and running ones. */
  get size(): number {
    return this.#waitingCount + this.#running;
  }

  /** Turns refused for want of room. */
  get refused(): number {
    return this.#refused;
  }

  /** The outcome of `work`, when its turn has come; undefined at once if there is no room. */
  async run<T>(turn: Turn, work: () => Promise<T>): Promise<T | undefined> {
    if (this.#hasSlot(turn.isLimited)) {
      this.#take(turn.isLimited);
    } else {
      const ofAddress = this.#waiting.get(turn.address) ?? [];
      if (ofAddress.length >= MAX_OF_ADDRESS || this.#waitingCount >= MAX_WAITING) {
        this.#refused++;
        return undefined;
      }
      // Whoever gives the turn takes the slot for it.
      await new Promise<void>((resolve) => {
        ofAddress.push({ ...turn, start: resolve });
        this.#waiting.set(turn.address, ofAddress);
        this.#waitingCount++;
      });
    }
    try {
      return await work();
    } finally {
      this.#running--;
      if (turn.isLimited) this.#runningLimited--;
      this.#startNext();
    }
  }

  #hasSlot(isLimited: boolean): boolean {
    return this.#running < SLOTS && (!isLimited || this.#runningLimited < LIMITED_SLOTS);
  }

  #take(isLimited: boolean): void {
    this.#running++;
    if (isLimited) this.#runningLimited++;
  }

  #startNext(): void {
    for (const isLimited of [false, true]) {
      for (const [address, waiting] of this.#waiting) {
        const [first] = waiting;
        if (first === undefined || first.isLimited !== isLimited || !this.#hasSlot(isLimited)) continue;
        this.#give(address, waiting, first);
        break;
      }
    }
  }

  #give(address: string, waiting: Waiting[], first: Waiting): void {
    waiting.shift();
    this.#waitingCount--;
    // Behind all others, so that each address has its turn.
    this.#waiting.delete(address);
    if (waiting.length > 0) this.#waiting.set(address, waiting);
    this.#take(first.isLimited);
    first.start();
  }
}
