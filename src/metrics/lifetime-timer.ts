import { type Clock, NS_PER_US } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import {
  type BucketCounts,
  bucketAtRank,
  bucketOf,
  countInto,
  emptyBuckets,
  loadBuckets,
  middleOf,
  saveBuckets,
} from './bucket-counts.ts';
import { MAX_DURATION_NS } from './duration-buckets.ts';
import { addToMoments, loadMoments, MOMENTS_LENGTH, readMoments, saveMoments } from './duration-moments.ts';
import {
  createMeter,
  loadMeter,
  METER_LENGTH,
  markMeter,
  meterCount,
  meterCreatedNs,
  readMeter,
  saveMeter,
} from './meter-numbers.ts';
import { type Timer, type TimerSnapshot, toTimerSnapshot } from './timer.ts';

/** Eight buckets per octave: the middle of a bucket is at most 1/16 = 6.3 % off, and 10 % are allowed. */
const PER_OCTAVE = 8;

/** Layout of `#numbers`. */
const METER = 0;
const MOMENTS = METER + METER_LENGTH;
const BUCKETS = MOMENTS + MOMENTS_LENGTH;

/**
 * A timer over its whole life, for the statistics of one of perhaps 10,000 sessions. At most 238 buckets, so an endless
 * session stays bounded. One array of doubles holds everything: 0.25 KB in three objects for some calls; separate
 * objects took 0.5 KB in thirteen.
 */
export class LifetimeTimer implements Timer {
  readonly #clock: Clock;
  #numbers: BucketCounts = emptyBuckets(BUCKETS);

  constructor(clock: Clock, createdNs: number = clock.nowNs()) {
    this.#clock = clock;
    createMeter(this.#numbers, METER, createdNs);
  }

  get count(): number {
    return meterCount(this.#numbers, METER);
  }

  get createdNs(): number {
    return meterCreatedNs(this.#numbers, METER);
  }

  update(durationNs: number, nowNs: number = this.#clock.nowNs()): void {
    if (!(durationNs >= 0)) return;
    const cutNs = Math.min(durationNs, MAX_DURATION_NS);
    markMeter(this.#numbers, METER, 1, nowNs);
    addToMoments(this.#numbers, MOMENTS, cutNs);
    this.#numbers = countInto(this.#numbers, BUCKETS, bucketOf(Math.round(cutNs / NS_PER_US), PER_OCTAVE));
  }

  /** Nothing to do: `update` counts at once. */
  settle(): void {}

  save(out: ArchiveWriter): void {
    saveMeter(out, this.#numbers, METER);
    saveMoments(out, this.#numbers, MOMENTS);
    saveBuckets(out, this.#numbers, BUCKETS);
  }

  load(input: ArchiveReader, count: number): void {
    loadMeter(input, this.#numbers, METER, count);
    loadMoments(input, this.#numbers, MOMENTS);
    this.#numbers = loadBuckets(input, this.#numbers, BUCKETS);
  }

  snapshot(): TimerSnapshot {
    return toTimerSnapshot(
      readMoments(this.#numbers, MOMENTS),
      readMeter(this.#numbers, METER, this.#clock.nowNs()),
      (rank) => middleOf(bucketAtRank(this.#numbers, BUCKETS, rank), PER_OCTAVE) * NS_PER_US,
    );
  }
}
