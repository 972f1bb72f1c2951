/**
 * Two periods side by side, what became slower since a moment, and a summary of days. Times are in seconds since 1970.
 */

import { NS_PER_US } from '../base/clock.ts';
import type { CallsPoint } from '../measure/history/application-history.ts';
import type { Mark } from '../measure/history/marks.ts';
import { percentilesOf } from '../measure/history/minute-record.ts';
import { findRanks } from '../metrics/sparse-buckets.ts';
import { beginOf, chooseStep, DAY_S, HOUR_S, readMarks, type Sql } from './queries.ts';
import type { SqlRow, SqlValue } from './sqlite.ts';
import { forEachBucket, PER_OCTAVE } from './step-row.ts';

/** The calls of one series in a period; durations in seconds, null without an answered call. */
type Period = Omit<CallsPoint, 'p99'>;

/** `before`: the same in another period. */
export interface Compared {
  readonly now: Period;
  readonly before: Period;
}

const NO_PERIOD: Period = { count: 0, errors: 0, p50: null, p95: null };

/** Percentiles of fewer calls say little. */
export const MIN_CALLS = 20;
/** More than an hour needs, the longest duration: 28 octaves. */
const MAX_BUCKETS = 30 * PER_OCTAVE;

const CALLS = 'SELECT series, count, errors, max, buckets FROM steps WHERE step = ? AND time >= ? AND time < ?';

class Calls {
  count = 0;
  errors = 0;
  #maxNs = 0;
  readonly #counts = new Uint32Array(MAX_BUCKETS);

  add({ count, errors, max, buckets }: SqlRow): void {
    this.count += Number(count);
    this.errors += Number(errors);
    this.#maxNs = Math.max(this.#maxNs, Number(max) * NS_PER_US);
    forEachBucket(buckets as Uint8Array, this.#addBucket);
  }

  readonly #addBucket = (bucket: number, count: number): void => {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
  };

  read(): Period {
    const { count, errors } = this;
    if (count === 0) return { ...NO_PERIOD, errors };
    const ranks = findRanks(this.#counts);
    const [p50 = null, p95 = null] = percentilesOf(ranks, count, this.#maxNs, [500, 950], PER_OCTAVE);
    return { count, errors, p50, p95 };
  }
}

/**
 * The calls in the steps of `step` seconds that begin in a range, by id of the series, in one pass over the rows: to
 * look up each series in each step takes ten times as long.
 */
function readPeriod(sql: Sql, step: number, from: number, to: number): ReadonlyMap<number, Period> {
  const bySeries = new Map<number, Calls>();
  for (const row of sql(CALLS).iterate(step, from, to)) {
    const calls = bySeries.get(Number(row.series)) ?? new Calls();
    bySeries.set(Number(row.series), calls);
    calls.add(row);
  }
  return new Map(Array.from(bySeries, ([series, calls]) => [series, calls.read()]));
}

export interface NameChange extends Compared {
  /** As in the metrics, e.g. `rpc.E.Demo.Run`. */
  readonly name: string;
}

/** Of 500 names, each period of at most that long takes some tenths of a second. */
const MAX_COMPARED_S = 7 * DAY_S;
const DAYS_BEFORE = 7;
/** Shorter periods are compared in steps of ten minutes. */
const SHORT_S = 3 * HOUR_S;
/** A change below it is not named. */
const SLOWER_FACTOR = 1.2;

/**
 * The names with calls in `from` to `to`, of which the last week counts, or in the period of that length from `than`;
 * in whole steps. `than`: where that other period begins.
 */
export function compareNames(
  sql: Sql,
  application: string,
  range: { readonly from: number; readonly to: number; readonly than: number; readonly now: number },
) {
  const shift = range.from - range.than;
  const wanted = Math.max(range.from, range.to - MAX_COMPARED_S);
  const length = range.to - wanted;
  const shortest = length <= HOUR_S ? 60 : length <= DAY_S ? 600 : HOUR_S;
  const step = Math.max(shortest, chooseStep(range.now - Math.min(wanted, wanted - shift)));
  const from = beginOf(wanted, step);
  // A running step is not compared with a whole one.
  const to = Math.max(from + step, beginOf(Math.min(range.to, range.now), step));
  const than = beginOf(from - shift, step);
  const current = readPeriod(sql, step, from, to);
  const other = readPeriod(sql, step, than, than + to - from);
  const all = readNames(sql, application).filter(({ id }) => current.has(id) || other.has(id));
  const names = all.map(({ id, name }) => ({
    name,
    now: current.get(id) ?? NO_PERIOD,
    before: other.get(id) ?? NO_PERIOD,
  }));
  return { from, to, than, names };
}

/**
 * The names whose median or p95 since a moment, at most a day, is above its greatest value in the periods of the same
 * length right before, and at the same time of the last seven days, by a fifth or more; each with 20 calls or more.
 * `from` is the first whole step since the moment, `to` the end of what is compared. `periods`: those before that have
 * calls. `factor`: the median or p95 as a multiple of its greatest value before, the greater of the two; slowest first.
 */
export function findSlower(sql: Sql, application: string, since: number, now: number) {
  const step = now - since <= DAYS_BEFORE * DAY_S && now - since <= SHORT_S ? 600 : HOUR_S;
  const from = Math.ceil(since / step) * step;
  const to = Math.min(beginOf(now, step) + step, from + DAY_S);
  const length = to - from;
  if (length <= 0) return { from, to: from, periods: 0, names: [] };
  const before = Array.from({ length: DAYS_BEFORE }, (_, day) => from - (day + 1) * DAY_S);
  // Right before, without the step that has the moment.
  const periods = [beginOf(since, step) - length, ...before]
    .map((begin) => readPeriod(sql, step, begin, Math.min(begin + length, beginOf(since, step))))
    .filter(({ size }) => size > 0);
  const current = readPeriod(sql, step, from, to);
  const names = readNames(sql, application).flatMap(({ id, name }) => {
    const period = current.get(id);
    const usual = selectGreatest(periods.flatMap((one) => one.get(id) ?? []));
    if (period === undefined || period.count < MIN_CALLS || usual === undefined) return [];
    const factor = Math.max(ratio(period.p50, usual.p50), ratio(period.p95, usual.p95));
    return factor < SLOWER_FACTOR ? [] : [{ name, factor, now: period, before: usual }];
  });
  return { from, to, periods: periods.length, names: names.sort((one, other) => other.factor - one.factor) };
}

/** The greatest values of the periods with enough calls; undefined without one. */
function selectGreatest(periods: readonly Period[]): Period | undefined {
  const known = periods.filter(({ count }) => count >= MIN_CALLS);
  if (known.length === 0) return undefined;
  const greatest = (key: keyof Period) => Math.max(...known.map((period) => period[key] ?? 0));
  return { count: greatest('count'), errors: greatest('errors'), p50: greatest('p50'), p95: greatest('p95') };
}

function ratio(value: number | null, usual: number | null): number {
  return value === null || usual === null || usual === 0 ? 0 : value / usual;
}

function readNames(sql: Sql, application: string) {
  const rows = sql("SELECT id, kind, name FROM series WHERE application = ? AND name <> ''").all(application);
  return rows.map(({ id, kind, name }) => ({ id: Number(id), name: `${kind}.${name}` }));
}

/** Times in seconds since 1970, durations in seconds, sizes in bytes. */
export interface Summary {
  readonly from: number;
  readonly to: number;
  readonly applications: readonly SummaryOfApplication[];
  readonly marks: readonly Mark[];
  /** Of this month; the running sidecar adds them. */
  readonly targets?: readonly TargetOfMonth[];
  /** Why the history cannot be written now; the running sidecar adds it. */
  readonly failure?: string | undefined;
}

export interface TargetOfMonth {
  readonly application: string;
  readonly name: string;
  readonly withinMs: number;
  readonly share: number;
  readonly month: { readonly met: number; readonly missed: number };
  /** Null if none may miss it. */
  readonly allowanceUsed: number | null;
}

export interface SummaryOfApplication {
  readonly name: string;
  readonly rpc: Compared;
  readonly sba: Compared;
  /** The greatest p95 first. */
  readonly slowest: readonly (Compared & { readonly kind: string; readonly name: string })[];
  /** Greatest values, and how long the sidecar measured; null where nothing is known. */
  readonly totals: Readonly<Record<'sessions' | 'heapUsed' | 'gcPauseMs' | 'seconds', number | null>>;
}

const MAX_NAMES = 10;
const TOTALS = `SELECT max(sessions) AS sessions, max(heapUsed) AS heapUsed, sum(gcPauseMs) AS gcPauseMs, sum(seconds) AS
  seconds FROM totals WHERE application = ? AND step = ? AND time >= ? AND time < ?`;

/** Of all applications, in the whole steps that hold `since` to `now`. */
export function summarize(sql: Sql, since: number, now: number): Summary {
  const step = now - since > DAY_S ? HOUR_S : 600;
  const [from, to] = [beginOf(since, step), beginOf(now, step) + step];
  const current = readPeriod(sql, step, from, to);
  const earlier = readPeriod(sql, step, from - (to - from), from);
  const compare = (id: SqlValue): Compared => ({
    now: current.get(Number(id)) ?? NO_PERIOD,
    before: earlier.get(Number(id)) ?? NO_PERIOD,
  });
  const applications = sql('SELECT DISTINCT application FROM totals')
    .all()
    .map(({ application }) => {
      const series = sql('SELECT id, kind, name FROM series WHERE application = ?')
        .all(application ?? null)
        .map(({ id = null, kind, name }) => ({ kind: String(kind), name: String(name), ...compare(id) }));
      const ofKind = (kind: string): Compared =>
        series.find((one) => one.kind === kind && one.name === '') ?? { now: NO_PERIOD, before: NO_PERIOD };
      const slowest = series
        .filter((one) => one.name !== '' && one.now.count >= MIN_CALLS)
        .sort((one, other) => (other.now.p95 ?? 0) - (one.now.p95 ?? 0))
        .slice(0, MAX_NAMES);
      const totals = sql(TOTALS).get(application ?? null, step, from, to) as SummaryOfApplication['totals'];
      return { name: String(application), rpc: ofKind('rpc'), sba: ofKind('sba'), slowest, totals };
    });
  return { from, to: now, applications, marks: readMarks(sql, from, to) };
}
