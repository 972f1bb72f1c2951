import { type Clock, NS_PER_US } from '../base/clock.ts';
import type { Fields, SavedRecord } from '../state/saved-record.ts';
import { MAX_DURATION_NS } from './duration-buckets.ts';
import { DurationMoments } from './duration-moments.ts';
import { Meter } from './meter.ts';
import { bucketOf, mergedBuckets, middleOf, SparseBuckets } from './sparse-buckets.ts';
import { type Timer, type TimerSnapshot, toTimerSnapshot } from './timer.ts';

/** Eight buckets per octave: the middle of a bucket is at most 1/16 = 6.3 % off, and 10 % are allowed. */
const PER_OCTAVE = 8;

/**
 * A timer over its whole life, for the statistics of a session. It has at most 238 buckets, however long the session
 * lasts.
 */
export class LifetimeTimer implements Timer {
  readonly #clock: Clock;
  readonly #meter: Meter;
  #moments = new DurationMoments();
  #buckets = new SparseBuckets();

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
    this.#buckets.count(bucketOf(Math.round(cutNs / NS_PER_US), PER_OCTAVE));
  }

  absorb(from: LifetimeTimer): void {
    this.#meter.absorb(from.#meter);
    this.#moments.merge(from.#moments);
    this.#buckets.absorb(from.#buckets);
  }

  /**
   * The saved field `durations` holds moments and sparse buckets; that of a `WindowTimer` holds Prometheus's buckets.
   */
  save(): Fields {
    return { rates: this.#meter.save(), durations: this.#moments.save(this.#buckets.save()) };
  }

  load(saved: SavedRecord, count: number): void {
    this.#meter.load(saved.record('rates'), count);
    const durations = saved.record('durations');
    this.#moments = DurationMoments.load(durations);
    this.#buckets = SparseBuckets.load(durations, 'buckets');
  }

  snapshot(): TimerSnapshot {
    const bucketAtRank = mergedBuckets([this.#buckets]);
    return toTimerSnapshot(
      this.#moments,
      this.#meter.snapshot(),
      (rank) => middleOf(bucketAtRank(rank), PER_OCTAVE) * NS_PER_US,
    );
  }
}
