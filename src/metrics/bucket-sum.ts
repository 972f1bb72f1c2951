import { type BucketCounts, bucketIn, countIn, UNUSED } from './bucket-counts.ts';

/** More than there are: no bucket of durations up to an hour is above it (bucket-counts.ts). */
const BUCKETS = 4_096;
const BLOCK_BITS = 6;

/**
 * The counts of several slices together, for the moment of a look at them. Dense, with the sums of each 64 buckets beside it: that
 * is a few nanoseconds for each bucket of a slice, and 115 steps for a rank at most, however far durations are apart.
 */
export class BucketSum {
  readonly #counts = new Float64Array(BUCKETS);
  readonly #blocks = new Float64Array(BUCKETS >>> BLOCK_BITS);
  /** The buckets that hold something lie from here up to `#last`. */
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
    // They are in ascending order.
    this.#first = Math.min(this.#first, bucketIn(buckets[head] as number));
    this.#last = Math.max(this.#last, last);
  }

  /** The bucket of the `rank`-th smallest value; the last one if there are not so many. */
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
