import { expect, it } from 'vitest';
import { isReached } from '../../../bench/load/report.ts';
import { difference, figure, type Read, ratio, type Sample, valuesOf } from '../../../bench/load/results.ts';
import { spreadOf } from '../../../bench/load/statistics.ts';
import { addedP50 } from '../../../bench/load/workloads/columns.ts';

const cpu = (name: string) => figure(name, 'cpuUs');
const rounds = (a: readonly number[], b: readonly (number | undefined)[]): Record<string, Sample>[] =>
  a.map((cpuUs, i) => ({ a: { cpuUs }, ...(b[i] !== undefined && { b: { cpuUs: b[i] } }) }));

it.each<[string, Record<string, Sample>[], Read, readonly number[]]>([
  [
    'are ratios within each round, so that a slow one does not show',
    rounds([30, 300], [20, 200]),
    ratio(cpu('a'), cpu('b')),
    [1.5, 1.5],
  ],
  [
    'omit ratios of rounds in which one side is missing',
    rounds([30, 30], [undefined, 15]),
    ratio(cpu('a'), cpu('b')),
    [2],
  ],
  ['omit differences likewise', rounds([30, 30], [undefined, 15]), difference(cpu('a'), cpu('b')), [15]],
  ['omit ratios to zero or a negative number', rounds([30, 30], [0, -4]), ratio(cpu('a'), cpu('b')), []],
  [
    'include what a peer adds to the upstream itself',
    [{ direct: { p50Us: 100 }, haproxy: { p50Us: 180 } }],
    addedP50('haproxy'),
    [80],
  ],
])('values over rounds %s', (_, samples, read, values) => {
  const result = { rounds: samples.map((round) => new Map(Object.entries(round))), missing: new Map(), notes: [] };
  expect(valuesOf(result, read)).toEqual(values);
});

it.each([
  ['the middle value by number, whatever the order', [30, 9, 100], { median: 30, min: 9, max: 100, count: 3 }],
  ['the mean of the middle two of an even count', [10, 1, 2, 4], { median: 3, min: 1, max: 10, count: 4 }],
  ['undefined without values', [], undefined],
])('the median over rounds is %s', (_, values, spread) => {
  expect(spreadOf(values)).toEqual(spread);
});

it.each([
  ['at most', 0.5, true],
  ['at least', 0.5, true],
  ['at most', 0.49, false],
  ['at least', 0.51, false],
] as const)('a median of 0.5 reaches the target "%s %d": %s', (bound, limit, isMet) => {
  expect(isReached(bound, limit, { median: 0.5, min: 0, max: 1, count: 3 })).toBe(isMet);
});
