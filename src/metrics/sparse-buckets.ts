import type { SavedRecord } from '../state/saved-record.ts';

/** Buckets per octave with two significant digits: the middle of a bucket is at most 1/256 off. */
export const FINE_PER_OCTAVE = 128;

const BUCKET_MASK = 0xfff;
const ONE = BUCKET_MASK + 1;

/**
 * An element without a count, in a bucket above all others, so that it sorts last. Arrays end in some, as room to grow.
 */
const UNUSED = BUCKET_MASK;
const ROOM: readonly number[] = [UNUSED, UNUSED, UNUSED, UNUSED];

/**
 * Counts of durations (each slice of a `Timer` has one), only for the buckets that are not empty: a few dozen numbers instead of the thousands of a
 * histogram over the whole range. There may be 200,000 of these (full windows, 10,000 sessions), so each is one array
 * with little room to grow: `push` would reserve 16 elements or more, and a `Map` takes five times as much memory.
 *
 * Buckets are those of HdrHistogram: values below `2 * perOctave` have one each, above that each octave has
 * `perOctave`. An element is `count * 4096 + bucket`. Elements are sorted by bucket.
 */
export class SparseBuckets {
  #elements: number[] = [];

  /** Adds to `bucket`, which is below 4095 (1 hour is bucket 3,286 of 128 per octave). */
  count(bucket: number, times = 1): void {
    const elements = this.#elements;
    let low = 0;
    let high = elements.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (bucketIn(elements[middle] as number) < bucket) low = middle + 1;
      else high = middle;
    }
    const found = elements[low];
    if (found !== undefined && bucketIn(found) === bucket) elements[low] = found + times * ONE;
    else this.#insert(low, times * ONE + bucket);
  }

  #insert(at: number, element: number): void {
    if (this.#elements.at(-1) !== UNUSED) this.#elements = this.#elements.concat(ROOM);
    const elements = this.#elements;
    for (let to = elements.length - 1; to > at; to -= 1) elements[to] = elements[to - 1] as number;
    elements[at] = element;
  }

  absorb(from: SparseBuckets): void {
    from.forEachBucket((bucket, times) => this.count(bucket, times));
  }

  forEachBucket(visit: (bucket: number, count: number) => void): void {
    for (const element of this.save()) visit(bucketIn(element), countIn(element));
  }

  /** Adds all counts to `sum`, by bucket. */
  addTo(sum: Float64Array): void {
    for (const element of this.#elements) {
      if (element === UNUSED) break;
      const bucket = bucketIn(element);
      sum[bucket] = (sum[bucket] as number) + countIn(element);
    }
  }

  /** The elements without the unused ones at the end. */
  save(): readonly number[] {
    const unused = this.#elements.indexOf(UNUSED);
    return unused < 0 ? this.#elements : this.#elements.slice(0, unused);
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
      if (bucketIn(element) <= before || bucketIn(element) === UNUSED)
        saved.refuse('buckets in ascending order', field);
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
