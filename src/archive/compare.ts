/** Two periods side by side, and what became slower since a moment. Times are in seconds since 1970. */
import { type Compared, MIN_CALLS, NO_PERIOD, type Period, readPeriod } from './period.ts';
import type { Sql } from './queries.ts';
import { beginOf, chooseStep, DAY_S, HOUR_S } from './steps.ts';

export interface NameChange extends Compared {
  /** As in the metrics, e.g. `rpc.E.Demo.Run`. */
  readonly name: string;
}

export interface Comparison {
  readonly from: number;
  readonly to: number;
  /** Where the other period begins. */
  readonly than: number;
  readonly names: readonly NameChange[];
}

export interface SlowerName extends NameChange {
  /** The median or p95 as a multiple of its greatest value before; the greater of the two. */
  readonly factor: number;
}

export interface Slower {
  /** The first whole step since the moment, and the end of what is compared. */
  readonly from: number;
  readonly to: number;
  /** Periods before that have calls: right before, and at the same time of the days before. */
  readonly periods: number;
  /** The slowest first. */
  readonly names: readonly SlowerName[];
}

/** Of 500 names, each period of at most that long takes some tenths of a second. */
const MAX_COMPARED_S = 7 * DAY_S;
const DAYS_BEFORE = 7;
/** Shorter periods are compared in steps of ten minutes. */
const SHORT_S = 3 * HOUR_S;
/** A change below it is not named. */
export const SLOWER_FACTOR = 1.2;

/**
 * The names with calls in `from` to `to`, of which the last week counts, or in the period of that length from `than`;
 * in whole steps.
 */
export function compareNames(
  sql: Sql,
  application: string,
  range: { readonly from: number; readonly to: number; readonly than: number; readonly now: number },
): Comparison {
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
  const names = [...eachName(sql, application)].flatMap(({ id, name }) => {
    const [now, before] = [current.get(id), other.get(id)];
    return now === undefined && before === undefined
      ? []
      : [{ name, now: now ?? NO_PERIOD, before: before ?? NO_PERIOD }];
  });
  return { from, to, than, names };
}

/**
 * The names whose median or p95 since a moment, at most a day, is above its greatest value in the periods of the same
 * length right before, and at the same time of the last seven days, by a fifth or more; each with 20 calls or more.
 */
export function findSlower(sql: Sql, application: string, since: number, now: number): Slower {
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
  const names = [...eachName(sql, application)].flatMap(({ id, name }) => {
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

function* eachName(sql: Sql, application: string): Generator<{ readonly id: number; readonly name: string }> {
  const rows = sql("SELECT id, kind, name FROM series WHERE application = ? AND name <> ''").all(application);
  for (const { id, kind, name } of rows) yield { id: Number(id), name: `${kind}.${name}` };
}
