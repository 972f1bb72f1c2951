/**
 * Rates as Dropwizard Metrics computes them, bit for bit (class `Meter` with `EWMA`, Apache License 2.0; the averages
 * are those of UNIX load: https://www.teamquest.com/pdfs/whitepaper/ldavg1.pdf). Do not reorder the arithmetic: the
 * vectors in test/fixtures/dropwizard compare all digits.
 */
import { type Clock, NS_PER_S } from '../base/clock.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';

const TICK_NS = 5 * NS_PER_S;
const M1_ALPHA = 1 - Math.exp(-5 / 60 / 1);
const M5_ALPHA = 1 - Math.exp(-5 / 60 / 5);
const M15_ALPHA = 1 - Math.exp(-5 / 60 / 15);

/** Events per second. `mean` is since the creation; infinite for a marked meter read at its moment of creation. */
export type MeterSnapshot = Readonly<ReturnType<Meter['snapshot']>>;

export type MeterReading = Readonly<Pick<Meter, 'count' | 'snapshot'>>;

export class Meter {
  readonly #clock: Clock;
  /** Monotonic moment; the mean rate and the 5 s ticks count from it. */
  createdNs: number;
  #lastTickNs: number;
  count = 0;
  /** Events since the last tick. */
  #uncounted = 0;
  /** Events per nanosecond; all three are NaN before the first tick. */
  #m1 = Number.NaN;
  #m5 = Number.NaN;
  #m15 = Number.NaN;

  /** With a `createdNs` in the past the meter reads as if it had existed, unmarked, since then. */
  constructor(clock: Clock, createdNs: number = clock.nowNs()) {
    this.#clock = clock;
    this.createdNs = createdNs;
    this.#lastTickNs = createdNs;
  }

  /** For an unmarked meter: reads as if created at `createdNs`. */
  restart(createdNs: number): void {
    this.createdNs = createdNs;
    this.#lastTickNs = createdNs;
  }

  /** `nowNs`: for callers that have already read the clock. */
  mark(n = 1, nowNs: number = this.#clock.nowNs()): void {
    this.#tickIfDue(nowNs);
    this.count += n;
    this.#uncounted += n;
  }

  /**
   * Adds the events of `from`. Its moving averages are left out: those of a young meter are too high, since its first
   * tick sets them, and those of many would add up.
   */
  absorb(from: Meter): void {
    const nowNs = this.#clock.nowNs();
    this.#tickIfDue(nowNs);
    from.#tickIfDue(nowNs);
    this.createdNs = Math.min(this.createdNs, from.createdNs);
    this.count += from.count;
    this.#uncounted += from.#uncounted;
  }

  snapshot() {
    const nowNs = this.#clock.nowNs();
    this.#tickIfDue(nowNs);
    const { count } = this;
    const hasTicked = !Number.isNaN(this.#m1);
    return {
      count,
      m1: hasTicked ? this.#m1 * NS_PER_S : 0,
      m5: hasTicked ? this.#m5 * NS_PER_S : 0,
      m15: hasTicked ? this.#m15 * NS_PER_S : 0,
      mean: count === 0 ? 0 : (count / (nowNs - this.createdNs)) * NS_PER_S,
    };
  }

  /** Everything except the count. The owner saves counts, so that counts that belong together are of one moment. */
  save(): SavedFields {
    const hasTicked = !Number.isNaN(this.#m1);
    // Without spreads a save of full tables leaves half as much in the old heap.
    return {
      createdNs: this.createdNs,
      lastTickNs: this.#lastTickNs,
      uncounted: this.#uncounted,
      m1: hasTicked ? this.#m1 : undefined,
      m5: hasTicked ? this.#m5 : undefined,
      m15: hasTicked ? this.#m15 : undefined,
    };
  }

  /** The time since saving counts as idle: the next access runs its ticks. */
  load(saved: SavedRecord, count: number): void {
    this.createdNs = saved.moment('createdNs');
    this.#lastTickNs = saved.moment('lastTickNs');
    this.#uncounted = saved.count('uncounted');
    this.#m1 = saved.number('m1', Number.NaN);
    this.#m5 = saved.number('m5', Number.NaN);
    this.#m15 = saved.number('m15', Number.NaN);
    this.count = count;
  }

  /** Ticks lie on a 5 s grid that begins at the creation. They run at the next access. */
  #tickIfDue(nowNs: number): void {
    const ageNs = nowNs - this.#lastTickNs;
    // Not >=: an event at exactly 5 s still belongs to the first interval.
    if (ageNs <= TICK_NS) return;
    this.#lastTickNs = nowNs - (ageNs % TICK_NS);
    const idleTicks = Math.floor(ageNs / TICK_NS) - 1;
    const rate = this.#uncounted / TICK_NS;
    this.#uncounted = 0;
    this.#m1 = ticked(this.#m1, M1_ALPHA, rate, idleTicks);
    this.#m5 = ticked(this.#m5, M5_ALPHA, rate, idleTicks);
    this.#m15 = ticked(this.#m15, M15_ALPHA, rate, idleTicks);
  }
}

/**
 * One tick with events, then ticks without. The very first tick sets the rate itself. Each tick is computed, because a
 * power would differ in the last digits. The loop stops when a tick no longer changes the rate (0, or a denormal near
 * 1e-313). m15 gets there from 1 event/ns within 140,000 ticks: under a millisecond, however long the idle time.
 */
function ticked(before: number, alpha: number, rate: number, idleTicks: number): number {
  let current = Number.isNaN(before) ? rate : before + alpha * (rate - before);
  for (let left = idleTicks; left > 0; left -= 1) {
    const next = current + alpha * (0 - current);
    if (next === current) break;
    current = next;
  }
  return current;
}
