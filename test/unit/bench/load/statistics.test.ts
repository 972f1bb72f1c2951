import { expect, it } from 'vitest';
import { spreadOf, toText } from '../../../bench/load/statistics.ts';

it.each([
  ['the middle value, whatever the order', [30, 1, 20], { median: 20, min: 1, max: 30, count: 3 }],
  ['the mean of the middle two of an even count', [10, 1, 2, 4], { median: 3, min: 1, max: 10, count: 4 }],
  ['that by number, not by text', [9, 10, 100], { median: 10, min: 9, max: 100, count: 3 }],
  ['undefined without values', [], undefined],
])('the median over rounds is %s', (_, values, spread) => {
  expect(spreadOf(values)).toEqual(spread);
});

it('a spread is written with lowest and highest in brackets, but a single value alone', () => {
  expect(toText({ median: 35.14, min: 34, max: 36.25, count: 7 }, 1)).toBe('35.1 (34.0–36.3)');
  expect(toText({ median: 35.14, min: 35.14, max: 35.14, count: 1 }, 0)).toBe('35');
});
