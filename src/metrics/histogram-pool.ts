import type { Histogram } from 'hdr-histogram-js';
// Not the package's main file: that brings histograms in JavaScript and log formats, whose number formatter loads ICU.
import { initWebAssemblySync, WasmHistogram } from 'hdr-histogram-js/dist/wasm/index.js';
import { NS_PER_US } from '../base/clock.ts';
import { MAX_DURATION_NS } from './duration-buckets.ts';

/** Buckets in each octave of a histogram with two significant digits: an error of at most 1/256 at a bucket's middle. */
export const HISTOGRAM_BUCKETS_PER_OCTAVE = 128;

/** Loads what histograms run on. To be called once, before any statistics are created; again does no harm. */
export function initMetrics(): void {
  // The asynchronous way asks whether it was given a Response, and the mere question makes Node load its fetch.
  // Together with the import above: 45 ms of a start, and 8 MB.
  initWebAssemblySync();
}

/**
 * Hands out histograms of microseconds from 0 to 1 hour, 13.3 KB each, and takes them back, so that only timers with many
 * values in their window have one. They live in WebAssembly memory, which no garbage collector sees: what is taken must be
 * given back, and the pool destroyed in the end. Needs `initMetrics`.
 *
 * WebAssembly, because the same histogram in JavaScript takes five times as long for each record (test/bench/metrics.bench.ts).
 * Never ask one for `mean` or `stdDeviation`: they walk all buckets, slowly. `DurationMoments` knows them exactly.
 */
export class HistogramPool {
  readonly #free: Histogram[] = [];
  readonly #all = new Set<Histogram>();

  /** How many exist, used or not: never more than were in use at one time. */
  get size(): number {
    return this.#all.size;
  }

  get freeCount(): number {
    return this.#free.length;
  }

  /** An empty histogram. */
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

  give(histogram: Histogram): void {
    histogram.reset();
    this.#free.push(histogram);
  }

  /** Frees the memory of all, also of those in use, which throw from then on. */
  destroy(): void {
    for (const histogram of this.#all) histogram.destroy();
    this.#all.clear();
    this.#free.length = 0;
  }
}
