/**
 * Counts wrong credentials by address. It only reports that an address has reached its limit. access-control.ts decides
 * what that means for a request, so that a right credential is never locked out.
 */
import { type Clock, NS_PER_S } from '../../base/clock.ts';

/** Wrong credentials in a row that count as typing mistakes. */
const BURST = 10;
/** An address may fail once more after each of these intervals. */
const REFILL_S = 6;
/**
 * For this long a failure lowers the priority of its address. If it only lasted for `REFILL_S`, an attacker who rotates
 * sixty addresses would always have one with normal priority.
 */
const RECENT_S = 600;
/** About 1 MB of memory. */
const MAX_ADDRESSES = 10_000;

interface AddressFailures {
  /** Falls by one each `REFILL_S`. The address has reached its limit at `BURST`. */
  readonly count: number;
  /** Does not fall. Failures without a pause of `RECENT_S`, at most `BURST`. */
  readonly recent: number;
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
    const excess = this.#countOf(address) - (BURST - 1);
    return excess <= 0 ? 0 : Math.max(1, Math.ceil(excess * REFILL_S));
  }

  /** Failures so far without a pause of `RECENT_S` between two, at most `BURST`; 0 after such a pause. */
  failuresOf(address: string): number {
    const found = this.#failures.get(address);
    return found === undefined || this.#secondsSince(found) >= RECENT_S ? 0 : found.recent;
  }

  add(address: string): void {
    // Capped at BURST, so that an hour of failures does not lengthen the wait.
    const count = Math.min(BURST, this.#countOf(address) + 1);
    const recent = Math.min(BURST, this.failuresOf(address) + 1);
    this.#failures.delete(address);
    if (this.#failures.size >= MAX_ADDRESSES) {
      const [oldest] = this.#failures.keys();
      if (oldest !== undefined) this.#failures.delete(oldest);
      this.#evicted++;
    }
    this.#failures.set(address, { count, recent, atNs: this.#clock.nowNs() });
  }

  #countOf(address: string): number {
    const found = this.#failures.get(address);
    return found === undefined ? 0 : Math.max(0, found.count - this.#secondsSince(found) / REFILL_S);
  }

  #secondsSince({ atNs }: AddressFailures): number {
    return (this.#clock.nowNs() - atNs) / NS_PER_S;
  }
}
