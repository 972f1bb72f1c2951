import { NS_PER_US } from '../base/clock.ts';
import type { Mark } from '../measure/history/marks.ts';
import { percentilesOf } from '../measure/history/minute-record.ts';
import { readMarks, type Sql } from './queries.ts';
import type { SqlRow, SqlValue } from './sqlite.ts';
import { decodeBuckets, ONE, PER_OCTAVE } from './step-row.ts';
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
  readonly totals: Readonly<Record<'sessions' | 'heapUsed' | 'gcPauseMs' | 'seconds', number | null>>;
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
/** More than an hour needs, the longest duration: 28 octaves. */
const MAX_BUCKETS = 30 * PER_OCTAVE;

const TOTALS = `SELECT max(sessions) AS sessions, max(heapUsed) AS heapUsed, sum(gcPauseMs) AS gcPauseMs, sum(seconds) AS
  seconds FROM totals WHERE application = ? AND step = ? AND time >= ? AND time < ?`;
const CALLS = 'SELECT series, count, errors, max, buckets FROM steps WHERE step = ? AND time >= ? AND time < ?';

/** The calls of one series in a period. */
class Calls {
  count = 0;
  errors = 0;
  #maxNs = 0;
  /** By bucket. */
  readonly #counts = new Float64Array(MAX_BUCKETS);

  add({ count, errors, max, buckets }: SqlRow): void {
    this.count += Number(count);
    this.errors += Number(errors);
    this.#maxNs = Math.max(this.#maxNs, Number(max) * NS_PER_US);
    for (const element of decodeBuckets(buckets as Uint8Array)) {
      const bucket = element % ONE;
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + Math.floor(element / ONE);
    }
  }

  read(): Period {
    const { count, errors } = this;
    if (count === 0) return { count, errors, p95: null };
    let [bucket, seen] = [0, this.#counts[0] ?? 0];
    const bucketAtRank = (rank: number) => {
      for (; seen < rank && bucket < MAX_BUCKETS; seen += this.#counts[bucket] ?? 0) bucket += 1;
      return bucket;
    };
    const [p95 = null] = percentilesOf(bucketAtRank, count, this.#maxNs, [950], PER_OCTAVE);
    return { count, errors, p95 };
  }
}

/** Of all applications, in the whole steps that hold `since` to `now`. */
export function summarize(sql: Sql, since: number, now: number): Summary {
  const step = now - since > DAY_S ? HOUR_S : 600;
  const [from, to] = [beginOf(since, step), beginOf(now, step) + step];
  const current = readPeriod(sql, step, from, to);
  const earlier = readPeriod(sql, step, from - (to - from), from);
  const none: Period = { count: 0, errors: 0, p95: null };
  const compare = (id: SqlValue): Compared => ({
    now: current.get(Number(id))?.read() ?? none,
    before: earlier.get(Number(id))?.read() ?? none,
  });
  const applications = sql('SELECT DISTINCT application FROM totals')
    .all()
    .map(({ application }) => {
      const series = sql('SELECT id, kind, name FROM series WHERE application = ?')
        .all(application ?? null)
        .map(({ id = null, kind, name }) => ({ kind: String(kind), name: String(name), ...compare(id) }));
      const ofKind = (kind: string): Compared =>
        series.find((one) => one.kind === kind && one.name === '') ?? { now: none, before: none };
      const slowest = series
        .filter((one) => one.name !== '' && one.now.count >= MIN_CALLS)
        .sort((one, other) => (other.now.p95 ?? 0) - (one.now.p95 ?? 0))
        .slice(0, MAX_NAMES);
      const totals = sql(TOTALS).get(application ?? null, step, from, to) as SummaryOfApplication['totals'];
      return { name: String(application), rpc: ofKind('rpc'), sba: ofKind('sba'), slowest, totals };
    });
  return { from, to: now, applications, marks: readMarks(sql, from, to) };
}

/** By id of the series, in one pass over the rows: to look up each series in each step takes ten times as long. */
function readPeriod(sql: Sql, step: number, from: number, to: number): ReadonlyMap<number, Calls> {
  const bySeries = new Map<number, Calls>();
  for (const row of sql(CALLS).iterate(step, from, to)) {
    const calls = bySeries.get(Number(row.series)) ?? new Calls();
    bySeries.set(Number(row.series), calls);
    calls.add(row);
  }
  return bySeries;
}
