import { describe, expect, it } from 'vitest';
import { ExponentialBuckets } from '../../../src/metrics/exponential-buckets.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';

const S = 1e9;

/** The upper bound of the bucket with the `share` of all durations below it, in seconds. */
function percentileOf(parts: readonly ExponentialBuckets[], share: number): number {
  const sums = new Map<number, number>();
  for (const part of parts) {
    const { offset, counts } = part.read();
    for (const [at, count] of counts.entries()) sums.set(offset + at, (sums.get(offset + at) ?? 0) + count);
  }
  const all = [...sums.values()].reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [index, count] of [...sums].sort(([a], [b]) => a - b)) {
    seen += count;
    // The middle of the bucket in the geometric sense.
    if (seen >= share * all) return 2 ** ((index + 0.5) / 16);
  }
  return Number.NaN;
}

describe('exponential buckets', () => {
  it('hold a bound in the bucket below it, and what is just above in the next', () => {
    const buckets = new ExponentialBuckets();
    buckets.add(1 * S);
    buckets.add(1.0001 * S);
    expect(buckets.read()).toEqual({ scale: 4, zeroCount: 0, offset: -1, counts: [1, 1] });
  });

  it('hold everything from nothing to an hour', () => {
    const buckets = new ExponentialBuckets();
    for (const ns of [0, 999, 1_000, 1_500, 3_600 * S]) buckets.add(ns);
    const { zeroCount, offset, counts } = buckets.read();
    expect([zeroCount, counts.reduce((sum, count) => sum + count, 0)]).toEqual([2, 3]);
    expect(offset).toBe(Math.ceil(Math.log2(1e-6) * 16) - 1);
    expect(counts).toHaveLength(Math.ceil(Math.log2(3_600) * 16) - 1 - offset + 1);
  });

  it('of two sidecars give the percentiles of both together, within 2.2 %', () => {
    const [quick, slow] = [new ExponentialBuckets(), new ExponentialBuckets()];
    const all: number[] = [];
    for (let at = 1; at <= 1_000; at += 1) {
      quick.add(at * 1e5);
      slow.add(at * 3e6);
      all.push(at * 1e-4, at * 3e-3);
    }
    all.sort((a, b) => a - b);
    for (const share of [0.5, 0.9, 0.99]) {
      const exact = all[Math.ceil(share * all.length) - 1] ?? 0;
      expect(Math.abs(percentileOf([quick, slow], share) / exact - 1)).toBeLessThan(0.022);
    }
  });

  it('outlive a restart', () => {
    const buckets = new ExponentialBuckets();
    for (const ns of [10, 5e6, 7e6, 2 * S]) buckets.add(ns);
    const next = new ExponentialBuckets();
    next.load(new SavedRecord(JSON.parse(JSON.stringify(buckets.save())), { savedNs: 0, savedAtNs: 0, nowNs: 0 }));
    expect(next.read()).toEqual(buckets.read());
  });
});
