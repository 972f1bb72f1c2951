/** The history on disk, without the thread: what is written is what is read, whatever the clock does. */
import { copyFileSync, existsSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { openArchiveFile } from '../../../src/archive/archive-file.ts';
import { type Database, isDamage, openDatabase } from '../../../src/archive/sqlite.ts';
import { Store } from '../../../src/archive/store.ts';
import { type Called, createMinute, NO_SQLITE } from '../../support/archive/minutes.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { Random } from '../../support/fuzz/random.ts';

const DAY_S = 86_400;
const START = Date.UTC(2026, 2, 1) / 1_000;
const folder = temporaryFolder(deferTo(afterAll));
let files = 0;

function created({ keepS = 90 * DAY_S, maxBytes = 1e9 } = {}) {
  files += 1;
  const file = path.join(folder, `history${files}.db`);
  const { database } = openArchiveFile(file);
  onTestFinished(() => database.close());
  return { file, database, store: new Store(database, { keepS, maxBytes }) };
}

const COLUMNS = ['time', 'count', 'errors', 'p50', 'p95', 'p99', 'max'] as const;
type Row = Readonly<Record<(typeof COLUMNS)[number], number>>;

/** Rows by column, e.g. `{ time, count, ... }`. */
function rowsOf(store: Store, name: string, from: number, to: number, now = to) {
  const { step, values } = store.read('smartWeb', name, { from, to, now }) ?? { step: 0, values: [] };
  const rowAt = (at: number) => Object.fromEntries(COLUMNS.map((column, i) => [column, values[7 * at + i] ?? 0]));
  return { step, rows: Array.from({ length: values.length / 7 }, (_, at) => rowAt(at) as Row) };
}

const sumOf = (rows: readonly { readonly count: number; readonly errors: number }[]) =>
  [rows.reduce((sum, { count }) => sum + count, 0), rows.reduce((sum, { errors }) => sum + errors, 0)] as const;

const count = (database: Database, table: string, where = '1') =>
  Number(database.prepare(`SELECT count(*) AS n FROM ${table} WHERE ${where}`).get()?.n);

describe.skipIf(NO_SQLITE)('the history on disk', () => {
  it('has exact sums in steps of each length, and percentiles of all calls within 1 %', () => {
    const { store } = created();
    const random = new Random(44);
    const all = new Map<string, number[]>();
    const errors = new Map<string, number>();
    const minutes = 150;
    for (let minute = 0; minute < minutes; minute += 1) {
      const calls: Called[] = ['E.A', 'E.B', 'E.C', ''].map((name) => {
        const ns = Array.from({ length: random.below(20) }, () => Math.exp(7 + random.below(1_000) / 70) * 1_000);
        return { name, ns, errors: random.below(3) };
      });
      for (const { name, ns, errors: failed = 0 } of calls) {
        for (const key of name === '' ? ['rpc'] : ['rpc', `rpc.${name}`]) {
          all.set(key, [...(all.get(key) ?? []), ...ns]);
          errors.set(key, (errors.get(key) ?? 0) + failed);
        }
      }
      store.write([createMinute(START + 60 * minute, calls)], []);
    }
    const end = START + 3 * 3_600;
    for (const [name, durations] of all) {
      for (const [now, step] of [
        [end, 60],
        [end + 5 * DAY_S, 600],
        [end + 20 * DAY_S, 3_600],
      ] as const) {
        const found = rowsOf(store, name, START, end, now);
        expect([found.step, ...sumOf(found.rows)]).toEqual([step, durations.length, errors.get(name)]);
        expect(found.rows).toHaveLength(Math.ceil((minutes * 60) / step));
      }
    }
    let at = 0;
    for (const hour of rowsOf(store, 'rpc', START, end, end + 20 * DAY_S).rows) {
      const sorted = (all.get('rpc') ?? []).slice(at, at + hour.count).sort((a, b) => a - b);
      at += hour.count;
      for (const [column, permille] of Object.entries({ p50: 500, p95: 950, p99: 990, max: 1_000 })) {
        const wanted = (sorted[Math.ceil((permille * hour.count) / 1_000) - 1] ?? 0) / 1e9;
        expect(Math.abs(hour[column as keyof Row] / wanted - 1)).toBeLessThan(0.01);
      }
    }
    expect(rowsOf(store, 'object.newValues', START, end).rows[0]).toMatchObject({ count: 7, max: Number.NaN });
    expect(rowsOf(store, 'sessions.active', START, end).rows[0]).toMatchObject({ count: 3, p95: Number.NaN });
    expect(rowsOf(store, 'sessions.created', START, end, end + 20 * DAY_S).rows[0]).toMatchObject({ count: 60 });
    expect(store.read('smartWeb', 'rpc.E.None', { from: START, to: end, now: end })).toBeUndefined();
  });

  it('adds to what is there when the clock goes back, and deletes little when it goes forward', () => {
    const { store, database } = created();
    const write = (time: number) => store.write([createMinute(time, [{ name: 'E.A', ns: [1e6] }])], []);
    for (let minute = 0; minute < 180; minute += 1) write(START + 60 * minute);
    for (let minute = 120; minute < 180; minute += 1) write(START + 60 * minute);
    expect(sumOf(rowsOf(store, 'rpc.E.A', START, START + DAY_S).rows)).toEqual([240, 0]);
    for (let minute = 0; minute < 5; minute += 1) write(START + 100 * DAY_S + 60 * minute);
    expect(count(database, 'totals', `step = 60 AND time < ${START + DAY_S}`)).toBe(180 - 5 * 3);
  });

  it('keeps minutes for two days, ten minutes for two weeks, and hours and marks as long as configured', () => {
    const { store, database } = created({ keepS: 20 * DAY_S });
    for (let hour = 0; hour < 30 * 24; hour += 1) {
      const mark = { epochMs: (START + 3_600 * hour) * 1_000, kind: 'note', text: `${hour}` } as const;
      store.write([createMinute(START + 3_600 * hour, [{ name: hour < 24 ? 'E.Old' : 'E.A', ns: [1e6] }])], [mark]);
    }
    const counted = [60, 600, 3_600].map((step) => count(database, 'totals', `step = ${step}`));
    expect(counted).toEqual([49, 14 * 24 + 1, 20 * 24 + 1].map((hours) => hours + 1));
    expect(count(database, 'marks')).toBe(20 * 24 + 1);
    expect(database.prepare('SELECT name FROM series ORDER BY name').all()).toEqual([{ name: '' }, { name: 'E.A' }]);
  });

  it('lets the oldest go when the file is too large, and gives the room back', () => {
    const maxBytes = 10_000_000;
    const { store, database, file } = created({ maxBytes });
    const ns = Array.from({ length: 60 }, (_, at) => 1e6 * 1.13 ** at);
    const calls = Array.from({ length: 100 }, (_, at) => ({ name: `E.Name${at}`, ns }));
    let bytes = 0;
    for (let hour = 0; hour < 150; hour += 1) bytes = store.write([createMinute(START + 3_600 * hour, calls)], []);
    expect(bytes).toBeLessThan(maxBytes);
    expect(bytes).toBeGreaterThan(maxBytes / 4);
    const oldest = Number(database.prepare('SELECT min(time) AS time FROM totals').get()?.time);
    expect(oldest).toBeGreaterThan(START);
    expect(count(database, 'steps', `time < ${oldest}`)).toBe(0);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(readFileSync(file).length).toBe(bytes);
  });

  it('has marks with their ends, and ends those that a killed process left open with its last minute', () => {
    const { store } = created();
    const open = { epochMs: (START + 10) * 1_000, kind: 'upstreamLost', text: 'lost' } as const;
    store.write([createMinute(START, [])], [open, { ...open, text: 'short' }]);
    store.write([], [{ ...open, text: 'short', endEpochMs: (START + 20) * 1_000 }]);
    expect(store.marks(START, START + 60).map(({ endEpochMs }) => endEpochMs)).toEqual([
      undefined,
      (START + 20) * 1_000,
    ]);
    const { marks, minutes } = store.begin(START + 600);
    expect(marks.map(({ endEpochMs = 0 }) => endEpochMs / 1_000 - START)).toEqual([60, 20]);
    expect(minutes).toEqual([createMinute(START, [])]);
    expect(store.begin(START + 7_200)).toEqual({ marks: [], minutes: [] });
  });

  it('summarizes a time against the one before', () => {
    const { store } = created();
    for (let hour = 0; hour < 14 * 24; hour += 1) {
      const ms = hour < 7 * 24 ? 10 : 30;
      const calls = [
        { name: 'E.Slower', ns: [ms * 1e6, ms * 1e6] },
        { name: 'E.Same', ns: [5e6], errors: hour % 2 },
      ];
      store.write([createMinute(START + 3_600 * hour, calls, { sessions: hour % 10 })], []);
    }
    const now = START + 14 * DAY_S - 1;
    const { applications } = store.summarize(now - 7 * DAY_S + 1, now);
    const p95 = (ms: number) => expect.closeTo(ms / 1_000, 4);
    const period = (count: number, errors: number, ms: number) => ({ count, errors, p95: p95(ms) });
    expect(applications).toMatchObject([
      {
        ...{ name: 'smartWeb', rpc: { now: period(504, 84, 30), before: period(504, 84, 10) } },
        slowest: [
          { name: 'E.Slower', now: period(336, 0, 30), before: period(336, 0, 10) },
          { name: 'E.Same', now: period(168, 84, 5), before: period(168, 84, 5) },
        ],
        totals: { sessions: 9, heapUsed: 1e9, gcPauseMs: 336, seconds: 168 * 60 },
      },
    ]);
  });

  it('names what became slower since a moment, worst first, and compares two periods', () => {
    const { store } = created();
    const names = Array.from({ length: 200 }, (_, at) => `E.Call${at}`);
    const noon = START + 8 * DAY_S + 43_200;
    // Each morning the batch of E.Call9 is slow, and E.Call8 is slow at any time.
    const usualMs = (name: string, time: number) =>
      name === 'E.Call8' ? 900 : name === 'E.Call9' && (time / DAY_S) % 1 >= 0.5 ? 400 : 20;
    const planted: Readonly<Record<string, number>> = { 'E.Call3': 80, 'E.Call5': 26, 'E.Call7': 200 };
    const minute = (time: number) =>
      createMinute(
        time,
        names.map((name) => {
          const ms = (time >= noon ? planted[name] : undefined) ?? usualMs(name, time);
          return { name, ns: Array.from({ length: 3 }, (_, at) => ms * (1 + at / 100) * 1e6) };
        }),
      );
    for (const day of [5, 6, 7])
      for (let at = 0; at < 60; at += 1) store.write([minute(noon - (8 - day) * DAY_S + at * 60)], []);
    for (let at = -60; at < 60; at += 1) store.write([minute(noon + at * 60)], []);
    const found = store.findSlower('smartWeb', noon - 30, noon + 3_590);
    expect(found.names.map(({ name }) => name)).toEqual(['rpc.E.Call7', 'rpc.E.Call3', 'rpc.E.Call5']);
    expect(found).toMatchObject({ from: noon, to: noon + 3_600, periods: 4 });
    expect(found.names[0]?.factor).toBeCloseTo(10, 0);
    expect(found.names[0]).toMatchObject({ now: { count: 180 }, before: { count: 180 } });
    // Too early: no whole step, or too few calls.
    expect(store.findSlower('smartWeb', noon + 3_600, noon + 3_600)).toMatchObject({ names: [] });

    const range = { from: noon, to: noon + 3_600, than: noon - DAY_S, now: noon + 3_600 };
    const { names: changes } = store.compare('smartWeb', range);
    expect(changes).toHaveLength(200);
    const seven = changes.find(({ name }) => name === 'rpc.E.Call7');
    expect([seven?.now.count, seven?.before.count]).toEqual([180, 180]);
    expect([seven?.now.p50, seven?.before.p50].map((seconds) => Math.round((seconds ?? 0) * 100))).toEqual([20, 2]);
    expect(store.compare('other', range).names).toEqual([]);
  });
});

describe.skipIf(NO_SQLITE)('a file', () => {
  function written() {
    const { store, database, file } = created();
    const names = Array.from({ length: 200 }, (_, at) => ({ name: `E.Name${at}`, ns: [1e6] }));
    for (let minute = 0; minute < 5; minute += 1) store.write([createMinute(START + 60 * minute, names)], []);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const copy = `${file}.copy`;
    copyFileSync(file, copy);
    return copy;
  }

  it.each<[string, (file: string) => void, string | undefined]>([
    ['that is whole is opened', () => undefined, undefined],
    ['without its last page is set aside', (file) => truncateSync(file, statSync(file).size - 8_192), 'damaged'],
    ['that is no database is set aside', (file) => writeFileSync(file, 'x'.repeat(9_000)), 'damaged'],
    ['of a newer version is set aside', (file) => execute(file, 'PRAGMA user_version = 99'), 'newer'],
  ])('%s', (_, change, reason) => {
    const file = written();
    change(file);
    for (const name of reason === undefined ? [undefined] : [`${file}.${reason}`, `${file}.${reason}-2`]) {
      const before = readFileSync(file);
      const { database, refused } = openArchiveFile(file);
      expect(refused?.file).toBe(name);
      expect(count(database, 'totals')).toBe(name === undefined ? 7 : 0);
      database.close();
      if (name !== undefined) expect(readFileSync(name).equals(before)).toBe(true);
      if (name !== undefined) writeFileSync(file, before);
    }
  });

  it('of another program stays as it is', () => {
    const file = path.join(folder, 'other.db');
    execute(file, 'CREATE TABLE theirs (x)');
    const before = readFileSync(file);
    expect(() => openArchiveFile(file)).toThrow('a database of another program');
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(existsSync(`${file}.damaged`)).toBe(false);
  });

  it('with a damaged page is noticed when the page is read', () => {
    const file = written();
    const bytes = readFileSync(file);
    bytes.fill(0xaa, 4 * 8_192);
    writeFileSync(file, bytes);
    const { database } = openArchiveFile(file);
    onTestFinished(() => database.close());
    const store = new Store(database, { keepS: DAY_S, maxBytes: 1e9 });
    const write = () => store.write([createMinute(START, [{ name: 'E.Name1', ns: [1] }])], []);
    expect(write).toThrow(expect.toSatisfy((error: unknown) => isDamage(error)));
  });
});

function execute(file: string, sql: string): void {
  const database = openDatabase(file);
  database.exec(sql);
  database.close();
}
