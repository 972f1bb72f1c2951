import { expect, it } from 'vitest';
import { difference, figure, type Read, ratio, type Sample, valuesOf } from '../../../bench/load/results.ts';
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
