/**
 * Reads and writes the history on disk, in the worker. Each minute is added to its row of a minute, of ten minutes and
 * of an hour at once, so no step is ever unfinished, and a clock that was set back adds to rows that are there. Sums
 * are exact; percentiles are of all calls of a step.
 */
import { deserialize, serialize } from 'node:v8';
import { MS_PER_S } from '../base/clock.ts';
import type { EndedMinute } from '../measure/history/application-history.ts';
import type { Earlier } from '../measure/history/history.ts';
import type { Mark } from '../measure/history/marks.ts';
import { decode } from '../measure/history/minute-record.ts';
import type { MinuteReading } from '../metrics/call-counts.ts';
import { compareNames, findSlower, summarize } from './compare.ts';
import { beginOf, DAY_S, HOUR_S, IS_LASTING, readMarks, readRows, type Sql, STEPS } from './queries.ts';
import type { Database, Statement } from './sqlite.ts';
import {
  addUp,
  coarsen,
  decodeStep,
  encodeStep,
  merge,
  NO_CALLS,
  STEP_COLUMNS,
  TOTALS,
  type TotalKey,
} from './step-row.ts';

/** Deleted with each minute, of each length: more than come in, and few enough to end soon if the clock is wrong. */
const DELETED_STEPS = 3;
/** The same while the file is too large: some megabytes. */
const EVICTED_STEPS = 40;
const FREED_PAGES = 500;
/** Room for what SQLite keeps beside the file. */
const LOG_BYTES = 6 * 1024 * 1024;
const MAX_MARKS = 20_000;

const TOTAL_KEYS = Object.keys(TOTALS) as TotalKey[];
const joinTotals = (key: TotalKey) =>
  TOTALS[key] === 'sum' ? `${key} + excluded.${key}` : `max(${key}, excluded.${key})`;
const ADD_TOTALS = `INSERT INTO totals VALUES (?, ?, ?, ${TOTAL_KEYS.map(() => '?').join(', ')}) ON CONFLICT DO UPDATE SET
  ${TOTAL_KEYS.map((key) => `${key} = coalesce(${joinTotals(key)}, ${key}, excluded.${key})`).join(', ')}`;
const PUT_STEP = `REPLACE INTO steps VALUES (?, ?, ?, ${STEP_COLUMNS.map(() => '?').join(', ')})`;
const GET_STEP = 'SELECT * FROM steps WHERE step = ? AND time = ? AND series = ?';
/** `lastTime` tells which names are in no step any more. */
const PUT_SERIES = `INSERT INTO series (application, kind, name, lastTime) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET lastTime = max(lastTime, excluded.lastTime) RETURNING id`;
const PUT_MARK = 'INSERT INTO marks VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET until = excluded.until';
const DELETE_OLD_NAMES = 'DELETE FROM series WHERE lastTime < (SELECT min(time) FROM totals WHERE step = 3600)';
const DELETE_SURPLUS_MARKS =
  'DELETE FROM marks WHERE time < (SELECT time FROM marks ORDER BY time DESC LIMIT 1 OFFSET ?)';
/** Of a process that was killed: they ended before now, with its last minute, or soon if it wrote none. */
const END_MARKS = `UPDATE marks SET until =
  max(time, min(?, coalesce((SELECT max(time) FROM totals WHERE step = 60), time) + 60)) WHERE ${IS_LASTING}`;

export interface StoreLimits {
  readonly keepS: number;
  readonly maxBytes: number;
}

export class Store {
  readonly #database: Database;
  readonly #limits: StoreLimits;
  readonly #statements = new Map<string, Statement>();
  readonly #series = new Map<string, number>();

  constructor(database: Database, limits: StoreLimits) {
    this.#database = database;
    this.#limits = limits;
  }

  /** All or nothing. Returns the size of the file in bytes. Throws the errors of SQLite. */
  write(minutes: readonly EndedMinute[], marks: readonly Mark[]): number {
    this.#inTransaction(() => {
      for (const minute of minutes) this.#add(minute);
      for (const { epochMs, kind, text, endEpochMs } of marks) {
        const until = endEpochMs === undefined ? null : endEpochMs / MS_PER_S;
        this.#sql(PUT_MARK).run(epochMs / MS_PER_S, until, kind, text);
      }
      if (minutes.length > 0) this.#deleteOld(Math.max(...minutes.map(({ time }) => time)));
    });
    return this.#pragma('page_count') * this.#pragma('page_size');
  }

  /** The hour before `nowS`. Ends marks that an earlier process left open. */
  begin(nowS: number): Earlier {
    this.#sql(END_MARKS).run(nowS);
    const rows = this.#sql('SELECT minute FROM lastHour WHERE time >= ? AND time < ? ORDER BY time').all(
      nowS - HOUR_S,
      nowS,
    );
    const minutes = rows.map(({ minute }) => deserialize(minute as Uint8Array) as EndedMinute);
    return { minutes, marks: readMarks(this.#sql, nowS - HOUR_S, nowS) };
  }

  // Times are in seconds since 1970.
  readonly read = (...query: Tail<typeof readRows>) => readRows(this.#sql, ...query);
  readonly marks = (...range: Tail<typeof readMarks>) => readMarks(this.#sql, ...range);
  readonly compare = (...query: Tail<typeof compareNames>) => compareNames(this.#sql, ...query);
  readonly findSlower = (...query: Tail<typeof findSlower>) => findSlower(this.#sql, ...query);
  readonly summarize = (...range: Tail<typeof summarize>) => summarize(this.#sql, ...range);

  /** Into an empty file. */
  backUp(file: string): void {
    this.#sql('VACUUM INTO ?').run(file);
  }

  #add(minute: EndedMinute): void {
    const { application, time, kinds } = minute;
    for (const kind of ['rpc', 'sba'] as const) {
      let all = NO_CALLS;
      const { names, ends, cells } = kinds[kind];
      for (const [at, name] of names.entries()) {
        const reading = coarsen(decode(cells.subarray(ends[at - 1] ?? 0, ends[at])));
        all = merge(all, reading);
        // Calls without a name are in the total only, whose name is empty.
        if (name !== '') this.#addCalls(this.#seriesOf(application, kind, name, time), time, reading);
      }
      if (all !== NO_CALLS) this.#addCalls(this.#seriesOf(application, kind, '', time), time, all);
    }
    const sql = this.#sql(ADD_TOTALS);
    for (const { step } of STEPS) sql.run(application, step, beginOf(time, step), ...addUp(minute));
    this.#sql('INSERT INTO lastHour VALUES (?, ?, ?)').run(time, application, serialize(minute));
    this.#sql('DELETE FROM lastHour WHERE time < ? OR time > ?').run(time - HOUR_S, time);
  }

  #addCalls(series: number, time: number, reading: MinuteReading): void {
    for (const { step } of STEPS) {
      const key = [step, beginOf(time, step), series];
      const there = this.#sql(GET_STEP).get(...key);
      const whole = there === undefined ? reading : merge(decodeStep(there), reading);
      this.#sql(PUT_STEP).run(...key, ...encodeStep(whole));
    }
  }

  #seriesOf(application: string, kind: string, name: string, time: number): number {
    const key = JSON.stringify([application, kind, name]);
    const known = this.#series.get(key);
    if (known !== undefined) return known;
    const id = Number(this.#sql(PUT_SERIES).get(application, kind, name, beginOf(time, HOUR_S))?.id);
    this.#series.set(key, id);
    return id;
  }

  #deleteOld(now: number): void {
    const { keepS } = this.#limits;
    for (const { step, shownS } of STEPS) this.#delete(step, DELETED_STEPS, now - Math.min(shownS, keepS) - HOUR_S);
    this.#sql('DELETE FROM marks WHERE time < ?').run(now - keepS);
    this.#sql(DELETE_SURPLUS_MARKS).run(MAX_MARKS);
    const used = (this.#pragma('page_count') - this.#pragma('freelist_count')) * this.#pragma('page_size');
    if (used > this.#limits.maxBytes - LOG_BYTES) {
      // The oldest steps, whatever their length, while the file is too large.
      const oldest = this.#sql('SELECT step FROM totals ORDER BY time, step DESC LIMIT 1').get();
      if (oldest !== undefined) this.#delete(Number(oldest.step), EVICTED_STEPS, Number.POSITIVE_INFINITY);
    }
    if (this.#pragma('freelist_count') > FREED_PAGES) this.#database.exec(`PRAGMA incremental_vacuum(${FREED_PAGES})`);
    if (now % DAY_S === 0) this.#sql(DELETE_OLD_NAMES).run();
    // So that the next minute writes `lastTime`.
    if (now % HOUR_S === 0) this.#series.clear();
  }

  #delete(step: number, steps: number, before: number): void {
    const first = this.#sql('SELECT min(time) AS time FROM totals WHERE step = ?').get(step)?.time;
    if (typeof first !== 'number') return;
    const end = Math.min(before, first + steps * step);
    this.#sql('DELETE FROM steps WHERE step = ? AND time < ?').run(step, end);
    this.#sql('DELETE FROM totals WHERE step = ? AND time < ?').run(step, end);
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#sql(`PRAGMA ${name}`).get() ?? {})[0]);
  }

  /** Prepares each statement once. */
  readonly #sql: Sql = (text) => {
    const statement = this.#statements.get(text) ?? this.#database.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  };

  #inTransaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      work();
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#series.clear();
      try {
        this.#database.exec('ROLLBACK');
      } catch {
        // SQLite has already rolled back.
      }
      throw error;
    }
  }
}

type Tail<Read> = Read extends (sql: Sql, ...rest: infer Rest) => unknown ? Rest : never;
