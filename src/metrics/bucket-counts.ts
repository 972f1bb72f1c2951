/**
 * Counts of durations in buckets, kept only for the buckets that hold something: a few dozen numbers instead of the thousands
 * that a histogram over the whole range needs. Plain arrays and functions, because there may be a hundred thousand of them.
 *
 * Buckets are those of HdrHistogram: values below `2 * perOctave` have one each, above each octave has `perOctave`. An element
 * is `count * 4096 + bucket`; elements are sorted by bucket, the unused ones at the end are `UNUSED`. A count can exceed what
 * fits a small integer (2^19): V8 then turns the array into one of doubles, and the low 12 bits stay readable by `&`.
 */
import type { ArchiveReader } from '../archive/archive-reader.ts';
import type { ArchiveWriter } from '../archive/archive-writer.ts';

const BUCKET_MASK = 0xfff;
const ONE = BUCKET_MASK + 1;
/** Count 0 in a bucket above all: sorts last, and no duration reaches it (1 hour is bucket 3,286 of 128 per octave). */
const UNUSED = BUCKET_MASK;
const GROWTH = 8;

export type BucketCounts = number[];

/** Empty, with room for as many buckets as `like` uses. */
export function emptyLike(like: BucketCounts): BucketCounts {
  return new Array<number>(usedOf(like)).fill(UNUSED);
}

function usedOf(counts: BucketCounts): number {
  let used = counts.length;
  while (used > 0 && counts[used - 1] === UNUSED) used -= 1;
  return used;
}

/** The bucket of `value`, a whole number of microseconds below 2^32. `perOctave`: a power of two, at most 128. */
export function bucketOf(value: number, perOctave: number): number {
  // 31 - clz32(v) is the exponent of v, so this is how many low bits the bucket of v swallows.
  const swallowed = Math.max(0, Math.clz32(perOctave) - Math.clz32(value));
  return swallowed * perOctave + (value >>> swallowed);
}

/** The middle of a bucket, in microseconds, e.g. 256.5 for the two values 256 and 257. */
export function middleOf(bucket: number, perOctave: number): number {
  const swallowed = Math.max(0, Math.floor(bucket / perOctave) - 1);
  const width = 2 ** swallowed;
  return (bucket - swallowed * perOctave) * width + (width - 1) / 2;
}

/** Adds one to `bucket`; the answer is `counts`, or its replacement when it had to grow. Start with an empty array, or `emptyLike`. */
export function countInto(counts: BucketCounts, bucket: number): BucketCounts {
  let low = 0;
  let high = counts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (((counts[middle] as number) & BUCKET_MASK) < bucket) low = middle + 1;
    else high = middle;
  }
  if (low < counts.length) {
    const found = counts[low] as number;
    if ((found & BUCKET_MASK) === bucket) {
      counts[low] = found + ONE;
      return counts;
    }
  }
  return inserted(counts, low, ONE + bucket);
}

function inserted(counts: BucketCounts, index: number, element: number): BucketCounts {
  const length = counts.length;
  if (length > 0 && counts[length - 1] === UNUSED) {
    for (let i = length - 1; i > index; i -= 1) counts[i] = counts[i - 1] as number;
    counts[index] = element;
    return counts;
  }
  // Grown by hand: push() would reserve half as much again and 16 more, most of the memory of a session's timer.
  const grown = new Array<number>(length + Math.max(GROWTH, length >>> 2)).fill(UNUSED);
  for (let i = 0; i < index; i += 1) grown[i] = counts[i] as number;
  grown[index] = element;
  for (let i = index; i < length; i += 1) grown[i + 1] = counts[i] as number;
  return grown;
}

/** Visits the buckets in ascending order. */
export function forEachBucket(counts: BucketCounts, visit: (bucket: number, count: number) => void): void {
  for (const element of counts) {
    if (element === UNUSED) return;
    const bucket = element & BUCKET_MASK;
    visit(bucket, (element - bucket) / ONE);
  }
}

/** The bucket that holds the `rank`-th smallest value; the last one used if there are not so many. */
export function bucketAtRank(counts: BucketCounts, rank: number): number {
  let seen = 0;
  let bucket = 0;
  for (const element of counts) {
    if (element === UNUSED) break;
    bucket = element & BUCKET_MASK;
    seen += (element - bucket) / ONE;
    if (seen >= rank) break;
  }
  return bucket;
}

/** Two small numbers for each bucket: how far it is from the one before it, and its count. */
export function saveBuckets(out: ArchiveWriter, counts: BucketCounts): void {
  const used = usedOf(counts);
  out.count(used);
  let before = -1;
  for (let i = 0; i < used; i += 1) {
    const element = counts[i] as number;
    const bucket = element & BUCKET_MASK;
    out.count(bucket - before);
    out.count((element - bucket) / ONE);
    before = bucket;
  }
}

export function loadBuckets(input: ArchiveReader): BucketCounts {
  const used = input.count();
  if (used > UNUSED) input.refuse('fewer buckets');
  const counts = new Array<number>(used);
  let bucket = -1;
  for (let i = 0; i < used; i += 1) {
    const step = input.count();
    bucket += step;
    if (step === 0 || bucket >= UNUSED) input.refuse('buckets in ascending order');
    counts[i] = input.count() * ONE + bucket;
  }
  return counts;
}
