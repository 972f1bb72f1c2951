import type { Histogram } from 'hdr-histogram-js';
// Not the package's main file: that also loads JavaScript histograms and log formats, whose formatter loads ICU.
import { initWebAssemblySync, WasmHistogram } from 'hdr-histogram-js/dist/wasm/index.js';
import { NS_PER_US } from '../base/clock.ts';
import { MAX_DURATION_NS } from './duration-buckets.ts';
import { bucketOf, middleOf, FINE_PER_OCTAVE as PER_OCTAVE } from './sparse-buckets.ts';

/**
 * The distribution of the durations between two calls of `take`. Percentiles are the middle of a bucket, at most 0.4 %
 * off. It takes 13.3 KB of WebAssembly memory, which is not garbage-collected, so open it for totals only. The same
 * histogram in JavaScript takes five times as long per record.
 */
export class DurationSteps {
  readonly #histogram: Histogram;

  constructor() {
    // The asynchronous variant tests for a Response, which makes Node load its fetch. Avoiding that and the main file
    // above saves 45 ms and 8 MB at the start. Once it is loaded, this does nothing.
    initWebAssemblySync();
    this.#histogram = WasmHistogram.build({
      bitBucketSize: 32,
      autoResize: false,
      lowestDiscernibleValue: 1,
      highestTrackableValue: MAX_DURATION_NS / NS_PER_US,
      numberOfSignificantValueDigits: 2,
    });
  }

  /** A duration in whole microseconds, at most an hour. */
  add(us: number): void {
    this.#histogram.recordValue(us);
  }

  /**
   * The durations since the last call, or the constructor, in nanoseconds; percentiles are 0 if `count` is 0. Begins the
   * next step.
   */
  take() {
    const count = this.#histogram.totalCount;
    const step = { count, p50: this.#valueAt(50), p95: this.#valueAt(95), p99: this.#valueAt(99) };
    this.#histogram.reset();
    return step;
  }

  #valueAt(percent: number): number {
    const count = this.#histogram.totalCount;
    if (count === 0) return 0;
    // hdr-histogram-js computes a rank from a percentile, rounded up or to the nearest, depending on its version. A
    // quarter below a rank gives that rank in both, whatever the last digit is.
    const rank = Math.ceil((percent * count) / 100);
    const us = this.#histogram.getValueAtPercentile((100 * (rank - 0.25)) / count);
    return middleOf(bucketOf(us, PER_OCTAVE), PER_OCTAVE) * NS_PER_US;
  }
}
