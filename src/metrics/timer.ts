import { type Clock, NS_PER_US } from '../base/clock.ts';
import type { DurationBucketsReading } from '../base/metric-description.ts';
import type { SavedFields, SavedRecord } from '../state/saved-record.ts';
import { type DurationBuckets, MAX_DURATION_NS } from './duration-buckets.ts';
import { DurationSteps } from './duration-steps.ts';
import { Meter } from './meter.ts';
import { bucketOf, FINE_PER_OCTAVE, mergedBuckets, middleOf, SparseBuckets } from './sparse-buckets.ts';

/** Durations in nanoseconds, all 0 if there are none. `count` and `rates` are since the timer's creation. */
export type TimerSnapshot = Readonly<ReturnType<Timer['snapshot']>>;

export interface TimerReading {
  readonly count: number;
  /** All durations since the creation in buckets; undefined if they are not kept. */
  readonly durations?: DurationBucketsReading | undefined;
  snapshot(): TimerSnapshot;
}

/** Without a window: the middle of a bucket is at most 1/16 = 6.3 % off, and 10 % are allowed. */
const COARSE_PER_OCTAVE = 8;

/** Values expire one slice at a time: 10 s of the default window of 5 minutes (`metrics.window`). */
const SLICES_PER_WINDOW = 30;

/**
 * Count, sum, spread and extremes of durations in nanoseconds (all 0 while empty), and their buckets.
 *
 * The squared distances are updated one by one and merged by pairs (Chan, Golub, LeVeque: Updating Formulae and a
 * Pairwise Algorithm for Computing Sample Variances, 1979). A sum of squares would be shorter but cancels: a hundred
 * equal durations would have a spread.
 */
class Slice {
  readonly beganNs: number;
  readonly buckets: SparseBuckets;
  count = 0;
  sum = 0;
  squares = 0;
  min = 0;
  max = 0;

  constructor(beganNs: number, buckets = new SparseBuckets()) {
    this.beganNs = beganNs;
    this.buckets = buckets;
  }

  add(durationNs: number): void {
    this.count += 1;
    this.sum += durationNs;
    const n = this.count;
    if (n === 1) {
      this.min = durationNs;
      this.max = durationNs;
      return;
    }
    const distance = n * durationNs - this.sum;
    this.squares += (distance * distance) / (n * (n - 1));
    if (durationNs < this.min) this.min = durationNs;
    if (durationNs > this.max) this.max = durationNs;
  }

  /** Adds all durations of `from`, but not their buckets. */
  merge(from: Slice): void {
    const n = this.count;
    const m = from.count;
    if (m === 0) return;
    const distance = n === 0 ? 0 : m * this.sum - n * from.sum;
    const between = n === 0 ? 0 : (distance * distance) / (n * m * (n + m));
    this.squares += from.squares + between;
    this.min = n === 0 ? from.min : Math.min(this.min, from.min);
    this.max = n === 0 ? from.max : Math.max(this.max, from.max);
    this.sum += from.sum;
    this.count += m;
  }

  save(): SavedFields {
    const { beganNs, count, sum, squares, min, max } = this;
    return { beganNs, count, sum, squares, min, max, buckets: this.buckets.save() };
  }

  static load(saved: SavedRecord): Slice {
    const slice = new Slice(saved.moment('beganNs'), SparseBuckets.load(saved, 'buckets'));
    slice.count = saved.count('count');
    slice.sum = saved.number('sum');
    slice.squares = saved.number('squares');
    slice.min = saved.number('min');
    slice.max = saved.number('max');
    return slice;
  }
}

export interface TimerOptions {
  readonly clock: Clock;
  /** Monotonic moment from which `count` and the mean rate count; default now. */
  readonly createdNs?: number;
  /** Percentiles, extremes, mean and deviation describe the last `windowNs`; default: the whole life. */
  readonly windowNs?: number;
  /** Also gets each duration. */
  readonly durations?: DurationBuckets | undefined;
}

/**
 * A meter, and the distribution of durations in a sliding window or over the whole life. A percentile is the middle of
 * a bucket, at most 0.4 % off in a window, 6.3 % without one. The extremes are exact.
 *
 * Each slice of the window keeps sparse counts, which a snapshot merges. A slice begins with its first value, not on a
 * grid: nothing older than the window is ever shown, a lone value stays exactly as long as the window, and a value
 * leaves at most one slice early. Expiry is checked at each access, so idle timers cost nothing. Without a window, one
 * slice stays forever. Measured in test/bench/metrics.bench.ts.
 */
export class Timer implements TimerReading {
  readonly durations: DurationBuckets | undefined;
  readonly #clock: Clock;
  readonly #windowNs: number;
  readonly #perOctave: number;
  readonly #meter: Meter;
  /** Oldest first. */
  #slices: readonly Slice[] = [];
  #steps: DurationSteps | undefined;

  constructor({ clock, createdNs, windowNs = Number.POSITIVE_INFINITY, durations }: TimerOptions) {
    this.durations = durations;
    this.#clock = clock;
    this.#windowNs = windowNs;
    this.#perOctave = windowNs === Number.POSITIVE_INFINITY ? COARSE_PER_OCTAVE : FINE_PER_OCTAVE;
    this.#meter = new Meter(clock, createdNs);
  }

  get count(): number {
    return this.#meter.count;
  }

  get createdNs(): number {
    return this.#meter.createdNs;
  }

  /** Caps at 1 hour; ignores a negative duration, as Dropwizard does. `nowNs`: if the caller has read the clock. */
  update(durationNs: number, nowNs: number = this.#clock.nowNs()): void {
    if (!(durationNs >= 0)) return;
    const cutNs = Math.min(durationNs, MAX_DURATION_NS);
    this.#meter.mark(1, nowNs);
    this.durations?.add(cutNs);
    const us = Math.round(cutNs / NS_PER_US);
    const last = this.#slices.at(-1);
    const isCurrent = last !== undefined && nowNs - last.beganNs < this.#windowNs / SLICES_PER_WINDOW;
    if (!isCurrent) this.#expire(nowNs);
    const slice = isCurrent ? last : this.#sliceFor(nowNs);
    slice.add(cutNs);
    slice.buckets.count(bucketOf(us, this.#perOctave));
    this.#steps?.add(us);
  }

  /** Adds the durations of `from`; for the rates see `Meter.absorb`. A value leaves the window at most two slices early. */
  absorb(from: Timer): void {
    this.#meter.absorb(from.#meter);
    if (from.durations !== undefined) this.durations?.absorb(from.durations);
    from.#expire(this.#clock.nowNs());
    for (const slice of from.#slices) {
      const own = this.#sliceFor(slice.beganNs);
      own.merge(slice);
      own.buckets.absorb(slice.buckets);
    }
  }

  /** Everything except the count, as in `Meter.save`. */
  save(): SavedFields {
    const nowNs = this.#clock.nowNs();
    // Filters instead of expiring slices, which would cost more for an idle timer.
    const slices = this.#slices.filter(({ beganNs }) => nowNs - beganNs < this.#windowNs);
    return {
      rates: this.#meter.save(),
      durations: this.durations?.save(),
      slices: slices.map((slice) => slice.save()),
    };
  }

  /** Values that have left the window since saving are dropped. */
  load(saved: SavedRecord, count: number): void {
    this.#meter.load(saved.record('rates'), count);
    this.durations?.load(saved.record('durations'));
    this.#slices = saved.records('slices').map((slice) => Slice.load(slice));
  }

  /**
   * A percentile is the value at rank ceil(p * n), never an interpolation. It is as exact as its bucket, but within
   * [min, max].
   */
  snapshot() {
    this.#expire(this.#clock.nowNs());
    const all = new Slice(0);
    for (const slice of this.#slices) all.merge(slice);
    const rates = this.#meter.snapshot();
    const { count: n, min, max } = all;
    const bucketAtRank = mergedBuckets(this.#slices.map(({ buckets }) => buckets));
    // Permille: in doubles 0.95 * n can land just above a whole number, and ceil would skip a rank.
    const at = (permille: number): number => {
      const rank = Math.ceil((permille * n) / 1_000);
      // The last rank is known exactly. So are all ranks of an empty timer, whose `max` is 0.
      if (rank === n) return max;
      return Math.min(max, Math.max(min, middleOf(bucketAtRank(rank), this.#perOctave) * NS_PER_US));
    };
    return {
      count: rates.count,
      max,
      mean: n === 0 ? 0 : all.sum / n,
      min,
      p50: at(500),
      p75: at(750),
      p95: at(950),
      p98: at(980),
      p99: at(990),
      p999: at(999),
      // Of the population.
      stddev: n === 0 ? 0 : Math.sqrt(all.squares / n),
      rates,
    };
  }

  /** Begins steps for one reader. */
  openSteps(): DurationSteps {
    this.#steps = new DurationSteps();
    return this.#steps;
  }

  /** The slice that begins less than a slice before `beganNs`, or a new one. */
  #sliceFor(beganNs: number): Slice {
    const at = this.#slices.findLastIndex((slice) => slice.beganNs <= beganNs);
    const present = this.#slices[at];
    if (present !== undefined && beganNs - present.beganNs < this.#windowNs / SLICES_PER_WINDOW) return present;
    present?.buckets.settle();
    const slice = new Slice(beganNs, new SparseBuckets(present?.buckets.size));
    this.#slices = this.#slices.toSpliced(at + 1, 0, slice);
    return slice;
  }

  #expire(nowNs: number): void {
    const oldest = this.#slices[0];
    if (oldest === undefined || nowNs - oldest.beganNs < this.#windowNs) return;
    this.#slices = this.#slices.filter(({ beganNs }) => nowNs - beganNs < this.#windowNs);
  }
}
