import { expect, it } from 'vitest';
import { compareWithUsual, selectUsualMinutes, sumUpMinute } from '../../../src/page/history-points.ts';
import { points } from '../../support/page/samples.ts';

/** Minutes of 12 steps with these calls in each step; the last one is the current minute. */
const compare = (...counts: readonly number[]) => {
  const history = points(counts.length * 12, (at) => ({
    rpc: { count: counts[Math.floor(at / 12)] ?? 0, errors: 0, p50: null, p95: null, p99: null },
  }));
  const minutes = selectUsualMinutes(history, 5);
  return compareWithUsual(sumUpMinute(history, 5), minutes, ({ rpc }) => rpc.count);
};

it.each([
  ['up', 20],
  ['same', 11],
  ['same', 9],
  ['down', 5],
] as const)('a figure is %s against the median of the minutes before', (trend, now) => {
  expect(compare(10, 10, 900, 10, 0, now)).toEqual({ value: 120, trend });
});
