/**
 * Counts wrong credentials by the address that they come from. It only says that an address has had its share: what becomes of its
 * requests then is access-control.ts's matter, so that it cannot lock out anybody whose credential is right.
 */
import { type Clock, NS_PER_S } from '../../base/clock.ts';

/** Wrong credentials in a row that are a person's slips. */
const BURST = 10;
/** One more for each of these. */
const REFILL_S = 6;
/** For so long after its last failure an address waits longer for its turn. Longer than the refill, or sixty addresses could fail for good. */
const RECENT_S = 600;
/** About 1 MB. */
const MAX_ADDRESSES = 10_000;

interface Failures {
  /** Fills up to `BURST`, which is when it is over. */
  readonly count: number;
  /** Without pauses of `RECENT_S`, at most `BURST`. */
  readonly recent: number;
  readonly atNs: number;
}

export class FailureLimit {
  readonly #clock: Clock;
  /** The one that failed last is last. */
  readonly #failures = new Map<string, Failures>();
  #evicted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Addresses that were forgotten to make room for others. */
  get evicted(): number {
    return this.#evicted;
  }

  get size(): number {
    return this.#failures.size;
  }

  /** Seconds until one more wrong credential would be taken as a slip, at least 1; 0 if it would now. */
  retryAfterS(address: string): number {
    const excess = this.#countOf(address) - (BURST - 1);
    return excess <= 0 ? 0 : Math.max(1, Math.ceil(excess * REFILL_S));
  }

  /** Failures until ten minutes have passed without one; at most ten. */
  failuresOf(address: string): number {
    const found = this.#failures.get(address);
    return found === undefined || this.#secondsSince(found) >= RECENT_S ? 0 : found.recent;
  }

  add(address: string): void {
    // Never above BURST: whoever goes on for an hour waits no longer than who has just begun.
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

  #secondsSince({ atNs }: Failures): number {
    return (this.#clock.nowNs() - atNs) / NS_PER_S;
  }
}
