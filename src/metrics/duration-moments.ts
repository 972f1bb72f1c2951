import type { ArchiveReader } from '../archive/archive-reader.ts';
import type { ArchiveWriter } from '../archive/archive-writer.ts';

/**
 * Count, sum, spread and extremes of durations in nanoseconds; all 0 while empty.
 *
 * The squared distances are updated one by one and merged by pairs (Chan, Golub, LeVeque: Updating Formulae and a Pairwise
 * Algorithm for Computing Sample Variances, 1979). A sum of squares would be shorter, but cancels: a hundred equal
 * durations would have a spread.
 */
export class DurationMoments {
  #count = 0;
  #sum = 0;
  #squares = 0;
  #min = 0;
  #max = 0;

  get count(): number {
    return this.#count;
  }

  get min(): number {
    return this.#min;
  }

  get max(): number {
    return this.#max;
  }

  get mean(): number {
    return this.#count === 0 ? 0 : this.#sum / this.#count;
  }

  /** Population form. */
  get stddev(): number {
    return this.#count === 0 ? 0 : Math.sqrt(this.#squares / this.#count);
  }

  add(durationNs: number): void {
    const n = this.#count + 1;
    this.#count = n;
    this.#sum += durationNs;
    if (n === 1) {
      this.#min = durationNs;
      this.#max = durationNs;
      return;
    }
    const distance = n * durationNs - this.#sum;
    this.#squares += (distance * distance) / (n * (n - 1));
    if (durationNs < this.#min) this.#min = durationNs;
    if (durationNs > this.#max) this.#max = durationNs;
  }

  save(out: ArchiveWriter): void {
    out.count(this.#count);
    if (this.#count === 0) return;
    out.double(this.#sum);
    out.double(this.#squares);
    out.double(this.#min);
    out.double(this.#max);
  }

  /** Becomes the moments that were saved. */
  load(input: ArchiveReader): void {
    this.#count = input.count();
    if (this.#count === 0) return;
    this.#sum = input.double();
    this.#squares = input.double();
    this.#min = input.double();
    this.#max = input.double();
  }

  addAll(other: DurationMoments): void {
    const n = this.#count;
    const m = other.#count;
    if (m === 0) return;
    const distance = n === 0 ? 0 : m * this.#sum - n * other.#sum;
    this.#squares += other.#squares + (n === 0 ? 0 : (distance * distance) / (n * m * (n + m)));
    this.#min = n === 0 ? other.#min : Math.min(this.#min, other.#min);
    this.#max = n === 0 ? other.#max : Math.max(this.#max, other.#max);
    this.#sum += other.#sum;
    this.#count = n + m;
  }
}
