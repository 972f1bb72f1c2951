/**
 * Counts wrong credentials by address. It only reports that an address has reached its limit. access-control.ts decides
 * what that means for a request, so that a right credential is never locked out.
 */
import { type Clock, NS_PER_S } from '../../base/clock.ts';

/** Wrong credentials in a row that count as typing mistakes. */
const BURST = 10;
/** An address may fail once more after each of these intervals. */
const REFILL_S = 6;
/** About 1 MB of memory. */
const MAX_ADDRESSES = 10_000;

interface AddressFailures {
  readonly count: number;
  readonly atNs: number;
}

export class FailureLimit {
  readonly #clock: Clock;
  /** The address that failed last is last. */
  readonly #failures = new Map<string, AddressFailures>();
  #evicted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Addresses that were evicted for others. */
  get evicted(): number {
    return this.#evicted;
  }

  get size(): number {
    return this.#failures.size;
  }

  /** Seconds until the address may fail once more, at least 1; 0 if it may now. */
  retryAfterS(address: string): number {
    const excess = this.failuresOf(address) - (BURST - 1);
    return excess <= 0 ? 0 : Math.max(1, Math.ceil(excess * REFILL_S));
  }

  /** Failures of late: the count falls by one each `REFILL_S`. */
  failuresOf(address: string): number {
    const found = this.#failures.get(address);
    if (found === undefined) return 0;
    const seconds = (this.#clock.nowNs() - found.atNs) / NS_PER_S;
    return Math.max(0, found.count - seconds / REFILL_S);
  }

  add(address: string): void {
    // Capped at BURST, so that an hour of failures does not lengthen the wait.
    const count = Math.min(BURST, this.failuresOf(address) + 1);
    this.#failures.delete(address);
    if (this.#failures.size >= MAX_ADDRESSES) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
      this.#evicted++;
    }
    this.#failures.set(address, { count, atNs: this.#clock.nowNs() });
  }
}
