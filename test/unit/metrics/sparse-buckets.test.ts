import { expect, it } from 'vitest';
import { mergedBuckets, SparseBuckets } from '../../../src/metrics/sparse-buckets.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';
import { Random } from '../../support/fuzz/random.ts';

function counted(buckets: readonly number[]): SparseBuckets {
  const counts = new SparseBuckets();
  for (const bucket of buckets) counts.count(bucket);
  return counts;
}

/** E.g. `7: 2` for a bucket with two values. */
function listed(counts: SparseBuckets): string[] {
  const list: string[] = [];
  counts.forEachBucket((bucket, count) => list.push(`${bucket}: ${count}`));
  return list;
}

const load = (fields: unknown): SparseBuckets =>
  SparseBuckets.load(new SavedRecord(fields, { savedNs: 0, savedAtNs: 0, nowNs: 0 }), 'buckets');

it('SparseBuckets is the same after it was saved and loaded, and counts on, but refuses saved buckets that are not in order', () => {
  const counts = counted([7, 7, 40, 3_286]);
  const loaded = load(JSON.parse(JSON.stringify({ buckets: counts.save() })));
  loaded.count(8);
  expect(listed(loaded)).toEqual(['7: 2', '8: 1', '40: 1', '3286: 1']);
  expect(() => load({ buckets: [4_096 + 9, 4_096 + 7] })).toThrow('expected buckets in ascending order in "buckets"');
});

it('SparseBuckets counts as a Map does, however the buckets lie and how many it expects, also when it counts on after `settle`', () => {
  const random = new Random(1);
  for (const step of [1, 8, 128]) {
    const counts = new SparseBuckets(random.below(300));
    const expected = new Map<number, number>();
    for (let i = 0; i < 3_000; i += 1) {
      const [bucket, times] = [step * random.below(random.below(4_000 / step) + 1), 1 + random.below(3)];
      counts.count(bucket, times);
      expected.set(bucket, (expected.get(bucket) ?? 0) + times);
      if (i % 700 === 0) counts.settle();
      if (i % 500 !== 0) continue;
      const sorted = [...expected].sort(([a], [b]) => a - b);
      expect(listed(counts)).toEqual(sorted.map(([one, count]) => `${one}: ${count}`));
    }
  }
});

it.each([1, 2, 64, 65, 300, 3_300])('mergedBuckets finds each rank in %i buckets as a sorted list does', (range) => {
  const random = new Random(range);
  for (const lowest of [0, 63, 700]) {
    const slices = Array.from({ length: 30 }, () =>
      Array.from({ length: random.below(40) }, () => lowest + random.below(range)),
    );
    const sorted = slices.flat().sort((a, b) => a - b);
    const bucketAtRank = mergedBuckets(slices.map(counted));
    expect(sorted.map((_, index) => bucketAtRank(index + 1))).toEqual(sorted);
  }
});
