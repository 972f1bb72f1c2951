import type { Mark } from '../measure/history/marks.ts';
import { percentilesOf } from '../measure/history/minute-record.ts';
import { mergedBuckets, SparseBuckets } from '../metrics/sparse-buckets.ts';
import { readMarks, type Sql } from './queries.ts';
import { decodeStep } from './step-row.ts';
import { beginOf, DAY_S, HOUR_S } from './steps.ts';

/** Times in seconds since 1970, durations in seconds, sizes in bytes. */
export interface Summary {
  readonly from: number;
  readonly to: number;
  readonly applications: readonly SummaryOfApplication[];
  readonly marks: readonly Mark[];
}

export interface SummaryOfApplication {
  readonly name: string;
  readonly rpc: Compared;
  readonly sba: Compared;
  /** The greatest p95 first. */
  readonly slowest: readonly (Compared & { readonly kind: string; readonly name: string })[];
  /** Greatest values, and how long the sidecar measured; null where nothing is known. */
  readonly totals: Readonly<Record<'sessions' | 'heapUsed' | 'gcPauseMs' | 'busyThreads' | 'seconds', number | null>>;
}

interface Period {
  readonly count: number;
  readonly errors: number;
  readonly p95: number | null;
}

/** `before`: the same in the period of the same length before. */
export interface Compared {
  readonly now: Period;
  readonly before: Period;
}

const MAX_NAMES = 10;
/** A p95 of fewer calls says little. */
const MIN_CALLS = 20;

const TOTALS = `SELECT max(sessions) AS sessions, max(heapUsed) AS heapUsed, sum(gcPauseMs) AS gcPauseMs,
  max(busyThreads) AS busyThreads, sum(seconds) AS seconds
  FROM totals WHERE application = ? AND step = ? AND time >= ? AND time < ?`;
const CALLS = `SELECT s.* FROM totals t JOIN steps s ON s.step = t.step AND s.time = t.time AND s.series = ?
  WHERE t.application = ? AND t.step = ? AND t.time >= ? AND t.time < ?`;

/** Of all applications, in the whole steps that hold `since` to `now`. */
export function summarize(sql: Sql, since: number, now: number): Summary {
  const step = now - since > DAY_S ? HOUR_S : 600;
  const [from, to] = [beginOf(since, step), beginOf(now, step) + step];
  const names = sql('SELECT DISTINCT application FROM totals').all();
  const applications = names.map(({ application }) => ofApplication(sql, String(application), { step, from, to }));
  return { from, to: now, applications, marks: readMarks(sql, from, to) };
}

function ofApplication(
  sql: Sql,
  name: string,
  range: { step: number; from: number; to: number },
): SummaryOfApplication {
  const { step, from, to } = range;
  const readPeriod = (series: number, begin: number, end: number): Period => {
    const rows = sql(CALLS).all(series, name, step, begin, end);
    const count = rows.reduce((sum, row) => sum + Number(row.count), 0);
    const errors = rows.reduce((sum, row) => sum + Number(row.errors), 0);
    if (count === 0) return { count, errors, p95: null };
    const decoded = rows.map(decodeStep);
    const maxNs = Math.max(...decoded.map((row) => row.maxNs));
    const parts = decoded.map(({ buckets }) => SparseBuckets.of(buckets));
    const [p95 = null] = percentilesOf(mergedBuckets(parts), count, maxNs, [950]);
    return { count, errors, p95 };
  };
  const all = sql('SELECT id, kind, name FROM series WHERE application = ?').all(name);
  const series = all.map(({ id, kind, name: ofKind }) => ({
    ...{ kind: String(kind), name: String(ofKind) },
    now: readPeriod(Number(id), from, to),
    before: readPeriod(Number(id), from - (to - from), from),
  }));
  const none = { count: 0, errors: 0, p95: null };
  const total = (kind: string): Compared =>
    series.find((one) => one.kind === kind && one.name === '') ?? { now: none, before: none };
  const slowest = series
    .filter((one) => one.name !== '' && one.now.count >= MIN_CALLS)
    .sort((one, other) => (other.now.p95 ?? 0) - (one.now.p95 ?? 0))
    .slice(0, MAX_NAMES);
  const totals = sql(TOTALS).get(name, step, from, to) as SummaryOfApplication['totals'];
  return { name, rpc: total('rpc'), sba: total('sba'), slowest, totals };
}
