import assert from 'node:assert/strict';
import type { Histogram } from 'hdr-histogram-js';
import type { ArchiveReader } from '../archive/archive-reader.ts';
import type { ArchiveWriter } from '../archive/archive-writer.ts';
import { type Clock, NS_PER_US } from '../clock.ts';
import {
  type BucketCounts,
  bucketOf,
  countInto,
  emptyLike,
  forEachBucket,
  loadBuckets,
  middleOf,
  saveBuckets,
} from './bucket-counts.ts';
import type { DurationBuckets } from './duration-buckets.ts';
import { DurationMoments } from './duration-moments.ts';
import { DurationSteps } from './duration-steps.ts';
import { type HistogramPool, HISTOGRAM_BUCKETS_PER_OCTAVE as PER_OCTAVE } from './histogram-pool.ts';
import { Meter } from './meter.ts';
import { MAX_DURATION_NS, type Timer, type TimerSnapshot, toTimerSnapshot } from './timer.ts';

/** A window forgets in steps of this fraction of its length: 10 s of the default 5 minutes. */
const SLICES_PER_WINDOW = 30;

/** Durations that are noted before they are counted: 0.3 KB for each timer. */
const MAX_NOTES = 16;
/** Duration and moment. */
const NUMBERS_PER_NOTE = 2;

/** What fell into one slice: enough to take it out of the window's histogram again. */
class Slice {
  readonly beganNs: number;
  readonly moments = new DurationMoments();
  buckets: BucketCounts;

  /** `before`: a slice that probably holds as much. Growing to that would make a dozen arrays of each slice. */
  constructor(beganNs: number, before?: Slice) {
    this.beganNs = beganNs;
    this.buckets = before === undefined ? [] : emptyLike(before.buckets);
  }
}

/**
 * A timer whose percentiles, extremes, mean and deviation describe a sliding window.
 *
 * One histogram holds the whole window, so that a snapshot only looks values up (12 µs). Beside it, each slice keeps sparse
 * counts in the same buckets; a slice that has left the window is subtracted. A slice begins with its first value, not on a
 * grid: nothing older than the window is ever shown, a lone value stays exactly as long as the window, and a value leaves at
 * most one slice early. Expiry is checked at each access; there are no timers to run and idle metrics cost nothing.
 * Measured in test/bench/metrics.bench.ts.
 */
export class WindowTimer implements Timer {
  readonly #durations: DurationBuckets | undefined;
  readonly #alsoInto: DurationBuckets | undefined;
  readonly #clock: Clock;
  readonly #windowNs: number;
  readonly #histograms: HistogramPool;
  readonly #meter: Meter;
  /** Oldest first. */
  readonly #slices: Slice[] = [];
  /** Slices of before a restart, until somebody needs them: 4,000 names have 120,000, a second for the garbage collector. */
  #unread: ArchiveReader | undefined;
  /** Holds what is in the slices; undefined while there is none, and after a restart until somebody needs it. */
  #histogram: Histogram | undefined;
  #steps: DurationSteps | undefined;
  /**
   * Durations that are not counted yet, each with its moment: that happens when there are enough of them, or somebody reads, and
   * gives the same numbers bit for bit. Of 2,000 names one has left the processor's cache until it comes again; a note takes
   * two lines of it, counting takes a dozen. Doubles from the start: an array of small integers would be copied.
   */
  readonly #notes = new Array<number>(MAX_NOTES * NUMBERS_PER_NOTE).fill(Number.NaN);
  #noteCount = 0;

  /** `durations`: where all durations are counted as well, beyond the window. `alsoInto`: the same, read and saved by somebody else. */
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
      // What has been noted together mostly belongs to one slice; then none can have left the window in between.
      if (slice === undefined || nowNs - slice.beganNs >= sliceNs) slice = this.#sliceAt(nowNs, sliceNs);
      this.#meter.mark(1, nowNs);
      this.#durations?.add(cutNs);
      this.#alsoInto?.add(cutNs);
      const us = Math.round(cutNs / NS_PER_US);
      slice.moments.add(cutNs);
      slice.buckets = countInto(slice.buckets, bucketOf(us, PER_OCTAVE));
      this.#histogram?.recordValue(us);
    }
  }

  /** The slice that counts what comes at that moment, with the window's histogram there. */
  #sliceAt(nowNs: number, sliceNs: number): Slice {
    this.#expire(nowNs);
    this.#histogram ??= this.#filledHistogram();
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
    for (const { beganNs, moments, buckets } of slices) {
      out.moment(beganNs);
      moments.save(out);
      saveBuckets(out, buckets);
    }
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
    for (let left = input.count(); left > 0; left -= 1) {
      const slice = new Slice(input.moment());
      slice.moments.load(input);
      slice.buckets = loadBuckets(input);
      this.#slices.push(slice);
    }
  }

  snapshot(): TimerSnapshot {
    this.settle();
    this.#expire(this.#clock.nowNs());
    const moments = new DurationMoments();
    for (const slice of this.#slices) moments.addAll(slice.moments);
    return toTimerSnapshot(moments, this.#meter.snapshot(), (rank) => this.#valueAtRank(rank, moments.count));
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
    const histogram = this.#histogram;
    if (histogram === undefined) return;
    if (this.#slices.length > 0) {
      this.#subtract(histogram, expired);
      return;
    }
    this.#histogram = undefined;
    this.#histograms.give(histogram);
  }

  /** In 5 to 14 µs, however full the window is. A negative count would be simpler, but a WebAssembly histogram refuses it. */
  #subtract(histogram: Histogram, expired: readonly Slice[]): void {
    const gone = this.#histograms.take();
    for (const slice of expired) fill(gone, slice);
    histogram.subtract(gone);
    this.#histograms.give(gone);
  }

  /** Of all slices. Not when they are loaded: most are not looked at for a while. */
  #filledHistogram(): Histogram {
    const histogram = this.#histograms.take();
    for (const slice of this.#slices) fill(histogram, slice);
    return histogram;
  }

  #valueAtRank(rank: number, count: number): number {
    assert(count > 0, 'there is no rank without a value');
    this.#histogram ??= this.#filledHistogram();
    // hdr-histogram-js asks for a percentile and rounds it to the nearest rank; this one is that rank but for the last digit.
    const us = this.#histogram.getValueAtPercentile((100 * rank) / count);
    // It answers the top of the bucket; the middle halves the error.
    return middleOf(bucketOf(us, PER_OCTAVE), PER_OCTAVE) * NS_PER_US;
  }
}

function fill(histogram: Histogram, slice: Slice): void {
  forEachBucket(slice.buckets, (bucket, count) => {
    histogram.recordValueWithCount(Math.floor(middleOf(bucket, PER_OCTAVE)), count);
  });
}
