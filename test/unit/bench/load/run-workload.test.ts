import { expect, it } from 'vitest';
import { parseCores } from '../../../bench/load/machine.ts';
import { rotated } from '../../../bench/load/run-workload.ts';

it('the order rotates each round, so that no peer always follows the same one', () => {
  expect([0, 1, 2, 3].map((round) => rotated(['a', 'b', 'c'], round).join(''))).toEqual(['abc', 'bca', 'cab', 'abc']);
  expect(rotated([], 5)).toEqual([]);
});

it.each([
  ['0-2,5', [0, 1, 2, 5]],
  ['3', [3]],
  ['', []],
])("the kernel's list of cores is read: '%s'", (list, cores) => {
  expect(parseCores(list)).toEqual(cores);
});
