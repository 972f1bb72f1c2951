import type { SavedRecord } from '../state/saved-record.ts';

/** Buckets per octave with two significant digits: the middle of a bucket is at most 1/256 off. */
export const FINE_PER_OCTAVE = 128;

const BUCKET_MASK = 0xfff;
const ONE = BUCKET_MASK + 1;

/** Counts by bucket, reused. */
const sorting = new Float64Array(ONE);
/** Of the smallest table; a power of two. */
const LEAST_ROOM = 8;
/** A fuller table is doubled. */
const MAX_USED_SHARE = 7 / 8;

/**
 * Counts of durations (each slice of a `Timer` has one), only for the buckets that are not empty: a few dozen numbers
 * instead of the thousands of a histogram over the whole range. There may be 200,000 of these (full windows, 10,000
 * sessions), so each is one array: a `Map` takes five times as much memory.
 *
 * Buckets are those of HdrHistogram: values below `2 * perOctave` have one each, above that each octave has
 * `perOctave`. An element is `count * 4096 + bucket`. While it counts, the array is a hash table with linear probing:
 * into a sorted one of 170 elements, a count takes three times as long.
 */
export class SparseBuckets {
  /** A hash table, 0 where it is empty; or, if `#used` is -1, sorted by bucket without room. */
  #elements: number[] = [];
  #used = -1;

  /** `expected`: how many different buckets. A table that grows to 256 places in steps costs a third more. */
  constructor(expected = 0) {
    if (expected > 0) this.#makeRoom(expected);
  }

  get size(): number {
    return this.#used < 0 ? this.#elements.length : this.#used;
  }

  /** Adds to `bucket`, which is below 4095 (1 hour is bucket 3,286 of 128 per octave). */
  count(bucket: number, times = 1): void {
    if (this.#used < 0 || this.#used >= this.#elements.length * MAX_USED_SHARE) this.#makeRoom();
    const elements = this.#elements;
    const at = placeOf(bucket, elements);
    const found = elements[at] as number;
    if (found === 0) this.#used += 1;
    elements[at] = found === 0 ? times * ONE + bucket : found + times * ONE;
  }

  #makeRoom(least = this.size): void {
    const elements = this.#elements;
    this.#used = this.size;
    let room = LEAST_ROOM;
    while (room * MAX_USED_SHARE <= least) room *= 2;
    const table = new Array<number>(room).fill(0);
    for (const element of elements) {
      if (element !== 0) table[placeOf(bucketIn(element), table)] = element;
    }
    this.#elements = table;
  }

  /** Frees the room. Call it when nothing more is to be counted. */
  settle(): void {
    this.#elements = this.save().slice();
    this.#used = -1;
  }

  absorb(from: SparseBuckets): void {
    from.forEachBucket((bucket, times) => this.count(bucket, times));
  }

  /** From the lowest to the highest. */
  forEachBucket(visit: (bucket: number, count: number) => void): void {
    for (const element of this.save()) visit(bucketIn(element), countIn(element));
  }

  /** Adds all counts to `sum`, by bucket. */
  addTo(sum: Float64Array): void {
    for (const element of this.#elements) {
      const bucket = bucketIn(element);
      sum[bucket] = (sum[bucket] as number) + countIn(element);
    }
  }

  /** The elements, sorted by bucket. */
  save(): readonly number[] {
    if (this.#used < 0) return this.#elements;
    sorting.fill(0);
    this.addTo(sorting);
    const elements: number[] = [];
    for (let bucket = 0; bucket < ONE; bucket += 1) {
      const count = sorting[bucket] as number;
      if (count > 0) elements.push(count * ONE + bucket);
    }
    return elements;
  }

  /** With the elements that `save` returned. */
  static of(elements: readonly number[]): SparseBuckets {
    const buckets = new SparseBuckets();
    // A copy of exactly this length.
    buckets.#elements = elements.slice();
    return buckets;
  }

  static load(saved: SavedRecord, field: string): SparseBuckets {
    const buckets = SparseBuckets.of(saved.counts(field));
    let before = -1;
    for (const element of buckets.#elements) {
      if (bucketIn(element) <= before) saved.refuse('buckets in ascending order', field);
      before = bucketIn(element);
    }
    return buckets;
  }
}

/** Reused: a new array per snapshot of 4,000 timers would be 130 MB of garbage. */
const merged = new Float64Array(ONE);

/** Finds ranks in all `parts` together. Ask for them in ascending order, and before the next call of this function. */
export function mergedBuckets(parts: readonly SparseBuckets[]): (rank: number) => number {
  merged.fill(0);
  for (const part of parts) part.addTo(merged);
  return findRanks(merged);
}

/** Finds the buckets of ranks, which must ascend, in counts by bucket. */
export function findRanks(counts: Float64Array | Uint32Array): (rank: number) => number {
  let bucket = 0;
  let seen = counts[0] as number;
  return (rank) => {
    while (seen < rank && bucket < counts.length - 1) {
      bucket += 1;
      seen += counts[bucket] as number;
    }
    return bucket;
  };
}

/** Where the table has the bucket, or the empty place for it. */
function placeOf(bucket: number, table: readonly number[]): number {
  const mask = table.length - 1;
  let at = bucket & mask;
  for (let found = table[at] as number; found !== 0 && bucketIn(found) !== bucket; found = table[at] as number)
    at = (at + 1) & mask;
  return at;
}

function bucketIn(element: number): number {
  return element & BUCKET_MASK;
}

function countIn(element: number): number {
  return Math.floor(element / ONE);
}

/** The bucket of `value`, a whole number of microseconds below 2^32. `perOctave`: a power of two, at most 128. */
export function bucketOf(value: number, perOctave: number): number {
  // 31 - clz32(v) is the exponent of v, so this is the number of low bits that the bucket of v ignores.
  const swallowed = Math.max(0, Math.clz32(perOctave) - Math.clz32(value));
  return swallowed * perOctave + (value >>> swallowed);
}

/** The middle of a bucket, in microseconds, e.g. 256.5 for the two values 256 and 257. */
export function middleOf(bucket: number, perOctave: number): number {
  const swallowed = Math.max(0, Math.floor(bucket / perOctave) - 1);
  const width = 2 ** swallowed;
  return (bucket - swallowed * perOctave) * width + (width - 1) / 2;
}
