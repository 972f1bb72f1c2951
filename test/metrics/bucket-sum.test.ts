import { describe, expect, it } from 'vitest';
import { countInto, emptyBuckets } from '../../src/metrics/bucket-counts.ts';
import { BucketSum } from '../../src/metrics/bucket-sum.ts';
import { Random } from '../fuzz/random.ts';

const HEAD = 2;

describe('BucketSum', () => {
  it.each([1, 2, 64, 65, 300, 3_300])('finds the bucket of each rank as a sorted list does, of %i buckets', (range) => {
    const random = new Random(range);
    const sum = new BucketSum();
    for (const lowest of [0, 63, 700]) {
      sum.clear();
      const sorted: number[] = [];
      for (let slice = 0; slice < 30; slice += 1) {
        let counts = emptyBuckets(HEAD);
        for (let i = random.below(40); i > 0; i -= 1) {
          const bucket = lowest + random.below(range);
          counts = countInto(counts, HEAD, bucket);
          sorted.push(bucket);
        }
        sum.add(counts, HEAD);
      }
      sorted.sort((a, b) => a - b);
      expect(sorted.map((_, index) => sum.bucketAtRank(index + 1))).toEqual(sorted);
      expect(sum.bucketAtRank(sorted.length + 7)).toBe(sorted.at(-1));
    }
  });
});
