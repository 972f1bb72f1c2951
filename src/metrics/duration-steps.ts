import { NS_PER_US } from '../base/clock.ts';
import { HISTOGRAM_BUCKETS_PER_OCTAVE as PER_OCTAVE } from './histogram-pool.ts';
import { middleOf, type SparseBuckets } from './sparse-buckets.ts';

/** Durations of one step, in nanoseconds; percentiles are 0 if `count` is 0. */
export interface DurationStep {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** A slice of a timer's window; the newest still grows. */
export interface CountedSlice {
  readonly beganNs: number;
  readonly buckets: SparseBuckets;
}

/**
 * The distribution of the durations that a timer counted between two calls of `take`, from the slices of its window.
 * Counting costs nothing extra; the cost of `take` depends on what was counted since the last one. Percentiles are the
 * middle of a bucket, at most 0.4 % off.
 */
export class DurationSteps {
  readonly #slices: () => readonly CountedSlice[];
  readonly #counts = new Map<number, number>();
  /** The newest slice at the last `take`, and its counts at that time. */
  #last: CountedSlice | undefined;
  #lastCounts: readonly (readonly [bucket: number, count: number])[] = [];

  /** The first step begins now. `slices`: those of the window, oldest first. */
  constructor(slices: () => readonly CountedSlice[]) {
    this.#slices = slices;
    this.#begin();
  }

  /** The step from the last call, or the constructor, until now; begins the next one. */
  take(): DurationStep {
    for (const slice of this.#slices()) this.add(slice);
    const buckets = [...this.#counts].filter(([, count]) => count > 0).sort(([a], [b]) => a - b);
    const count = buckets.reduce((sum, [, inBucket]) => sum + inBucket, 0);
    const at = (percent: number): number => valueAtRank(buckets, Math.ceil((percent * count) / 100));
    const step = { count, p50: at(50), p95: at(95), p99: at(99) };
    this.#begin();
    return step;
  }

  /** Called by the timer for a slice that leaves its window: a window may be shorter than a step. */
  add(slice: CountedSlice): void {
    const isLast = slice === this.#last;
    if (!isLast && this.#last !== undefined && slice.beganNs <= this.#last.beganNs) return;
    slice.buckets.forEachBucket((bucket, count) => this.#count(bucket, count));
    if (!isLast) return;
    for (const [bucket, count] of this.#lastCounts) this.#count(bucket, -count);
  }

  #begin(): void {
    this.#counts.clear();
    // If all slices have expired, the last known one still marks the time: later slices are newer.
    const newest = this.#slices().at(-1) ?? this.#last;
    this.#last = newest;
    const counts: [bucket: number, count: number][] = [];
    newest?.buckets.forEachBucket((bucket, count) => counts.push([bucket, count]));
    this.#lastCounts = counts;
  }

  #count(bucket: number, count: number): void {
    this.#counts.set(bucket, (this.#counts.get(bucket) ?? 0) + count);
  }
}

/** `buckets` is in ascending order; returns 0 if it is empty. */
function valueAtRank(buckets: readonly (readonly [bucket: number, count: number])[], rank: number): number {
  let seen = 0;
  for (const [bucket, count] of buckets) {
    seen += count;
    if (seen >= rank) return middleOf(bucket, PER_OCTAVE) * NS_PER_US;
  }
  return 0;
}
