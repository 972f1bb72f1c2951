/** What is read of the history on disk. Times are in seconds since 1970. */
import { MS_PER_S } from '../base/clock.ts';
import { LASTING, type Mark, type MarkKind } from '../measure/history/marks.ts';
import type { SqlRow, Statement } from './sqlite.ts';

export type Sql = (text: string) => Statement;

const COLUMNS = ['time', 'count', 'errors', 'p50', 'p95', 'p99', 'max'] as const;

export type HistoryRows = NonNullable<ReturnType<typeof readRows>>;

/** Seconds. */
export interface HistoryRange {
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly minStep?: number;
}

const IN_RANGE = 't.application = ? AND t.step = ? AND t.time >= ? AND t.time < ? ORDER BY t.time';
const CALLS = `SELECT t.time, coalesce(s.count, 0) AS count, coalesce(s.errors, 0) AS errors, p50 / 1e6 AS p50,
  p95 / 1e6 AS p95, p99 / 1e6 AS p99, max / 1e6 AS max
  FROM totals t LEFT JOIN steps s ON s.step = t.step AND s.time = t.time AND s.series = ? WHERE ${IN_RANGE}`;

/** Totals that are no calls, by their name in the metrics. */
const OF_TOTALS: ReadonlyMap<string, string> = new Map([
  ['object.newValues', 'received'],
  ['sessions.active', 'sessions'],
  ['sessions.created', 'created'],
]);

/**
 * `name`: as in the metrics. The length of the steps, in seconds, follows from the age of `from`, and is `minStep` at
 * least. `values`: one row after the other; durations in seconds, NaN where there is none.
 */
export function readRows(sql: Sql, application: string, name: string, { from, to, now, minStep = 0 }: HistoryRange) {
  const step = Math.max(chooseStep(now - from), minStep);
  const range = [application, step, from, to] as const;
  const ofTotals = OF_TOTALS.get(name);
  if (ofTotals !== undefined) {
    const found = sql(`SELECT time, coalesce(${ofTotals}, 0) AS count, 0 AS errors FROM totals t WHERE ${IN_RANGE}`);
    return { step, columns: COLUMNS, values: collect(found.iterate(...range)) };
  }
  const [, kind = '', ofKind = ''] = /^(rpc|sba)(?:\.(.+))?$/s.exec(name) ?? [];
  const series =
    sql('SELECT id FROM series WHERE application = ? AND kind = ? AND name = ?').get(application, kind, ofKind)?.id ??
    (ofKind === '' && kind !== '' ? 0 : undefined);
  if (series === undefined) return undefined;
  return { step, columns: COLUMNS, values: collect(sql(CALLS).iterate(series, ...range)) };
}

function collect(rows: Iterable<SqlRow>): Float64Array {
  const values: number[] = [];
  for (const row of rows) for (const column of COLUMNS) values.push(Number(row[column] ?? Number.NaN));
  return Float64Array.from(values);
}

/** Marks without an end that last. */
export const IS_LASTING = `until IS NULL AND kind IN (${LASTING.map((kind) => `'${kind}'`).join()})`;

const MARKS = `SELECT * FROM marks WHERE time < ? AND (coalesce(until, time) >= ? OR ${IS_LASTING}) ORDER BY time`;

export function readMarks(sql: Sql, from: number, to: number): readonly Mark[] {
  return sql(MARKS)
    .all(to, from)
    .map(({ time, until, kind, text }) => ({
      epochMs: Number(time) * MS_PER_S,
      kind: kind as MarkKind,
      text: String(text),
      ...(until === null ? {} : { endEpochMs: Number(until) * MS_PER_S }),
    }));
}

export const HOUR_S = 3_600;
export const DAY_S = 24 * HOUR_S;

/** The lengths of steps on disk, and for how long each is shown; hours for as long as `history.keep` says. */
export const STEPS = [
  { step: 60, shownS: 2 * DAY_S },
  { step: 600, shownS: 14 * DAY_S },
  { step: HOUR_S, shownS: Number.POSITIVE_INFINITY },
] as const;

/** The length of the shortest steps that go back that far, in seconds. */
export function chooseStep(ageS: number): number {
  return STEPS.find(({ shownS }) => ageS <= shownS)?.step ?? HOUR_S;
}

export function beginOf(time: number, step: number): number {
  return Math.floor(time / step) * step;
}
