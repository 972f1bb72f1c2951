import { expect, it } from 'vitest';
import { createBucketBounds, DurationBuckets } from '../../../src/metrics/duration-buckets.ts';

const MS = 1e6;

it('DurationBuckets counts a duration in every bucket whose bound it does not exceed', () => {
  const buckets = new DurationBuckets(createBucketBounds([0.001, 0.0025, 1]));
  expect(buckets.cumulative()).toEqual([0, 0, 0, 0]);
  for (const ns of [0, MS, MS + 1, 2.5 * MS, 1_000 * MS, 1_000 * MS + 1]) buckets.add(ns);
  expect(buckets.cumulative()).toEqual([2, 4, 5, 6]);
  expect(buckets.bounds).toEqual([0.001, 0.0025, 1]);
  expect(buckets.sumSeconds).toBeCloseTo(2.004_500_002, 12);
});

it('DurationBuckets ignores invalid durations, and adds at most an hour', () => {
  const buckets = new DurationBuckets();
  for (const ns of [-1, Number.NaN, 7_200_000 * MS]) buckets.add(ns);
  expect(buckets.cumulative().at(-1)).toBe(1);
  expect(buckets.sumSeconds).toBe(3_600);
});

it('DurationBuckets does not change a result that a reader holds', () => {
  const buckets = new DurationBuckets();
  buckets.add(MS);
  const read = buckets.cumulative();
  buckets.add(MS);
  expect(read.at(-1)).toBe(1);
});
