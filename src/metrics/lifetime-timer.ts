import type { ArchiveReader } from '../archive/archive-reader.ts';
import type { ArchiveWriter } from '../archive/archive-writer.ts';
import { type Clock, NS_PER_US } from '../clock.ts';
import {
  type BucketCounts,
  bucketAtRank,
  bucketOf,
  countInto,
  loadBuckets,
  middleOf,
  saveBuckets,
} from './bucket-counts.ts';
import { DurationMoments } from './duration-moments.ts';
import { Meter } from './meter.ts';
import { MAX_DURATION_NS, type Timer, type TimerSnapshot, toTimerSnapshot } from './timer.ts';

/** Eight buckets in each octave: at a bucket's middle at most 1/16 = 6.3 % off, where 10 % are allowed. */
const PER_OCTAVE = 8;

/**
 * A timer over its whole life, as small as it gets: for the statistics of one session, of which there may be 10,000. At most
 * 238 buckets, so a session that never ends does not grow either.
 */
export class LifetimeTimer implements Timer {
  readonly #clock: Clock;
  readonly #meter: Meter;
  readonly #moments = new DurationMoments();
  #buckets: BucketCounts = [];

  constructor(clock: Clock, createdNs: number = clock.nowNs()) {
    this.#clock = clock;
    this.#meter = new Meter(clock, createdNs);
  }

  get count(): number {
    return this.#meter.count;
  }

  get createdNs(): number {
    return this.#meter.createdNs;
  }

  update(durationNs: number, nowNs: number = this.#clock.nowNs()): void {
    if (!(durationNs >= 0)) return;
    const cutNs = Math.min(durationNs, MAX_DURATION_NS);
    this.#meter.mark(1, nowNs);
    this.#moments.add(cutNs);
    this.#buckets = countInto(this.#buckets, bucketOf(Math.round(cutNs / NS_PER_US), PER_OCTAVE));
  }

  /** It counts at once. */
  settle(): void {}

  save(out: ArchiveWriter): void {
    this.#meter.save(out);
    this.#moments.save(out);
    saveBuckets(out, this.#buckets);
  }

  load(input: ArchiveReader, count: number): void {
    this.#meter.load(input, count);
    this.#moments.load(input);
    this.#buckets = loadBuckets(input);
  }

  snapshot(): TimerSnapshot {
    return toTimerSnapshot(
      this.#moments,
      this.#meter.snapshot(),
      (rank) => middleOf(bucketAtRank(this.#buckets, rank), PER_OCTAVE) * NS_PER_US,
    );
  }
}
