/**
 * A histogram with fixed buckets that only grow, as Prometheus expects. Unlike a window's percentiles, its counts can
 * be summed over processes and compared over time. A few nanoseconds per duration (test/bench/metrics.bench.ts).
 */

import { NS_PER_S } from '../base/clock.ts';
import type {
  DurationBucketsReading,
  Exemplar,
  ExemplarReading,
  ExponentialReading,
} from '../base/metric-description.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { SparseBuckets } from './sparse-buckets.ts';

/** Longer durations count as 1 hour, the end of the range in which percentiles keep their error. */
export const MAX_DURATION_NS = 3_600 * NS_PER_S;

/** Upper bounds, ascending. One more bucket without a bound follows the last. */
export interface BucketBounds {
  readonly seconds: readonly number[];
  readonly ns: readonly number[];
}

export function createBucketBounds(seconds: readonly number[]): BucketBounds {
  // Rounded, since 0.0025 * 1e9 need not be a whole number in doubles.
  return { seconds, ns: seconds.map((bound) => Math.round(bound * NS_PER_S)) };
}

/** Bounds for calls: 1 ms to 60 s, three in each decade up to 10 s. */
export const CALL_BOUNDS = createBucketBounds([
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
]);

export class DurationBuckets implements DurationBucketsReading {
  /** In seconds. */
  readonly bounds: readonly number[];
  readonly #boundsNs: readonly number[];
  readonly #counts: number[];
  #sumNs = 0;
  /** Undefined without traces, which is the usual case. */
  exemplars: Map<number, ExemplarReading> | undefined;
  readonly #exponential: ExponentialBuckets | undefined;

  /** `isExponential`: keeps exponential buckets as well. */
  constructor(bounds: BucketBounds = CALL_BOUNDS, isExponential = false) {
    this.#exponential = isExponential ? new ExponentialBuckets() : undefined;
    this.bounds = bounds.seconds;
    this.#boundsNs = bounds.ns;
    this.#counts = bounds.ns.map(() => 0);
    this.#counts.push(0);
  }

  get sumSeconds(): number {
    return this.#sumNs / NS_PER_S;
  }

  /** Caps and ignores the same durations as `Timer.update`, so that both count the same. */
  add(durationNs: number): void {
    if (!(durationNs >= 0)) return;
    const bucket = this.#bucketOf(durationNs);
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    const cutNs = Math.min(durationNs, MAX_DURATION_NS);
    this.#sumNs += cutNs;
    this.#exponential?.add(cutNs);
  }

  /** Adds the durations of `from`, which has the same bounds, without its exemplars. */
  absorb(from: DurationBuckets): void {
    for (let i = 0; i < this.#counts.length; i += 1) this.#counts[i] = (this.#counts[i] ?? 0) + (from.#counts[i] ?? 0);
    this.#sumNs += from.#sumNs;
    if (from.#exponential !== undefined) this.#exponential?.absorb(from.#exponential);
  }

  get exponential(): ExponentialReading | undefined {
    return this.#exponential?.read();
  }

  /** Keeps the trace of a call that `add` has counted. Each bucket keeps its newest trace. */
  addExemplar(durationNs: number, exemplar: Exemplar): void {
    this.exemplars ??= new Map();
    this.exemplars.set(this.#bucketOf(durationNs), { ...exemplar, seconds: durationNs / NS_PER_S });
  }

  #bucketOf(durationNs: number): number {
    const ns = this.#boundsNs;
    let bucket = 0;
    // From the lowest bound: most calls are quick, and `metrics.prometheus.buckets` has at most 40 bounds.
    while (bucket < ns.length && durationNs > (ns[bucket] as number)) bucket += 1;
    return bucket;
  }

  /** With the bounds: another version may have others. */
  save(): SavedFields {
    const exponential = this.#exponential?.save();
    return { bounds: this.bounds, counts: [...this.#counts], sumNs: this.#sumNs, exponential };
  }

  /** Counts of other bounds, e.g. after a change of `metrics.prometheus.buckets`, are lost: the buckets begin empty. */
  load(saved: SavedRecord): void {
    if (saved.numbers('bounds').join() !== this.bounds.join()) return;
    const counts = saved.counts('counts');
    for (let i = 0; i < this.#counts.length; i += 1) this.#counts[i] = counts[i] ?? 0;
    this.#sumNs = saved.number('sumNs');
    if (saved.has('exponential')) this.#exponential?.load(saved.record('exponential'));
  }

  cumulative(): number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }
}

/** 16 buckets for each doubling: a percentile is at most 2.2 % off. */
const SCALE = 4;
const PER_DOUBLING = 2 ** SCALE;
/** Shorter durations count as zero. */
const LEAST_NS = 1_000;
/** Makes the index of `LEAST_NS` positive, as `SparseBuckets` requires. */
const SHIFT = 400;

/**
 * Counts durations in OpenTelemetry's exponential buckets, in seconds. All have the same scale, so that the counts of
 * several sidecars can be added to get common percentiles.
 * https://opentelemetry.io/docs/specs/otel/metrics/data-model/#exponentialhistogram
 */
export class ExponentialBuckets {
  #buckets = new SparseBuckets();
  #zeroCount = 0;

  /** `durationNs` is at most an hour. */
  add(durationNs: number): void {
    if (durationNs < LEAST_NS) this.#zeroCount += 1;
    // Bucket i holds what is above 2^(i/16) and at most 2^((i+1)/16) seconds.
    else this.#buckets.count(Math.ceil(Math.log2(durationNs / NS_PER_S) * PER_DOUBLING) - 1 + SHIFT);
  }

  absorb(from: ExponentialBuckets): void {
    this.#buckets.absorb(from.#buckets);
    this.#zeroCount += from.#zeroCount;
  }

  read(): ExponentialReading {
    const counts: number[] = [];
    let first = 0;
    this.#buckets.forEachBucket((bucket, count) => {
      if (counts.length === 0) first = bucket;
      while (counts.length < bucket - first) counts.push(0);
      counts.push(count);
    });
    return { scale: SCALE, zeroCount: this.#zeroCount, offset: counts.length === 0 ? 0 : first - SHIFT, counts };
  }

  save(): SavedFields {
    return { zero: this.#zeroCount, buckets: this.#buckets.save() };
  }

  load(saved: SavedRecord): void {
    this.#zeroCount = saved.count('zero');
    this.#buckets = SparseBuckets.load(saved, 'buckets');
  }
}
