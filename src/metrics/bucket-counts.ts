/**
 * Counts of durations, only for the buckets that are not empty: a few dozen numbers instead of the thousands of a
 * histogram over the whole range. There may be a hundred thousand, hence plain arrays and functions. The first `head`
 * numbers of an array belong to its owner: one array instead of two is less work for the garbage collector and keeps
 * data together.
 *
 * Buckets are those of HdrHistogram: values below `2 * perOctave` have one each, above that each octave has
 * `perOctave`. An element is `count * 4096 + bucket`. Elements are sorted by bucket; unused ones at the end are
 * `UNUSED`. The array holds doubles; `&` reads their low 12 bits, however high the count is.
 */
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';

const BUCKET_MASK = 0xfff;
const ONE = BUCKET_MASK + 1;
/** Count 0 in the highest bucket: sorts last, as no duration reaches it (1 hour is bucket 3,286 of 128 per octave). */
export const UNUSED = BUCKET_MASK;
const GROWTH = 8;

/** The owner's numbers, then the buckets. */
export type BucketCounts = number[];

export function bucketIn(element: number): number {
  return element & BUCKET_MASK;
}

export function countIn(element: number): number {
  return (element - bucketIn(element)) * (1 / ONE);
}

export function emptyBuckets(head: number, room: number = GROWTH): BucketCounts {
  return toDoubles(head + room)
    .fill(0, 0, head)
    .fill(UNUSED, head);
}

/** Empty, with room for as many buckets as `like` uses. */
export function emptyLike(like: BucketCounts, head: number): BucketCounts {
  return emptyBuckets(head, endOf(like, head) - head);
}

/** NaN makes V8 store doubles at once; an array of small integers is copied when the first other number arrives. */
function toDoubles(length: number): number[] {
  return new Array<number>(length).fill(Number.NaN);
}

/** The index of the first unused element. */
function endOf(counts: BucketCounts, head: number): number {
  let end = counts.length;
  while (end > head && counts[end - 1] === UNUSED) end -= 1;
  return end;
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

/** Adds one to `bucket`. Returns `counts`, or a longer copy if it had to grow. */
export function countInto(counts: BucketCounts, head: number, bucket: number): BucketCounts {
  let low = head;
  let high = counts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (bucketIn(counts[middle] as number) < bucket) low = middle + 1;
    else high = middle;
  }
  if (low < counts.length) {
    const found = counts[low] as number;
    if (bucketIn(found) === bucket) {
      counts[low] = found + ONE;
      return counts;
    }
  }
  return inserted(counts, low, ONE + bucket);
}

function inserted(counts: BucketCounts, index: number, element: number): BucketCounts {
  const length = counts.length;
  if (index < length && counts[length - 1] === UNUSED) {
    for (let i = length - 1; i > index; i -= 1) counts[i] = counts[i - 1] as number;
    counts[index] = element;
    return counts;
  }
  // Not push(): it would reserve half as much again plus 16, most of the memory of a session's timer.
  const grown = toDoubles(length + Math.max(GROWTH, length >>> 2));
  for (let i = 0; i < index; i += 1) grown[i] = counts[i] as number;
  grown[index] = element;
  for (let i = index; i < length; i += 1) grown[i + 1] = counts[i] as number;
  return grown.fill(UNUSED, length + 1);
}

export function forEachBucket(
  counts: BucketCounts,
  head: number,
  visit: (bucket: number, count: number) => void,
): void {
  for (let i = head; i < counts.length; i += 1) {
    const element = counts[i] as number;
    if (element === UNUSED) return;
    visit(bucketIn(element), countIn(element));
  }
}

/** The bucket that holds the `rank`-th smallest value; the last used bucket if there are fewer values. */
export function bucketAtRank(counts: BucketCounts, head: number, rank: number): number {
  let seen = 0;
  let bucket = 0;
  for (let i = head; i < counts.length; i += 1) {
    const element = counts[i] as number;
    if (element === UNUSED) break;
    bucket = bucketIn(element);
    seen += countIn(element);
    if (seen >= rank) break;
  }
  return bucket;
}

/** Writes two small numbers per bucket: its distance from the bucket before it, and its count. */
export function saveBuckets(out: ArchiveWriter, counts: BucketCounts, head: number): void {
  const end = endOf(counts, head);
  out.count(end - head);
  let before = -1;
  for (let i = head; i < end; i += 1) {
    const element = counts[i] as number;
    const bucket = bucketIn(element);
    out.count(bucket - before);
    out.count(countIn(element));
    before = bucket;
  }
}

/** Returns the owner's numbers of `counts` with the saved buckets. */
export function loadBuckets(input: ArchiveReader, counts: BucketCounts, head: number): BucketCounts {
  const used = input.count();
  if (used > UNUSED) input.refuse('fewer buckets');
  const loaded = emptyBuckets(head, used);
  for (let i = 0; i < head; i += 1) loaded[i] = counts[i] as number;
  let bucket = -1;
  for (let i = head; i < loaded.length; i += 1) {
    const step = input.count();
    bucket += step;
    if (step === 0 || bucket >= UNUSED) input.refuse('buckets in ascending order');
    loaded[i] = input.count() * ONE + bucket;
  }
  return loaded;
}
