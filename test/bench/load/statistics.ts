export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly count: number;
}

/** Undefined for no values at all. The median of an even count is the mean of the middle two. */
export function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const [min, max] = [sorted[0], sorted.at(-1)];
  if (min === undefined || max === undefined) return undefined;
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  const median = sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
  return { median, min, max, count: sorted.length };
}

/** `35.1 (34.0–36.2)`; without brackets when there is one value only. */
export function toText(spread: Spread, digits: number): string {
  const text = (value: number) => value.toFixed(digits);
  if (spread.count === 1) return text(spread.median);
  return `${text(spread.median)} (${text(spread.min)}–${text(spread.max)})`;
}

/** NaN without values. */
export function medianOf(values: readonly number[]): number {
  return spreadOf(values)?.median ?? Number.NaN;
}
