import { expect, it } from 'vitest';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatPercent,
  formatRate,
  formatSpan,
} from '../../../src/base/figures.ts';
import { formatTime } from '../../../src/page/format.ts';
import { rowsOfSession, secondsOf } from '../../../src/page/item-facts.ts';
import type { SessionRow } from '../../../src/page/live-data.ts';
import { SESSION_COLUMNS } from '../../../src/page/table-columns.ts';
import { type Column, formatCsv, sortRows } from '../../../src/page/table-model.ts';

type Row = readonly [name: string, value: number | null];

const column = (at: 0 | 1): Column<Row> => ({
  ...{ key: String(at), label: '', def: 'call.name', isNumber: at === 1, widthPx: 80 },
  ...{ value: (row) => row[at], text: (row) => String(row[at]) },
});
const ROWS: readonly Row[] = Object.entries({ Epsilon: null, beta: 2, Alpha: null, gamma: 10, delta: 2 });
const namesBy = (at: 0 | 1, isDescending: boolean) =>
  sortRows(ROWS, [column(0), column(1)], { key: String(at), isDescending }).map(([name]) => name);

it('rows are sorted numerically, with missing values last in either order, and ties in their old order; by names regardless of case', () => {
  expect(namesBy(1, true)).toEqual(['gamma', 'beta', 'delta', 'Epsilon', 'Alpha']);
  expect(namesBy(1, false)).toEqual(['beta', 'delta', 'gamma', 'Epsilon', 'Alpha']);
  expect(namesBy(0, false)).toEqual(['Alpha', 'beta', 'delta', 'Epsilon', 'gamma']);
});

it('numbers are written for people, times with the date only on another day', () => {
  const rates = ['0', '<0.01', '0.25', '10.0', '12.3', '1,240', '1,000,000'];
  expect([12, 999, 1_000, 12_345, 1_234_567].map(formatCount)).toEqual(['12', '999', '1,000', '12,345', '1,234,567']);
  expect([0, 0.001, 0.25, 9.999, 12.34, 1_240, 999_999.5].map(formatRate)).toEqual(rates);
  const durations = ['–', '0', '412 µs', '12.3 ms', '1.23 s', '2 min 3 s'];
  expect([null, 0, 412e-6, 0.0123, 1.2345, 123].map(formatDuration)).toEqual(durations);
  expect([45, 60, 3_900, 93_600].map(formatSpan)).toEqual(['45 s', '1 min', '1 h 5 min', '1 d 2 h']);
  expect([null, 512, 1_048_576, 432_013_312].map(formatBytes)).toEqual(['–', '512 B', '1.00 MiB', '412 MiB']);
  expect([0, 0.0004, 0.004, 0.12].map(formatPercent)).toEqual(['0 %', '<0.1 %', '0.4 %', '12 %']);
  const noon = new Date(2026, 2, 1, 2, 14, 7).getTime();
  expect(formatTime(noon, noon + 3_600_000)).toBe('02:14:07');
  expect(formatTime(noon, noon + 86_400_000)).toBe('2026-03-01 02:14:07');
});

it('the details of a call have durations in seconds, and none for an empty window; those of a session its calls and objects', () => {
  expect(secondsOf({ p50: 12, max: 20, duration_units: 'milliseconds' }, 'p50')).toBe(0.012);
  expect(secondsOf({ p50: 12, max: 20, duration_units: 'seconds' }, 'p50')).toBe(12);
  expect(secondsOf({ p50: 0, max: 0, duration_units: 'seconds' }, 'p50')).toBeNull();
  const { calls, objects } = rowsOfSession({
    counters: { 'object.subscriptions': { count: 1 }, 'object.H.A.subscriptions': { count: 1 } },
    meters: {
      'object.newValues': { count: 5 },
      'object.H.B.newValues': { count: 5 },
      'rpc.E.Y.errors': { count: 2 },
    },
    timers: { rpc: { count: 4 }, 'rpc.E.X': { count: 1 }, 'rpc.E.Y': { count: 3 }, 'sba.E.Z': { count: 2 } },
  });
  const shown = calls.map(({ name, kind, errors }) => `${name} ${kind} ${errors}`);
  expect(shown).toEqual(['E.X RPC 0', 'E.Y RPC 2', 'E.Z SBA 0']);
  expect(objects).toEqual([
    { name: 'H.A', subscriptions: 1, values: 0 },
    { name: 'H.B', subscriptions: 0, values: 5 },
  ]);
});

const TIME = '2026-03-01T08:00:00.000Z';
const row = (userName: string | null, verified = true): SessionRow => ({
  ...{ id: 'id', userName, connectionType: 'REST', createTime: TIME, lastActivityTime: TIME },
  ...{ remoteAddress: '10.0.0.7', requests: 1, errors: 0, verified },
});

it('the user of a session is marked as unverified without proof of the name, and sorted by name', () => {
  const user = SESSION_COLUMNS.find(({ key }) => key === 'userName');
  const shown = [row('anna'), row('anna', false), row(null), row(null, false)].map((each) => user?.text(each, 0));
  expect(shown).toEqual(['anna', 'anna (unverified)', '(unknown)', '(unknown) (unverified)']);
  expect(user?.value(row('anna', false))).toBe('anna');
});

it('a table is exported with all columns, and without formulas that a client chose', () => {
  const csv = formatCsv(SESSION_COLUMNS, [row('anna, "A"'), row('=HYPERLINK(1)', false)]);
  expect(csv.split('\r\n')).toEqual([
    'User,Connection,Address,Since,Last activity,Requests,Errors',
    `"anna, ""A""",REST,10.0.0.7,${TIME},${TIME},1,0`,
    `'=HYPERLINK(1),REST,10.0.0.7,${TIME},${TIME},1,0`,
    '',
  ]);
});
