import type { Histogram } from 'hdr-histogram-js';
// Not the package's main file: that also loads JavaScript histograms and log formats, whose formatter loads ICU.
import { initWebAssemblySync, WasmHistogram } from 'hdr-histogram-js/dist/wasm/index.js';
import { NS_PER_US } from '../base/clock.ts';
import { MAX_DURATION_NS } from './duration-buckets.ts';

/** Buckets per octave with two significant digits: the middle of a bucket is at most 1/256 off. */
export const HISTOGRAM_BUCKETS_PER_OCTAVE = 128;

/**
 * A pool of histograms of microseconds from 0 to 1 hour, 13.3 KB each: only timers with many values in their window
 * have one. They live in WebAssembly memory, which is not garbage-collected: give each back, and destroy the pool
 * at the end.
 *
 * The same histogram in JavaScript takes five times as long per record (test/bench/metrics.bench.ts). Do not use `mean`
 * and `stdDeviation`: they walk all buckets, slowly. `DurationMoments` has exact values.
 */
export class HistogramPool {
  readonly #free: Histogram[] = [];
  readonly #all = new Set<Histogram>();

  constructor() {
    // The asynchronous variant tests for a Response, which makes Node load its fetch. Avoiding that and the main file
    // above saves 45 ms and 8 MB at the start. Once it is loaded, this does nothing.
    initWebAssemblySync();
  }

  /** Histograms, free or in use: the maximum that were in use at one time. */
  get size(): number {
    return this.#all.size;
  }

  get freeCount(): number {
    return this.#free.length;
  }

  take(): Histogram {
    const reused = this.#free.pop();
    if (reused !== undefined) return reused;
    const histogram = WasmHistogram.build({
      bitBucketSize: 32,
      autoResize: false,
      lowestDiscernibleValue: 1,
      highestTrackableValue: MAX_DURATION_NS / NS_PER_US,
      numberOfSignificantValueDigits: 2,
    });
    this.#all.add(histogram);
    return histogram;
  }

  giveBack(histogram: Histogram): void {
    histogram.reset();
    this.#free.push(histogram);
  }

  /** Frees all histograms. Those still in use throw from then on. */
  destroy(): void {
    for (const histogram of this.#all) histogram.destroy();
    this.#all.clear();
    this.#free.length = 0;
  }
}
