import type { Mark } from '../measure/history/marks.ts';
import { type Compared, MIN_CALLS, NO_PERIOD, readPeriod } from './period.ts';
import { readMarks, type Sql } from './queries.ts';
import type { SqlValue } from './sqlite.ts';
import { beginOf, DAY_S, HOUR_S } from './steps.ts';

/** Times in seconds since 1970, durations in seconds, sizes in bytes. */
export interface Summary {
  readonly from: number;
  readonly to: number;
  readonly applications: readonly SummaryOfApplication[];
  readonly marks: readonly Mark[];
  /** Of this month; the running sidecar adds them. */
  readonly targets?: readonly TargetOfMonth[];
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
