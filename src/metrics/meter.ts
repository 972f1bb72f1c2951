/**
 * Rates as Dropwizard Metrics computes them, bit for bit (class `Meter` with `EWMA`, Apache License 2.0; the averages are
 * those of UNIX load: https://www.teamquest.com/pdfs/whitepaper/ldavg1.pdf). Do not reorder the arithmetic: the vectors in
 * test/fixtures/dropwizard compare all digits.
 */
import type { ArchiveReader } from '../archive/archive-reader.ts';
import type { ArchiveWriter } from '../archive/archive-writer.ts';
import { type Clock, NS_PER_S } from '../clock.ts';

const TICK_NS = 5 * NS_PER_S;
const M1_ALPHA = 1 - Math.exp(-5 / 60 / 1);
const M5_ALPHA = 1 - Math.exp(-5 / 60 / 5);
const M15_ALPHA = 1 - Math.exp(-5 / 60 / 15);

/** Rates in events for each second; `mean` is since the meter's creation and infinite if read in the moment of the creation. */
export interface MeterSnapshot {
  readonly count: number;
  readonly m1: number;
  readonly m5: number;
  readonly m15: number;
  readonly mean: number;
}

/** What a reader may do with a meter. */
export interface MeterReading {
  readonly count: number;
  snapshot(): MeterSnapshot;
}

/** What a meter reads that nobody has marked yet, whenever it was created. */
export const UNMARKED_SNAPSHOT: MeterSnapshot = { count: 0, m1: 0, m5: 0, m15: 0, mean: 0 };

export class Meter implements MeterReading {
  readonly #clock: Clock;
  // Doubles from the start: declared without a value they would be undefined first, and each tick would allocate a number.
  #createdNs = Number.NaN;
  #lastTickNs = Number.NaN;
  #count = 0;
  #uncounted = 0;
  #hasTicked = false;
  // Events for each nanosecond.
  #m1 = 0;
  #m5 = 0;
  #m15 = 0;

  /** `createdNs` in the past makes a meter that reads as if it had been there, unmarked, since then. */
  constructor(clock: Clock, createdNs: number = clock.nowNs()) {
    this.#clock = clock;
    this.#createdNs = createdNs;
    this.#lastTickNs = createdNs;
  }

  get count(): number {
    return this.#count;
  }

  /** Monotonic moment that `mean` and the 5 s ticks count from. */
  get createdNs(): number {
    return this.#createdNs;
  }

  /** `nowNs`: for callers that have read the clock already. */
  mark(n = 1, nowNs: number = this.#clock.nowNs()): void {
    this.#tickIfDue(nowNs);
    this.#count += n;
    this.#uncounted += n;
  }

  snapshot(): MeterSnapshot {
    const nowNs = this.#clock.nowNs();
    this.#tickIfDue(nowNs);
    return {
      count: this.#count,
      m1: this.#m1 * NS_PER_S,
      m5: this.#m5 * NS_PER_S,
      m15: this.#m15 * NS_PER_S,
      mean: this.#count === 0 ? 0 : (this.#count / (nowNs - this.#createdNs)) * NS_PER_S,
    };
  }

  /** All but the count, which is its owner's to write: counts that belong together are written at one moment. */
  save(out: ArchiveWriter): void {
    out.moment(this.#createdNs);
    out.moment(this.#lastTickNs);
    out.count(this.#uncounted);
    out.flag(this.#hasTicked);
    if (!this.#hasTicked) return;
    out.double(this.#m1);
    out.double(this.#m5);
    out.double(this.#m15);
  }

  /** Becomes the meter that was saved. The time since then was idle: its ticks are run at the next access. */
  load(input: ArchiveReader, count: number): void {
    this.#count = count;
    this.#createdNs = input.moment();
    this.#lastTickNs = input.moment();
    this.#uncounted = input.count();
    this.#hasTicked = input.flag();
    if (!this.#hasTicked) return;
    this.#m1 = input.double();
    this.#m5 = input.double();
    this.#m15 = input.double();
  }

  /** Ticks lie on the 5 s grid from the creation, but are run at the first access after them. */
  #tickIfDue(nowNs: number): void {
    const ageNs = nowNs - this.#lastTickNs;
    // Strictly: an event at exactly 5 s still belongs to the first interval.
    if (ageNs <= TICK_NS) return;
    this.#lastTickNs = nowNs - (ageNs % TICK_NS);
    const idleTicks = Math.floor(ageNs / TICK_NS) - 1;
    const rate = this.#uncounted / TICK_NS;
    this.#uncounted = 0;
    if (this.#hasTicked) {
      this.#m1 += M1_ALPHA * (rate - this.#m1);
      this.#m5 += M5_ALPHA * (rate - this.#m5);
      this.#m15 += M15_ALPHA * (rate - this.#m15);
    } else {
      this.#m1 = rate;
      this.#m5 = rate;
      this.#m15 = rate;
      this.#hasTicked = true;
    }
    this.#m1 = decayed(this.#m1, M1_ALPHA, idleTicks);
    this.#m5 = decayed(this.#m5, M5_ALPHA, idleTicks);
    this.#m15 = decayed(this.#m15, M15_ALPHA, idleTicks);
  }
}

/**
 * `rate` after `ticks` ticks without events. Each tick is computed, since a power would differ in the last digits; but a rate
 * that a tick no longer changes (0, or a denormal near 1e-313) stays for ever, and m15 gets there from 1 event/ns within
 * 140,000 ticks: under a millisecond however long the idleness.
 */
function decayed(rate: number, alpha: number, ticks: number): number {
  let current = rate;
  for (let left = ticks; left > 0; left -= 1) {
    const next = current + alpha * (0 - current);
    if (next === current) break;
    current = next;
  }
  return current;
}
