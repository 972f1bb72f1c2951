import { describe, expect, it } from 'vitest';
import {
  type BucketCounts,
  bucketAtRank,
  bucketOf,
  countInto,
  emptyLike,
  forEachBucket,
  middleOf,
} from '../../src/metrics/bucket-counts.ts';
import { Random } from '../fuzz/random.ts';

const HOUR_US = 3_600_000_000;

function listed(counts: BucketCounts): [number, number][] {
  const list: [number, number][] = [];
  forEachBucket(counts, (bucket, count) => list.push([bucket, count]));
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
    let counts: BucketCounts = [];
    for (let i = 0; i < 5_000; i += 1) {
      const bucket = random.below(900);
      expected.set(bucket, (expected.get(bucket) ?? 0) + 1);
      counts = countInto(counts, bucket);
    }
    expect(listed(counts)).toEqual([...expected].sort(([a], [b]) => a - b));
  });

  it('begins with room for as many as another has, and counts the same', () => {
    const random = new Random(17);
    let like: BucketCounts = [];
    for (let i = 0; i < 40; i += 1) like = countInto(like, random.below(900));
    let counts = emptyLike(like);
    expect(counts).toHaveLength(listed(like).length);
    expect(listed(counts)).toEqual([]);
    const buckets = Array.from({ length: 60 }, () => random.below(900));
    for (const bucket of buckets) counts = countInto(counts, bucket);
    expect(listed(counts)).toEqual(listed(buckets.reduce<BucketCounts>(countInto, [])));
    expect(emptyLike([])).toEqual([]);
  });

  it('counts on beyond what fits a small integer', () => {
    const times = 600_000;
    let counts: BucketCounts = [];
    for (let i = 0; i < times; i += 1) counts = countInto(counts, 3_286);
    counts = countInto(countInto(counts, 5), 3_285);
    expect(listed(counts)).toEqual([
      [5, 1],
      [3_285, 1],
      [3_286, times],
    ]);
  });
});

describe('bucketAtRank', () => {
  it('finds the bucket of each rank', () => {
    let counts: BucketCounts = [];
    const values = [9, 3, 3, 40, 9, 9, 12];
    for (const value of values) counts = countInto(counts, value);
    const sorted = values.sort((a, b) => a - b);
    expect(sorted.map((_, index) => bucketAtRank(counts, index + 1))).toEqual(sorted);
  });
});
