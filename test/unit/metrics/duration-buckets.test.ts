import { expect, it } from 'vitest';
import { createBucketBounds, DurationBuckets, ExponentialBuckets } from '../../../src/metrics/duration-buckets.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';

const MS = 1e6;

it('DurationBuckets counts a duration in every bucket whose bound it does not exceed', () => {
  const buckets = new DurationBuckets(createBucketBounds([0.001, 0.0025, 1]));
  expect(buckets.cumulative()).toEqual([0, 0, 0, 0]);
  // An invalid one is ignored.
  for (const ns of [0, MS, MS + 1, 2.5 * MS, 1_000 * MS, 1_000 * MS + 1, -1, Number.NaN]) buckets.add(ns);
  expect(buckets.cumulative()).toEqual([2, 4, 5, 6]);
  expect(buckets.bounds).toEqual([0.001, 0.0025, 1]);
  expect(buckets.sumSeconds).toBeCloseTo(2.004_500_002, 12);
  const read = buckets.cumulative();
  // What a reader holds does not change; a duration counts as an hour at most.
  buckets.add(7_200_000 * MS);
  expect([read.at(-1), buckets.cumulative().at(-1)]).toEqual([6, 7]);
  expect(buckets.sumSeconds).toBeCloseTo(3_602.004_500_002, 9);
});

const S = 1e9;

it('exponential buckets hold everything from nothing to an hour, a bound in the bucket below it, and what is just above in the next', () => {
  const buckets = new ExponentialBuckets();
  buckets.add(1 * S);
  buckets.add(1.0001 * S);
  expect(buckets.read()).toEqual({ scale: 4, zeroCount: 0, offset: -1, counts: [1, 1] });
  const all = new ExponentialBuckets();
  for (const ns of [0, 999, 1_000, 1_500, 3_600 * S]) all.add(ns);
  const { zeroCount, offset, counts } = all.read();
  expect([zeroCount, counts.reduce((sum, count) => sum + count, 0)]).toEqual([2, 3]);
  expect(offset).toBe(Math.ceil(Math.log2(1e-6) * 16) - 1);
  expect(counts).toHaveLength(Math.ceil(Math.log2(3_600) * 16) - 1 - offset + 1);
});

it('exponential buckets outlive a restart', () => {
  const buckets = new ExponentialBuckets();
  for (const ns of [10, 5e6, 7e6, 2 * S]) buckets.add(ns);
  const next = new ExponentialBuckets();
  next.load(new SavedRecord(JSON.parse(JSON.stringify(buckets.save())), { savedNs: 0, savedAtNs: 0, nowNs: 0 }));
  expect(next.read()).toEqual(buckets.read());
});
