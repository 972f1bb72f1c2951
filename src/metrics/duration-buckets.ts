/**
 * A histogram of fixed buckets that only ever grows, as Prometheus reads one: unlike a window's percentiles, its counts can be
 * added up over processes and compared over time. Costs a few nanoseconds for each duration (test/bench/metrics.bench.ts).
 */

import { NS_PER_S } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';

/** A longer duration counts as this one: 1 hour, the end of the range in which percentiles keep their error. */
export const MAX_DURATION_NS = 3_600 * NS_PER_S;

/** Upper bounds of buckets, ascending, in seconds; a bucket without bound follows the last. */
export interface BucketBounds {
  readonly seconds: readonly number[];
  readonly ns: readonly number[];
}

/** E.g. `toBounds([0.001, 1])`. */
export function toBounds(seconds: readonly number[]): BucketBounds {
  // Rounded, since 0.0025 * 1e9 need not be a whole number in doubles.
  return { seconds, ns: seconds.map((bound) => Math.round(bound * NS_PER_S)) };
}

/** For calls: 1 ms to 60 s, three in each decade up to 10 s. */
export const CALL_BOUNDS = toBounds([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]);

/** What a reader may do with it. */
export interface DurationBucketsReading {
  readonly bounds: readonly number[];
  readonly sumSeconds: number;
  /** How many durations were not longer than each bound, then how many there were at all; e.g. `[0, 3, 4]` for two bounds. */
  cumulative(): number[];
}

export class DurationBuckets implements DurationBucketsReading {
  readonly #bounds: BucketBounds;
  readonly #counts: number[];
  #sumNs = 0;

  constructor(bounds: BucketBounds = CALL_BOUNDS) {
    this.#bounds = bounds;
    this.#counts = bounds.ns.map(() => 0);
    this.#counts.push(0);
  }

  /** In seconds. */
  get bounds(): readonly number[] {
    return this.#bounds.seconds;
  }

  get sumSeconds(): number {
    return this.#sumNs / NS_PER_S;
  }

  /** Cuts and ignores what a `Timer` does, so that both count the same. */
  add(durationNs: number): void {
    if (!(durationNs >= 0)) return;
    const { ns } = this.#bounds;
    let bucket = 0;
    // From below: most calls are quick, and 15 comparisons are the most it takes.
    while (bucket < ns.length && durationNs > (ns[bucket] as number)) bucket += 1;
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1;
    this.#sumNs += Math.min(durationNs, MAX_DURATION_NS);
  }

  save(out: ArchiveWriter): void {
    out.count(this.#counts.length);
    for (const count of this.#counts) out.count(count);
    out.double(this.#sumNs);
  }

  /** Becomes what was saved, by the same bounds. */
  load(input: ArchiveReader): void {
    if (input.count() !== this.#counts.length) input.refuse('the same buckets');
    for (let i = 0; i < this.#counts.length; i += 1) this.#counts[i] = input.count();
    this.#sumNs = input.double();
  }

  cumulative(): number[] {
    let sum = 0;
    return this.#counts.map((count) => {
      sum += count;
      return sum;
    });
  }
}
