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

export class FailureLimit {
  readonly #clock: Clock;
  /** When the failures of an address are all forgiven. The address that failed last is last. */
  readonly #forgivenNs = new Map<string, number>();
  /** Addresses that were evicted for others. */
  evicted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds until the address may fail once more, at least 1; 0 if it may now. */
  retryAfterS(address: string): number {
    const excessS = this.#leftS(address) - (BURST - 1) * REFILL_S;
    return excessS <= 0 ? 0 : Math.max(1, Math.ceil(excessS));
  }

  add(address: string): void {
    // Capped at BURST, so that an hour of failures does not lengthen the wait.
    const leftS = Math.min(BURST * REFILL_S, this.#leftS(address) + REFILL_S);
    this.#forgivenNs.delete(address);
    const [oldest] = this.#forgivenNs.keys();
    if (this.#forgivenNs.size >= MAX_ADDRESSES && oldest !== undefined) {
      this.#forgivenNs.delete(oldest);
      this.evicted += 1;
    }
    this.#forgivenNs.set(address, this.#clock.nowNs() + leftS * NS_PER_S);
  }

  #leftS(address: string): number {
    return Math.max(0, ((this.#forgivenNs.get(address) ?? 0) - this.#clock.nowNs()) / NS_PER_S);
  }
}
