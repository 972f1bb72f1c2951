/** Converts the calls of a step to a row of the table `steps`, and back. */
import { NS_PER_S, NS_PER_US } from '../base/clock.ts';
import type { EndedMinute } from '../measure/history/application-history.ts';
import { percentilesOf } from '../measure/history/minute-record.ts';
import type { MinuteReading } from '../metrics/call-counts.ts';
import { bucketOf, FINE_PER_OCTAVE, middleOf, SparseBuckets } from '../metrics/sparse-buckets.ts';
import type { SqlRow, SqlValue } from './sqlite.ts';

/** In the order of `encodeStep`. Durations are in microseconds. */
export const STEP_COLUMNS = ['count', 'ok', 'clientErrors', 'errors', 'late', 'p50', 'p95', 'p99', 'max', 'buckets'];

/** Half as many as in memory, in two thirds of the space: the middle of a bucket is at most 0.8 % off. */
export const PER_OCTAVE = 64;
const PERMILLES = [500, 950, 990];
/** An element of `SparseBuckets` is `count * ONE + bucket`. */
export const ONE = 4_096;
/** Each byte has 7 bits of a number, the lowest first; its eighth bit says that more follow (LEB128). */
const MORE = 128;

export const NO_CALLS: MinuteReading = { ok: 0, clientErrors: 0, errors: 0, late: 0, maxNs: 0, buckets: [] };

/** With the buckets of the file instead of those in memory. */
export function coarsen(reading: MinuteReading): MinuteReading {
  const buckets = new SparseBuckets();
  SparseBuckets.of(reading.buckets).forEachBucket((bucket, count) => {
    buckets.count(bucketOf(Math.floor(middleOf(bucket, FINE_PER_OCTAVE)), PER_OCTAVE), count);
  });
  return { ...reading, buckets: buckets.save() };
}

export function merge(one: MinuteReading, other: MinuteReading): MinuteReading {
  const buckets = SparseBuckets.of(one.buckets);
  buckets.absorb(SparseBuckets.of(other.buckets));
  const sum = (key: 'ok' | 'clientErrors' | 'errors' | 'late') => one[key] + other[key];
  const counts = { ok: sum('ok'), clientErrors: sum('clientErrors'), errors: sum('errors'), late: sum('late') };
  return { ...counts, maxNs: Math.max(one.maxNs, other.maxNs), buckets: buckets.save() };
}

export function encodeStep({ ok, clientErrors, errors, late, maxNs, buckets }: MinuteReading): SqlValue[] {
  const count = buckets.reduce((sum, element) => sum + Math.floor(element / ONE), 0);
  const percentiles = count === 0 ? [] : percentilesOf(findRanksIn(buckets), count, maxNs, PERMILLES, PER_OCTAVE);
  const [p50 = null, p95 = null, p99 = null] = percentiles.map((seconds) =>
    Math.round((seconds * NS_PER_S) / NS_PER_US),
  );
  const max = count === 0 ? null : Math.round(maxNs / NS_PER_US);
  return [count, ok, clientErrors, errors, late, p50, p95, p99, max, encodeBuckets(buckets)];
}

export function decodeStep(row: SqlRow): MinuteReading {
  // Elements as of `SparseBuckets`.
  const buckets: number[] = [];
  forEachBucket(row.buckets as Uint8Array, (bucket, count) => buckets.push(count * ONE + bucket));
  const counts = { ok: Number(row.ok), clientErrors: Number(row.clientErrors) };
  const others = { errors: Number(row.errors), late: Number(row.late) };
  return { ...counts, ...others, maxNs: Number(row.max) * NS_PER_US, buckets };
}

/** As `mergedBuckets`, of one list, without a loop over all buckets that there are. */
function findRanksIn(elements: readonly number[]): (rank: number) => number {
  let [at, seen] = [-1, 0];
  return (rank) => {
    while (seen < rank) {
      at += 1;
      seen += Math.floor((elements[at] as number) / ONE);
    }
    return (elements[at] as number) % ONE;
  };
}

/** For each bucket: its distance to the one before, and its count. */
function encodeBuckets(elements: readonly number[]): Uint8Array {
  const bytes: number[] = [];
  let before = 0;
  for (const element of elements) {
    const bucket = element % ONE;
    for (let rest of [bucket - before, Math.floor(element / ONE)]) {
      for (; rest >= MORE; rest = Math.floor(rest / MORE)) bytes.push((rest % MORE) + MORE);
      bytes.push(rest);
    }
    before = bucket;
  }
  return Uint8Array.from(bytes);
}

export function forEachBucket(bytes: Uint8Array, visit: (bucket: number, count: number) => void): void {
  let [value, factor, bucket] = [0, 1, 0];
  let isCount = false;
  for (const byte of bytes) {
    value += (byte % MORE) * factor;
    factor *= MORE;
    if (byte >= MORE) continue;
    if (isCount) visit(bucket, value);
    else bucket += value;
    isCount = !isCount;
    value = 0;
    factor = 1;
  }
}

/** Columns of the table `totals`: sums over a step, or its greatest value. Null where nothing is known. */
export const TOTALS = {
  ...{ seconds: 'sum', received: 'sum', created: 'sum', aborted: 'sum', unanswered: 'sum' },
  ...{ ended: 'sum', durationS: 'sum', clientWaitS: 'sum', gcPauseMs: 'sum' },
  ...{ sessions: 'most', holds: 'most', heapUsed: 'most', heapAfterGc: 'most', busyThreads: 'most', cores: 'most' },
} as const;

export type TotalKey = keyof typeof TOTALS;

/** In the order of `TOTALS`. */
export function addUp({ points, created }: EndedMinute): (number | null)[] {
  const known = points.map(({ values: received, times, ...point }): Values => ({ ...point, ...times, received }));
  return Object.entries(TOTALS).map(([key, join]) => {
    if (key === 'created') return created;
    const values = known.flatMap((point) => point[key as TotalKey] ?? []);
    if (values.length === 0) return null;
    return join === 'sum' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
  });
}

type Values = { readonly [Key in TotalKey]?: number | null };
