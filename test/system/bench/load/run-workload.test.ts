import { describe, expect, it } from 'vitest';
import { parseCores } from '../../../bench/load/machine.ts';
import { rotated } from '../../../bench/load/run-workload.ts';

describe('the order within a round', () => {
  it('rotates each round, so that no peer always follows the same one', () => {
    expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
  });

  it('is empty without peers', () => {
    expect(rotated([], 5)).toEqual([]);
  });
});

describe("the kernel's list of cores", () => {
  it('is read with single cores and ranges', () => {
    expect(parseCores('0-2,5')).toEqual([0, 1, 2, 5]);
    expect(parseCores('3')).toEqual([3]);
    expect(parseCores('')).toEqual([]);
  });
});
