import type { Histogram } from 'hdr-histogram-js';
import { type Clock, NS_PER_US } from '../base/clock.ts';
import type { Fields, SavedRecord } from '../state/saved-record.ts';
import { type DurationBuckets, MAX_DURATION_NS } from './duration-buckets.ts';
import { DurationMoments } from './duration-moments.ts';
import { type CountedSlice, DurationSteps } from './duration-steps.ts';
import { type HistogramPool, HISTOGRAM_BUCKETS_PER_OCTAVE as PER_OCTAVE } from './histogram-pool.ts';
import { Meter } from './meter.ts';
import { bucketOf, mergedBuckets, middleOf, SparseBuckets } from './sparse-buckets.ts';
import { type Timer, type TimerSnapshot, toTimerSnapshot } from './timer.ts';

/** Values expire one slice at a time: 10 s of the default window of 5 minutes (`metrics.window`). */
const SLICES_PER_WINDOW = 30;

/** A window with more values has a histogram, until it has less than half as many. Merging this many takes 3 µs. */
const MANY_VALUES = 1_000;

class Slice implements CountedSlice {
  readonly beganNs: number;
  readonly moments: DurationMoments;
  readonly buckets: SparseBuckets;

  constructor(beganNs: number, moments = new DurationMoments(), buckets = new SparseBuckets()) {
    this.beganNs = beganNs;
    this.moments = moments;
    this.buckets = buckets;
  }

  add(durationNs: number, us: number): void {
    this.moments.add(durationNs);
    this.buckets.count(bucketOf(us, PER_OCTAVE));
  }

  absorb(from: Slice): void {
    this.moments.merge(from.moments);
    this.buckets.absorb(from.buckets);
  }

  save(): Fields {
    return this.moments.save(this.buckets.save(), this.beganNs);
  }

  static load(saved: SavedRecord): Slice {
    return new Slice(saved.moment('beganNs'), DurationMoments.load(saved), SparseBuckets.load(saved, 'buckets'));
  }
}

/**
 * A timer whose percentiles, extremes, mean and deviation describe a sliding window. A percentile is the middle of a
 * bucket, at most 0.4 % off; the extremes are exact.
 *
 * Each slice keeps sparse counts, which a snapshot merges. A window with many values also keeps a histogram of them all
 * in the same buckets: snapshots look values up in it, and expired slices are subtracted. A slice begins with its first
 * value, not on a grid: nothing older than the window is ever shown, a lone value stays exactly as long as the window,
 * and a value leaves at most one slice early. Expiry is checked at each access, so idle metrics cost nothing. Measured
 * in test/bench/metrics.bench.ts.
 */
export class WindowTimer implements Timer {
  /** All durations since the creation, not only those of the window. */
  readonly durations: DurationBuckets | undefined;
  readonly #clock: Clock;
  readonly #windowNs: number;
  readonly #histograms: HistogramPool;
  readonly #meter: Meter;
  /** Oldest first. */
  #slices: readonly Slice[] = [];
  /** All values of the slices; undefined until a snapshot finds many. */
  #histogram: Histogram | undefined;
  #steps: DurationSteps | undefined;

  constructor(options: {
    clock: Clock;
    windowNs: number;
    histograms: HistogramPool;
    createdNs?: number;
    durations?: DurationBuckets | undefined;
  }) {
    this.durations = options.durations;
    this.#clock = options.clock;
    this.#windowNs = options.windowNs;
    this.#histograms = options.histograms;
    this.#meter = new Meter(options.clock, options.createdNs);
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
    this.durations?.add(cutNs);
    const us = Math.round(cutNs / NS_PER_US);
    this.#sliceAt(nowNs).add(cutNs, us);
    this.#histogram?.recordValue(us);
  }

  /** A value leaves the window at most two slices early. */
  absorb(from: WindowTimer): void {
    this.#meter.absorb(from.#meter);
    if (from.durations !== undefined) this.durations?.absorb(from.durations);
    from.#expire(this.#clock.nowNs());
    for (const slice of from.#slices) this.#sliceFor(slice.beganNs).absorb(slice);
    // The next snapshot that needs them builds them again.
    this.#giveHistogram();
    from.#giveHistogram();
  }

  save(): Fields {
    const nowNs = this.#clock.nowNs();
    // Filters instead of expiring slices, which would cost more for an idle timer.
    const slices = this.#slices.filter(({ beganNs }) => nowNs - beganNs < this.#windowNs);
    return {
      rates: this.#meter.save(),
      durations: this.durations?.save(),
      slices: slices.map((slice) => slice.save()),
    };
  }

  load(saved: SavedRecord, count: number): void {
    this.#meter.load(saved.record('rates'), count);
    this.durations?.load(saved.record('durations'));
    this.#slices = saved.records('slices').map((slice) => Slice.load(slice));
  }

  snapshot(): TimerSnapshot {
    this.#expire(this.#clock.nowNs());
    const moments = new DurationMoments();
    for (const slice of this.#slices) moments.merge(slice.moments);
    const bucketAtRank = this.#bucketsByRank(moments.count);
    return toTimerSnapshot(
      moments,
      this.#meter.snapshot(),
      (rank) => middleOf(bucketAtRank(rank), PER_OCTAVE) * NS_PER_US,
    );
  }

  #bucketsByRank(count: number): (rank: number) => number {
    const histogram = this.#histogramFor(count);
    if (histogram !== undefined) return (rank) => bucketInHistogram(histogram, rank, count);
    return mergedBuckets(this.#slices.map(({ buckets }) => buckets));
  }

  #histogramFor(count: number): Histogram | undefined {
    if (count > MANY_VALUES) this.#histogram ??= this.#histogramOf(this.#slices);
    else if (count < MANY_VALUES / 2) this.#giveHistogram();
    return this.#histogram;
  }

  #giveHistogram(): void {
    if (this.#histogram !== undefined) this.#histograms.giveBack(this.#histogram);
    this.#histogram = undefined;
  }

  openSteps(): DurationSteps {
    this.#steps = new DurationSteps(() => this.#slices);
    return this.#steps;
  }

  #sliceAt(nowNs: number): Slice {
    const last = this.#slices.at(-1);
    if (last !== undefined && nowNs - last.beganNs < this.#windowNs / SLICES_PER_WINDOW) return last;
    this.#expire(nowNs);
    const slice = new Slice(nowNs);
    this.#slices = [...this.#slices, slice];
    return slice;
  }

  /** The slice that begins less than a slice before `beganNs`, or a new one. */
  #sliceFor(beganNs: number): Slice {
    const at = this.#slices.findLastIndex((slice) => slice.beganNs <= beganNs);
    const present = this.#slices[at];
    if (present !== undefined && beganNs - present.beganNs < this.#windowNs / SLICES_PER_WINDOW) return present;
    const slice = new Slice(beganNs);
    this.#slices = this.#slices.toSpliced(at + 1, 0, slice);
    return slice;
  }

  #expire(nowNs: number): void {
    const oldest = this.#slices[0];
    if (oldest === undefined || nowNs - oldest.beganNs < this.#windowNs) return;
    const hasExpired = ({ beganNs }: Slice): boolean => nowNs - beganNs >= this.#windowNs;
    const expired = this.#slices.filter(hasExpired);
    this.#slices = this.#slices.slice(expired.length);
    for (const slice of expired) this.#steps?.add(slice);
    if (this.#slices.length === 0) this.#giveHistogram();
    else if (this.#histogram !== undefined) this.#subtract(this.#histogram, expired);
  }

  /**
   * 5 to 14 µs, however full the window is. A negative count would be simpler, but WebAssembly histograms refuse it.
   */
  #subtract(histogram: Histogram, expired: readonly Slice[]): void {
    const gone = this.#histogramOf(expired);
    histogram.subtract(gone);
    this.#histograms.giveBack(gone);
  }

  #histogramOf(slices: readonly Slice[]): Histogram {
    const histogram = this.#histograms.take();
    for (const { buckets } of slices) {
      buckets.forEachBucket((bucket, count) => {
        histogram.recordValueWithCount(Math.floor(middleOf(bucket, PER_OCTAVE)), count);
      });
    }
    return histogram;
  }
}

function bucketInHistogram(histogram: Histogram, rank: number, count: number): number {
  // hdr-histogram-js computes a rank from a percentile, rounded up or to the nearest, depending on its version. A
  // quarter below a rank gives that rank in both, whatever the last digit is.
  return bucketOf(histogram.getValueAtPercentile((100 * (rank - 0.25)) / count), PER_OCTAVE);
}
