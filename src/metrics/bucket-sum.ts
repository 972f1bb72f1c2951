import { type BucketCounts, bucketIn, countIn, UNUSED } from './bucket-counts.ts';

/** Higher than any bucket of a duration up to an hour (bucket-counts.ts). */
const BUCKETS = 4_096;
const BLOCK_BITS = 6;

/**
 * The counts of several slices together, for one snapshot. Dense, with a sum per block of 64 buckets: adding a slice
 * takes a few nanoseconds per bucket, finding a rank at most 115 steps, however far apart durations are.
 */
export class BucketSum {
  readonly #counts = new Float64Array(BUCKETS);
  readonly #blocks = new Float64Array(BUCKETS >>> BLOCK_BITS);
  /** All counts above 0 lie between `#first` and `#last`, both included. */
  #first = BUCKETS;
  #last = -1;

  clear(): void {
    this.#counts.fill(0, Math.min(this.#first, this.#last + 1), this.#last + 1);
    this.#blocks.fill(0);
    this.#first = BUCKETS;
    this.#last = -1;
  }

  add(buckets: BucketCounts, head: number): void {
    const counts = this.#counts;
    const blocks = this.#blocks;
    let last = -1;
    for (let i = head; i < buckets.length; i += 1) {
      const element = buckets[i] as number;
      if (element === UNUSED) break;
      const count = countIn(element);
      last = bucketIn(element);
      counts[last] = (counts[last] as number) + count;
      blocks[last >>> BLOCK_BITS] = (blocks[last >>> BLOCK_BITS] as number) + count;
    }
    if (last < 0) return;
    this.#first = Math.min(this.#first, bucketIn(buckets[head] as number));
    this.#last = Math.max(this.#last, last);
  }

  /** The bucket of the `rank`-th smallest value; the last used bucket if there are fewer values. */
  bucketAtRank(rank: number): number {
    const lastBlock = this.#last >>> BLOCK_BITS;
    let block = this.#first >>> BLOCK_BITS;
    let left = rank;
    while (block < lastBlock && left > (this.#blocks[block] as number)) {
      left -= this.#blocks[block] as number;
      block += 1;
    }
    let bucket = block << BLOCK_BITS;
    while (bucket < this.#last && left > (this.#counts[bucket] as number)) {
      left -= this.#counts[bucket] as number;
      bucket += 1;
    }
    return bucket;
  }
}
