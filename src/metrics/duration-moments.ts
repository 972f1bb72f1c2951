/**
 * Count, sum, spread and extremes of durations in nanoseconds; all 0 while empty. They are `MOMENTS_LENGTH` numbers in
 * an array of doubles, from index `at`. There may be a hundred thousand of them; an object for each would be more work
 * for the garbage collector.
 *
 * The squared distances are updated one by one and merged by pairs (Chan, Golub, LeVeque: Updating Formulae and a
 * Pairwise Algorithm for Computing Sample Variances, 1979). A sum of squares would be shorter but cancels: a hundred
 * equal durations would have a spread.
 */
import type { ArchiveReader } from '../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../state/archive/archive-writer.ts';

const COUNT = 0;
const SUM = 1;
const SQUARES = 2;
const MIN = 3;
const MAX = 4;
export const MOMENTS_LENGTH = 5;

export interface DurationMoments {
  readonly count: number;
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  /** Population standard deviation. */
  readonly stddev: number;
}

export function readMoments(numbers: readonly number[], at: number): DurationMoments {
  const count = numbers[at + COUNT] as number;
  return {
    count,
    min: numbers[at + MIN] as number,
    max: numbers[at + MAX] as number,
    mean: count === 0 ? 0 : (numbers[at + SUM] as number) / count,
    stddev: count === 0 ? 0 : Math.sqrt((numbers[at + SQUARES] as number) / count),
  };
}

export function addToMoments(numbers: number[], at: number, durationNs: number): void {
  const n = (numbers[at + COUNT] as number) + 1;
  const sum = (numbers[at + SUM] as number) + durationNs;
  numbers[at + COUNT] = n;
  numbers[at + SUM] = sum;
  if (n === 1) {
    numbers[at + MIN] = durationNs;
    numbers[at + MAX] = durationNs;
    return;
  }
  const distance = n * durationNs - sum;
  numbers[at + SQUARES] = (numbers[at + SQUARES] as number) + (distance * distance) / (n * (n - 1));
  if (durationNs < (numbers[at + MIN] as number)) numbers[at + MIN] = durationNs;
  if (durationNs > (numbers[at + MAX] as number)) numbers[at + MAX] = durationNs;
}

/** Adds all durations of `others`. */
export function mergeMoments(numbers: number[], at: number, others: readonly number[], othersAt: number): void {
  const n = numbers[at + COUNT] as number;
  const m = others[othersAt + COUNT] as number;
  if (m === 0) return;
  const sum = numbers[at + SUM] as number;
  const othersSum = others[othersAt + SUM] as number;
  const othersMin = others[othersAt + MIN] as number;
  const othersMax = others[othersAt + MAX] as number;
  const distance = n === 0 ? 0 : m * sum - n * othersSum;
  const between = n === 0 ? 0 : (distance * distance) / (n * m * (n + m));
  numbers[at + SQUARES] = (numbers[at + SQUARES] as number) + ((others[othersAt + SQUARES] as number) + between);
  numbers[at + MIN] = n === 0 ? othersMin : Math.min(numbers[at + MIN] as number, othersMin);
  numbers[at + MAX] = n === 0 ? othersMax : Math.max(numbers[at + MAX] as number, othersMax);
  numbers[at + SUM] = sum + othersSum;
  numbers[at + COUNT] = n + m;
}

export function saveMoments(out: ArchiveWriter, numbers: readonly number[], at: number): void {
  const count = numbers[at + COUNT] as number;
  out.count(count);
  if (count === 0) return;
  for (let i = SUM; i < MOMENTS_LENGTH; i += 1) out.double(numbers[at + i] as number);
}

/** The moments must be empty. */
export function loadMoments(input: ArchiveReader, numbers: number[], at: number): void {
  const count = input.count();
  numbers[at + COUNT] = count;
  if (count === 0) return;
  for (let i = SUM; i < MOMENTS_LENGTH; i += 1) numbers[at + i] = input.double();
}
