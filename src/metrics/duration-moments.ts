import type { SavedFields, SavedRecord } from '../state/saved-record.ts';

/**
 * Count, sum, spread and extremes of durations in nanoseconds; all 0 while empty.
 *
 * The squared distances are updated one by one and merged by pairs (Chan, Golub, LeVeque: Updating Formulae and a
 * Pairwise Algorithm for Computing Sample Variances, 1979). A sum of squares would be shorter but cancels: a hundred
 * equal durations would have a spread.
 */
export class DurationMoments {
  count = 0;
  sum = 0;
  squares = 0;
  min = 0;
  max = 0;

  get mean(): number {
    return this.count === 0 ? 0 : this.sum / this.count;
  }

  /** Population standard deviation. */
  get stddev(): number {
    return this.count === 0 ? 0 : Math.sqrt(this.squares / this.count);
  }

  add(durationNs: number): void {
    this.count += 1;
    this.sum += durationNs;
    const n = this.count;
    if (n === 1) {
      this.min = durationNs;
      this.max = durationNs;
      return;
    }
    const distance = n * durationNs - this.sum;
    this.squares += (distance * distance) / (n * (n - 1));
    if (durationNs < this.min) this.min = durationNs;
    if (durationNs > this.max) this.max = durationNs;
  }

  /** Adds all durations of `others`. */
  merge(others: DurationMoments): void {
    const n = this.count;
    const m = others.count;
    if (m === 0) return;
    const distance = n === 0 ? 0 : m * this.sum - n * others.sum;
    const between = n === 0 ? 0 : (distance * distance) / (n * m * (n + m));
    this.squares += others.squares + between;
    this.min = n === 0 ? others.min : Math.min(this.min, others.min);
    this.max = n === 0 ? others.max : Math.max(this.max, others.max);
    this.sum += others.sum;
    this.count += m;
  }

  /** With the buckets of the same durations, and the beginning of a slice. */
  save(buckets: readonly number[], beganNs?: number): SavedFields {
    const { count, sum, squares, min, max } = this;
    return { beganNs, count, sum, squares, min, max, buckets };
  }

  static load(saved: SavedRecord): DurationMoments {
    const moments = new DurationMoments();
    moments.count = saved.count('count');
    moments.sum = saved.number('sum');
    moments.squares = saved.number('squares');
    moments.min = saved.number('min');
    moments.max = saved.number('max');
    return moments;
  }
}
