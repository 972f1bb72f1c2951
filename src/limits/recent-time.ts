import { NS_PER_MS } from '../base/clock.ts';

const SLOT_NS = 10 * NS_PER_MS;
/** One slot more than 100 ms needs, so that the sum always covers 100 ms in full. */
const SLOTS = 11;

export class RecentTime {
  readonly #slots = new Float64Array(SLOTS);
  /** Number of the current slot since the start of the clock. */
  #slot = 0;
  #sumNs = 0;

  spend(tookNs: number, nowNs: number): void {
    this.#moveTo(nowNs);
    const at = this.#slot % SLOTS;
    this.#slots[at] = (this.#slots[at] as number) + tookNs;
    this.#sumNs += tookNs;
  }

  /** Time spent in the last 100 to 110 ms. */
  spentNs(nowNs: number): number {
    this.#moveTo(nowNs);
    return this.#sumNs;
  }

  #moveTo(nowNs: number): void {
    const slot = Math.floor(nowNs / SLOT_NS);
    if (slot <= this.#slot) return;
    for (let next = Math.max(this.#slot + 1, slot - SLOTS + 1); next <= slot; next += 1) {
      this.#sumNs -= this.#slots[next % SLOTS] as number;
      this.#slots[next % SLOTS] = 0;
    }
    this.#slot = slot;
  }
}
