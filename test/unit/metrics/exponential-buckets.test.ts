import { expect, it } from 'vitest';
import { ExponentialBuckets } from '../../../src/metrics/exponential-buckets.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';

const S = 1e9;

it('exponential buckets hold a bound in the bucket below it, and what is just above in the next', () => {
  const buckets = new ExponentialBuckets();
  buckets.add(1 * S);
  buckets.add(1.0001 * S);
  expect(buckets.read()).toEqual({ scale: 4, zeroCount: 0, offset: -1, counts: [1, 1] });
});

it('exponential buckets hold everything from nothing to an hour', () => {
  const buckets = new ExponentialBuckets();
  for (const ns of [0, 999, 1_000, 1_500, 3_600 * S]) buckets.add(ns);
  const { zeroCount, offset, counts } = buckets.read();
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
