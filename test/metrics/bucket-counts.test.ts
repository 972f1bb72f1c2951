import { describe, expect, it } from 'vitest';
import {
  type BucketCounts,
  bucketAtRank,
  bucketOf,
  countInto,
  emptyBuckets,
  emptyLike,
  forEachBucket,
  middleOf,
} from '../../src/metrics/bucket-counts.ts';
import { Random } from '../fuzz/random.ts';

const HOUR_US = 3_600_000_000;

/** Numbers of the owner of what is counted into here. */
const HEAD = 3;

/** Its owner's numbers look like unused buckets. */
function empty(): BucketCounts {
  return emptyBuckets(HEAD).fill(4_095, 0, HEAD);
}

function counted(buckets: readonly number[]): BucketCounts {
  return buckets.reduce((counts, bucket) => countInto(counts, HEAD, bucket), empty());
}

function listed(counts: BucketCounts): [number, number][] {
  const list: [number, number][] = [];
  forEachBucket(counts, HEAD, (bucket, count) => list.push([bucket, count]));
  return list;
}

describe('bucketOf', () => {
  for (const [perOctave, error] of [
    [128, 1 / 256],
    [8, 1 / 16],
  ] as const) {
    it(`puts a value within ${error} of the middle of its bucket (${perOctave} in each octave)`, () => {
      const random = new Random(7);
      let before = -1;
      const values = Array.from({ length: 20_000 }, () => Math.floor(HOUR_US ** random.next()));
      for (const value of [0, 1, HOUR_US, ...values].sort((a, b) => a - b)) {
        const bucket = bucketOf(value, perOctave);
        expect(bucket).toBeGreaterThanOrEqual(before);
        expect(Math.abs(middleOf(bucket, perOctave) - value)).toBeLessThanOrEqual(value * error);
        before = bucket;
      }
      expect(before).toBeLessThan(4_095);
    });
  }
});

describe('countInto', () => {
  it('counts as a map would, in ascending order of buckets', () => {
    const random = new Random(11);
    const expected = new Map<number, number>();
    let counts = empty();
    for (let i = 0; i < 5_000; i += 1) {
      const bucket = random.below(900);
      expected.set(bucket, (expected.get(bucket) ?? 0) + 1);
      counts = countInto(counts, HEAD, bucket);
    }
    expect(counts.slice(0, HEAD)).toEqual([4_095, 4_095, 4_095]);
    expect(listed(counts)).toEqual([...expected].sort(([a], [b]) => a - b));
  });

  it('begins with room for as many as another has, and counts the same', () => {
    const random = new Random(17);
    const like = counted(Array.from({ length: 40 }, () => random.below(900)));
    let counts = emptyLike(like, HEAD);
    expect(counts).toHaveLength(HEAD + listed(like).length);
    expect(listed(counts)).toEqual([]);
    const buckets = Array.from({ length: 60 }, () => random.below(900));
    for (const bucket of buckets) counts = countInto(counts, HEAD, bucket);
    expect(listed(counts)).toEqual(listed(counted(buckets)));
    expect(emptyLike(empty(), HEAD)).toEqual([0, 0, 0]);
  });

  it('begins without room, too', () => {
    expect(listed(countInto([4_095, 4_095, 4_095], HEAD, 7))).toEqual([[7, 1]]);
  });

  it('counts on beyond what fits a small integer', () => {
    const times = 600_000;
    let counts = empty();
    for (let i = 0; i < times; i += 1) counts = countInto(counts, HEAD, 3_286);
    counts = countInto(countInto(counts, HEAD, 5), HEAD, 3_285);
    expect(listed(counts)).toEqual([
      [5, 1],
      [3_285, 1],
      [3_286, times],
    ]);
  });
});

describe('bucketAtRank', () => {
  it('finds the bucket of each rank', () => {
    const values = [9, 3, 3, 40, 9, 9, 12];
    const counts = counted(values);
    const sorted = values.sort((a, b) => a - b);
    expect(sorted.map((_, index) => bucketAtRank(counts, HEAD, index + 1))).toEqual(sorted);
  });
});
