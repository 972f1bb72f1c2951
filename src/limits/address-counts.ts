import net from 'node:net';
import ipaddr from 'ipaddr.js';
import { withoutMapping } from '../base/address.ts';
import { type Clock, NS_PER_S } from '../base/clock.ts';

/** The key of a shared count: an IPv4 address, also written as IPv6, or the /64 from which one IPv6 host may choose. */
export function addressKeyOf(address: string): string {
  const v4 = withoutMapping(address);
  if (net.isIPv4(v4)) return v4;
  if (!net.isIPv6(address)) return 'unknown';
  const [plain = ''] = address.split('%');
  const groups = ipaddr.IPv6.parse(plain).parts.slice(0, 4);
  return groups.map((group) => group.toString(16)).join(':');
}

/** Counts open connections per address. Only addresses with a connection have an entry, which bounds the size. */
export class AddressCounts {
  readonly #counts = new Map<string, number>();
  /** Maximum connections per address; 0: any number. A lower limit closes no open connection. */
  max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Counts one more connection; returns the function that ends it. Undefined when the address is at its limit. */
  enter(address: string): (() => void) | undefined {
    const key = addressKeyOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (this.max > 0 && count >= this.max) return undefined;
    this.#counts.set(key, count + 1);
    return () => {
      const left = (this.#counts.get(key) ?? 0) - 1;
      if (left > 0) this.#counts.set(key, left);
      else this.#counts.delete(key);
    };
  }
}

const MINUTE_NS = 60 * NS_PER_S;
/** When the table is full, a new address is refused until another one's minute is over. */
const MAX_ADDRESSES = 4_096;

/** Limits how often one address may do something per minute. Keeps the moments: at most 1 MB with 32 per minute. */
export class AddressRate {
  readonly #clock: Clock;
  readonly #perMinute: number;
  readonly #momentsNs = new Map<string, number[]>();
  #sweptNs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, perMinute: number) {
    this.#clock = clock;
    this.#perMinute = perMinute;
  }

  /** Counts one more. False, and not counted, when the address has used up its number for the last minute. */
  take(address: string): boolean {
    const nowNs = this.#clock.nowNs();
    const key = addressKeyOf(address);
    const present = this.#momentsNs.get(key);
    if (present === undefined && this.#momentsNs.size >= MAX_ADDRESSES) {
      if (nowNs - this.#sweptNs >= NS_PER_S) this.#sweep(nowNs);
      if (this.#momentsNs.size >= MAX_ADDRESSES) return false;
    }
    const momentsNs = (present ?? []).filter((momentNs) => nowNs - momentNs < MINUTE_NS);
    const isWithin = momentsNs.length < this.#perMinute;
    if (isWithin) momentsNs.push(nowNs);
    this.#momentsNs.set(key, momentsNs);
    return isWithin;
  }

  #sweep(nowNs: number): void {
    this.#sweptNs = nowNs;
    for (const [key, momentsNs] of this.#momentsNs) {
      if (nowNs - (momentsNs.at(-1) ?? Number.NEGATIVE_INFINITY) >= MINUTE_NS) this.#momentsNs.delete(key);
    }
  }
}
