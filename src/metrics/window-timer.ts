import type { Histogram } from 'hdr-histogram-js';
import { type Clock, NS_PER_US } from '../base/clock.ts';
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import {
  type BucketCounts,
  bucketOf,
  countInto,
  emptyBuckets,
  emptyLike,
  forEachBucket,
  loadBuckets,
  middleOf,
  saveBuckets,
} from './bucket-counts.ts';
import { BucketSum } from './bucket-sum.ts';
import { type DurationBuckets, MAX_DURATION_NS } from './duration-buckets.ts';
import {
  addToMoments,
  loadMoments,
  MOMENTS_LENGTH,
  mergeMoments,
  readMoments,
  saveMoments,
} from './duration-moments.ts';
import { type CountedSlice, DurationSteps } from './duration-steps.ts';
import { type HistogramPool, HISTOGRAM_BUCKETS_PER_OCTAVE as PER_OCTAVE } from './histogram-pool.ts';
import { Meter } from './meter.ts';
import { type Timer, type TimerSnapshot, toTimerSnapshot } from './timer.ts';

/** Values leave a window in steps of this fraction: 10 s of the default 5 minutes. */
const SLICES_PER_WINDOW = 30;

/** A window with more values has a histogram, until it has less than half as many. Merging this many takes 3 µs. */
const MANY_VALUES = 1_000;

/** Durations buffered before they are counted: 0.3 KB per timer. */
const MAX_NOTES = 16;
/** A duration and its moment. */
const NUMBERS_PER_NOTE = 2;

/** Layout of a slice: when it began, the moments (duration-moments.ts), the buckets. */
const BEGAN_NS = 0;
const MOMENTS = BEGAN_NS + 1;
const BUCKETS = MOMENTS + MOMENTS_LENGTH;

/** One array, as in `LifetimeTimer`. Detailed enough to be subtracted from the window's histogram. */
class Slice implements CountedSlice {
  #numbers: BucketCounts;

  /** `before`: a slice of probably the same size. Growing to that size would allocate a dozen arrays per slice. */
  constructor(beganNs: number, before?: Slice) {
    this.#numbers = before === undefined ? emptyBuckets(BUCKETS) : emptyLike(before.#numbers, BUCKETS);
    this.#numbers[BEGAN_NS] = beganNs;
  }

  get beganNs(): number {
    return this.#numbers[BEGAN_NS] as number;
  }

  add(durationNs: number, us: number): void {
    addToMoments(this.#numbers, MOMENTS, durationNs);
    this.#numbers = countInto(this.#numbers, BUCKETS, bucketOf(us, PER_OCTAVE));
  }

  addMomentsTo(sum: number[]): void {
    mergeMoments(sum, 0, this.#numbers, MOMENTS);
  }

  addBucketsTo(sum: BucketSum): void {
    sum.add(this.#numbers, BUCKETS);
  }

  forEachBucket(visit: (bucket: number, count: number) => void): void {
    forEachBucket(this.#numbers, BUCKETS, visit);
  }

  save(out: ArchiveWriter): void {
    out.moment(this.beganNs);
    saveMoments(out, this.#numbers, MOMENTS);
    saveBuckets(out, this.#numbers, BUCKETS);
  }

  static load(input: ArchiveReader): Slice {
    const slice = new Slice(input.moment());
    loadMoments(input, slice.#numbers, MOMENTS);
    slice.#numbers = loadBuckets(input, slice.#numbers, BUCKETS);
    return slice;
  }
}

/**
 * A timer whose percentiles, extremes, mean and deviation describe a sliding window.
 *
 * Each slice keeps sparse counts, which a snapshot merges. A window with many values also keeps a histogram of them all
 * in the same buckets: snapshots look values up in it, and expired slices are subtracted. A slice begins with its first
 * value, not on a grid: nothing older than the window is ever shown, a lone value stays exactly as long as the window,
 * and a value leaves at most one slice early. Expiry is checked at each access, so idle metrics cost nothing. Measured
 * in test/bench/metrics.bench.ts.
 */
export class WindowTimer implements Timer {
  /**
   * Buffered durations with their moments. They are counted when the buffer is full or on a read; the numbers are the
   * same bit for bit. With 2,000 names, each has left the processor's cache before its next call: a note touches two
   * cache lines, counting a dozen. NaN makes V8 store doubles at once. Declared first: V8 lays fields out in this
   * order, so this one is near the object's header.
   */
  readonly #notes = new Array<number>(MAX_NOTES * NUMBERS_PER_NOTE).fill(Number.NaN);
  #noteCount = 0;
  readonly #durations: DurationBuckets | undefined;
  readonly #alsoInto: DurationBuckets | undefined;
  readonly #clock: Clock;
  readonly #windowNs: number;
  readonly #histograms: HistogramPool;
  readonly #meter: Meter;
  /** Oldest first. */
  readonly #slices: Slice[] = [];
  /** Saved slices, parsed on first use: 4,000 names have 120,000, a second for the garbage collector. */
  #unread: ArchiveReader | undefined;
  /** All values of the slices; undefined until a snapshot finds many. */
  #histogram: Histogram | undefined;
  #steps: DurationSteps | undefined;

  /**
   * Both `durations` and `alsoInto` also count all durations, beyond the window. Another owner reads and saves
   * `alsoInto`.
   */
  constructor(options: {
    clock: Clock;
    windowNs: number;
    histograms: HistogramPool;
    createdNs?: number;
    durations?: DurationBuckets | undefined;
    alsoInto?: DurationBuckets | undefined;
  }) {
    this.#durations = options.durations;
    this.#alsoInto = options.alsoInto;
    this.#clock = options.clock;
    this.#windowNs = options.windowNs;
    this.#histograms = options.histograms;
    this.#meter = new Meter(options.clock, options.createdNs);
  }

  get durations(): DurationBuckets | undefined {
    this.settle();
    return this.#durations;
  }

  get count(): number {
    return this.#meter.count + this.#noteCount;
  }

  get createdNs(): number {
    return this.#meter.createdNs;
  }

  update(durationNs: number, nowNs: number = this.#clock.nowNs()): void {
    if (!(durationNs >= 0)) return;
    const at = this.#noteCount * NUMBERS_PER_NOTE;
    this.#notes[at] = durationNs;
    this.#notes[at + 1] = nowNs;
    this.#noteCount += 1;
    if (this.#noteCount === MAX_NOTES) this.settle();
  }

  settle(): void {
    const noteCount = this.#noteCount;
    if (noteCount === 0) return;
    this.#noteCount = 0;
    const sliceNs = this.#windowNs / SLICES_PER_WINDOW;
    let slice: Slice | undefined;
    for (let i = 0; i < noteCount; i += 1) {
      const at = i * NUMBERS_PER_NOTE;
      const cutNs = Math.min(this.#notes[at] as number, MAX_DURATION_NS);
      const nowNs = this.#notes[at + 1] as number;
      // Notes mostly belong to one slice, and then none can have left the window in between.
      if (slice === undefined || nowNs - slice.beganNs >= sliceNs) slice = this.#sliceAt(nowNs, sliceNs);
      this.#meter.mark(1, nowNs);
      this.#durations?.add(cutNs);
      this.#alsoInto?.add(cutNs);
      const us = Math.round(cutNs / NS_PER_US);
      slice.add(cutNs, us);
      this.#histogram?.recordValue(us);
    }
  }

  #sliceAt(nowNs: number, sliceNs: number): Slice {
    this.#expire(nowNs);
    const last = this.#slices.at(-1);
    if (last !== undefined && nowNs - last.beganNs < sliceNs) return last;
    const slice = new Slice(nowNs, last);
    this.#slices.push(slice);
    return slice;
  }

  save(out: ArchiveWriter): void {
    this.settle();
    this.#meter.save(out);
    this.#durations?.save(out);
    out.part((part) => this.#saveSlices(part));
  }

  #saveSlices(out: ArchiveWriter): void {
    const nowNs = this.#clock.nowNs();
    this.#readSlices();
    // Not expired here: an idle timer would pay for that in each save.
    const slices = this.#slices.filter(({ beganNs }) => nowNs - beganNs < this.#windowNs);
    out.count(slices.length);
    for (const slice of slices) slice.save(out);
  }

  load(input: ArchiveReader, count: number): void {
    this.#meter.load(input, count);
    this.#durations?.load(input);
    this.#unread = input.part();
  }

  #readSlices(): void {
    const input = this.#unread;
    if (input === undefined) return;
    this.#unread = undefined;
    for (let left = input.count(); left > 0; left -= 1) this.#slices.push(Slice.load(input));
  }

  snapshot(): TimerSnapshot {
    this.settle();
    this.#expire(this.#clock.nowNs());
    const sum = new Array<number>(MOMENTS_LENGTH).fill(0);
    for (const slice of this.#slices) slice.addMomentsTo(sum);
    const moments = readMoments(sum, 0);
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
    const merged = mergedSlices(this.#slices);
    return (rank) => merged.bucketAtRank(rank);
  }

  #histogramFor(count: number): Histogram | undefined {
    if (count > MANY_VALUES) this.#histogram ??= this.#filledHistogram();
    else if (count < MANY_VALUES / 2) this.#giveHistogram();
    return this.#histogram;
  }

  #giveHistogram(): void {
    const histogram = this.#histogram;
    this.#histogram = undefined;
    if (histogram !== undefined) this.#histograms.give(histogram);
  }

  openSteps(): DurationSteps {
    this.#readSlices();
    this.#steps = new DurationSteps(() => {
      this.settle();
      return this.#slices;
    });
    return this.#steps;
  }

  #expire(nowNs: number): void {
    this.#readSlices();
    const oldest = this.#slices[0];
    if (oldest === undefined || nowNs - oldest.beganNs < this.#windowNs) return;
    const staying = this.#slices.findIndex((slice) => nowNs - slice.beganNs < this.#windowNs);
    const expired = this.#slices.splice(0, staying < 0 ? this.#slices.length : staying);
    for (const slice of expired) this.#steps?.add(slice);
    if (this.#slices.length === 0) this.#giveHistogram();
    else if (this.#histogram !== undefined) this.#subtract(this.#histogram, expired);
  }

  /**
   * 5 to 14 µs, however full the window is. A negative count would be simpler, but WebAssembly histograms refuse it.
   */
  #subtract(histogram: Histogram, expired: readonly Slice[]): void {
    const gone = this.#histograms.take();
    for (const slice of expired) fill(gone, slice);
    histogram.subtract(gone);
    this.#histograms.give(gone);
  }

  #filledHistogram(): Histogram {
    const histogram = this.#histograms.take();
    for (const slice of this.#slices) fill(histogram, slice);
    return histogram;
  }
}

/** Shared: valid for one snapshot at a time. */
const mergedCounts = new BucketSum();

function mergedSlices(slices: readonly Slice[]): BucketSum {
  mergedCounts.clear();
  for (const slice of slices) slice.addBucketsTo(mergedCounts);
  return mergedCounts;
}

function bucketInHistogram(histogram: Histogram, rank: number, count: number): number {
  // hdr-histogram-js computes a rank from a percentile, rounded up or to the nearest, depending on its version. A
  // quarter below a rank gives that rank in both, whatever the last digit is.
  return bucketOf(histogram.getValueAtPercentile((100 * (rank - 0.25)) / count), PER_OCTAVE);
}

function fill(histogram: Histogram, slice: Slice): void {
  slice.forEachBucket((bucket, count) => {
    histogram.recordValueWithCount(Math.floor(middleOf(bucket, PER_OCTAVE)), count);
  });
}
