import { describe, expect, it } from 'vitest';
import { difference, figure, type Result, ratio, type Sample, valuesOf } from '../../../bench/load/results.ts';
import { addedP50 } from '../../../bench/load/workloads/columns.ts';

function resultOf(...rounds: Readonly<Record<string, Sample>>[]): Result {
  return { rounds: rounds.map((samples) => new Map(Object.entries(samples))), missing: new Map(), notes: [] };
}

describe('values over rounds', () => {
  const cpu = (name: string) => figure(name, 'cpuUs');

  it('are ratios within each round, so that a slow round does not show', () => {
    const result = resultOf({ a: { cpuUs: 30 }, b: { cpuUs: 20 } }, { a: { cpuUs: 300 }, b: { cpuUs: 200 } });
    expect(valuesOf(result, ratio(cpu('a'), cpu('b')))).toEqual([1.5, 1.5]);
  });

  it('omit rounds in which one side is missing', () => {
    const result = resultOf({ a: { cpuUs: 30 } }, { a: { cpuUs: 30 }, b: { cpuUs: 15 } });
    expect(valuesOf(result, ratio(cpu('a'), cpu('b')))).toEqual([2]);
    expect(valuesOf(result, difference(cpu('a'), cpu('b')))).toEqual([15]);
  });

  it('omit ratios to zero or a negative number', () => {
    const result = resultOf({ a: { cpuUs: 30 }, b: { cpuUs: 0 } }, { a: { cpuUs: 30 }, b: { cpuUs: -4 } });
    expect(valuesOf(result, ratio(cpu('a'), cpu('b')))).toEqual([]);
  });

  it('include what a peer adds to the median of the upstream itself', () => {
    const result = resultOf({ direct: { p50Us: 100 }, haproxy: { p50Us: 180 } });
    expect(valuesOf(result, addedP50('haproxy'))).toEqual([80]);
  });
});
