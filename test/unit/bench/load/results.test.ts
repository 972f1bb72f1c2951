import { expect, it } from 'vitest';
import { difference, figure, ratio, type Sample, valuesOf } from '../../../bench/load/results.ts';

const cpu = (name: string) => figure(name, 'cpuUs');
/** The last rounds: one side is missing, zero, or negative. */
const ROUNDS: readonly Readonly<Record<string, Sample>>[] = [
  { a: { cpuUs: 30 }, b: { cpuUs: 20 } },
  { a: { cpuUs: 300 }, b: { cpuUs: 200 } },
  { a: { cpuUs: 30 } },
  { a: { cpuUs: 30 }, b: { cpuUs: 0 } },
  { a: { cpuUs: 30 }, b: { cpuUs: -4 } },
];

it.each([
  ['ratios within each round, so that a slow one does not show', ratio(cpu('a'), cpu('b')), [1.5, 1.5]],
  ['differences of rounds that have both sides', difference(cpu('a'), cpu('b')), [10, 100, 30, 34]],
])('values over rounds are %s', (_, read, values) => {
  const rounds = ROUNDS.map((round) => new Map(Object.entries(round)));
  expect(valuesOf({ rounds, missing: new Map(), notes: [] }, read)).toEqual(values);
});
