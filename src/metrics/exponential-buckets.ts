import { NS_PER_S } from '../base/clock.ts';
import type { ExponentialReading } from '../base/metric-description.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { SparseBuckets } from './sparse-buckets.ts';

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
