import { expect, it } from 'vitest';
import { RowReader, RowWriter } from '../../../src/state/rows.ts';
import type { Fields } from '../../../src/state/saved-record.ts';

function linesOf(records: readonly Fields[]): unknown[] {
  const rows = new RowWriter();
  const text = records.map((record) => rows.toLines(record)).join('');
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
}

function readBack(lines: readonly unknown[]): unknown[] {
  const rows = new RowReader();
  return lines.map((line) => rows.toRecord(line)).filter((record) => record !== undefined);
}

it('records in rows name the same fields once, and say where an object begins and a list of records is', () => {
  const timer = { rates: { m1: 0.5 }, count: 3 };
  expect(linesOf(['rpc', 'sba'].map((record, late) => ({ record, timer, late })))).toEqual([
    { fields: ['record', 'timer.rates.m1', 'timer.count', 'late'] },
    [0, 'rpc', 0.5, 3, 0],
    [0, 'sba', 0.5, 3, 1],
  ]);
  expect(linesOf([{ clients: [{ token: 'a' }, { token: 'b' }] }])).toEqual([
    { fields: ['token'] },
    { fields: ['clients[]'] },
    [
      1,
      [
        [0, 'a'],
        [0, 'b'],
      ],
    ],
  ]);
});

it.each<Fields>([
  { a: { b: 1 }, c: 2 },
  { a: { b: 1, c: 2 } },
  { a: { b: { c: 1 } }, d: { b: { c: 2 } }, b: 3 },
  { list: [1, 2], empty: [], lists: [[1], [2]], rows: [{ a: 1 }, { b: { c: [{ d: 2 }] } }] },
  { text: 'a.b[]', none: null, flag: false },
])('records in rows read back as they were written: %j', (record) => {
  // After others with the same names, but elsewhere.
  const others = [{ a: 1, b: 2 }, { b: { a: { c: 1 } } }, { a: { b: 1 } }, { list: [{ a: 1 }] }];
  expect(readBack(linesOf([...others, record]))).toEqual([...others, record]);
});

it.each<readonly [string, unknown[]]>([
  ['no row', [{ record: 'rpc' }]],
  ['fields that are no texts', [{ fields: [1] }]],
  ['a row of unknown fields', [[0, 1]]],
  ['a row with a value too many', [{ fields: ['a'] }, [0, 1, 2]]],
  ['a list of no rows', [{ fields: ['a[]'] }, [0, 'secret']]],
  ['a row with no number', [{ fields: ['a'] }, ['length', 1]]],
])('records in rows are refused without their content: %s', (_, lines) => {
  expect(() => readBack(lines)).toThrow(/^expected [a-z ]+ in "(record|fields|a)"$/);
});

it('records in rows change no object of this process, whatever their fields are called', () => {
  readBack([{ fields: ['constructor.prototype.taken', '__proto__.taken'] }, [0, 1, 2]]);
  expect(({} as Record<string, unknown>).taken).toBeUndefined();
});
