import type { DurationBucketsReading } from '../base/metric-description.ts';
import type { Fields, SavedRecord } from '../state/saved-record.ts';
import type { DurationMoments } from './duration-moments.ts';
import type { DurationSteps } from './duration-steps.ts';
import type { MeterSnapshot } from './meter.ts';

/** Durations in nanoseconds, all 0 if there are none. `count` and `rates` are since the timer's creation. */
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
  /** Population standard deviation. */
  readonly stddev: number;
  readonly rates: MeterSnapshot;
}

export interface TimerReading {
  readonly count: number;
  /** All durations since the creation in buckets; undefined if they are not kept. */
  readonly durations?: DurationBucketsReading | undefined;
  snapshot(): TimerSnapshot;
  /** Begins steps for one reader. Absent without a window. Call it only after `load`. */
  openSteps?(): DurationSteps;
}

export interface Timer extends TimerReading {
  /** Monotonic moment from which `count` and the mean rate count. */
  readonly createdNs: number;
  /** Caps at 1 hour; ignores a negative duration, as Dropwizard does. `nowNs`: if the caller has read the clock. */
  update(durationNs: number, nowNs?: number): void;
  /** Adds the durations of `from`; for the rates see `Meter.absorb`. */
  absorb(from: this): void;
  /** Everything except the count, as in `Meter.save`. */
  save(): Fields;
  /** Values that have left the window since saving are dropped. */
  load(saved: SavedRecord, count: number): void;
}

/**
 * `valueAtRank` returns ns, for rank 1 the smallest value; it is called with ascending ranks. A percentile is the
 * value at rank ceil(p * n), never an interpolation. It is as exact as its bucket, but within [min, max].
 */
export function toTimerSnapshot(
  moments: DurationMoments,
  rates: MeterSnapshot,
  valueAtRank: (rank: number) => number,
): TimerSnapshot {
  const { count: n, min, max } = moments;
  // Permille: in doubles 0.95 * n can land just above a whole number, and ceil would skip a rank.
  const at = (permille: number): number => {
    const rank = Math.ceil((permille * n) / 1_000);
    // The last rank is known exactly. So are all ranks of an empty timer, whose `max` is 0.
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
