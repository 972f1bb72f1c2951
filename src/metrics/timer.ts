import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';
import type { DurationBucketsReading } from './duration-buckets.ts';
import type { DurationMoments } from './duration-moments.ts';
import type { DurationSteps } from './duration-steps.ts';
import type { MeterSnapshot } from './meter-numbers.ts';

/** Durations in nanoseconds, all 0 when there is none. `count` and `rates` are since the timer's creation. */
export interface TimerSnapshot {
  readonly count: number;
  readonly max: number;
  readonly mean: number;
  readonly min: number;
  readonly p50: number;
  readonly p75: number;
  readonly p95: number;
  readonly p98: number;
  readonly p99: number;
  readonly p999: number;
  /** Population form: the root of the mean squared distance from `mean`. */
  readonly stddev: number;
  readonly rates: MeterSnapshot;
}

/** What a reader may do with a timer. */
export interface TimerReading {
  readonly count: number;
  /** All durations since the creation in buckets; absent where they are not kept. */
  readonly durations?: DurationBucketsReading | undefined;
  snapshot(): TimerSnapshot;
  /** Lets one reader follow it step by step from now on; absent where there is no window. Only after what was saved is loaded. */
  openSteps?(): DurationSteps;
}

export interface Timer extends TimerReading {
  /** Monotonic moment since which `count` and the mean rate count. */
  readonly createdNs: number;
  /**
   * Counts one duration, cut at 1 hour; a negative one is ignored, as in Dropwizard. `nowNs`: for callers that have read the
   * clock already.
   */
  update(durationNs: number, nowNs?: number): void;
  /** Counts what is noted and not counted yet. */
  settle(): void;
  /** All but the count, as `saveMeter`. */
  save(out: ArchiveWriter): void;
  /** Becomes the timer that was saved. What has left its window meanwhile is not in it any more. */
  load(input: ArchiveReader, count: number): void;
}

/**
 * A snapshot of `moments`, with percentiles by `valueAtRank` (1 is the smallest value; ns). A percentile is the recorded value
 * at rank ceil(p * n), never an interpolation, and lies within [min, max] although buckets are wider than values.
 */
export function toTimerSnapshot(
  moments: DurationMoments,
  rates: MeterSnapshot,
  valueAtRank: (rank: number) => number,
): TimerSnapshot {
  const { count: n, min, max } = moments;
  // Permille, since in doubles 0.95 * n can land just above a whole number, and ceil would then skip a rank.
  const at = (permille: number): number => {
    const rank = Math.ceil((permille * n) / 1_000);
    // The last rank is known exactly; so are all of an empty timer, whose `max` is 0.
    return rank === n ? max : Math.min(max, Math.max(min, valueAtRank(rank)));
  };
  return {
    count: rates.count,
    max,
    mean: moments.mean,
    min,
    p50: at(500),
    p75: at(750),
    p95: at(950),
    p98: at(980),
    p99: at(990),
    p999: at(999),
    stddev: moments.stddev,
    rates,
  };
}
