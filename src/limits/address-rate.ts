import { type Clock, NS_PER_S } from '../base/clock.ts';
import { addressKeyOf } from './address-key.ts';

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
    if (present === undefined && !this.#hasRoom(nowNs)) return false;
    const momentsNs = (present ?? []).filter((momentNs) => nowNs - momentNs < MINUTE_NS);
    const isWithin = momentsNs.length < this.#perMinute;
    if (isWithin) momentsNs.push(nowNs);
    this.#momentsNs.set(key, momentsNs);
    return isWithin;
  }

  #hasRoom(nowNs: number): boolean {
    if (this.#momentsNs.size >= MAX_ADDRESSES && nowNs - this.#sweptNs >= NS_PER_S) this.#sweep(nowNs);
    return this.#momentsNs.size < MAX_ADDRESSES;
  }

  #sweep(nowNs: number): void {
    this.#sweptNs = nowNs;
    for (const [key, momentsNs] of this.#momentsNs) {
      if (nowNs - (momentsNs.at(-1) ?? Number.NEGATIVE_INFINITY) >= MINUTE_NS) this.#momentsNs.delete(key);
    }
  }
}
