/** Robust regression: the long-term trend of a noisy curve. */
import { medianOf, spreadOf } from '../../bench/load/statistics.ts';

export interface Point {
  readonly atS: number;
  readonly value: number;
}

const SECONDS_AN_HOUR = 3_600;

export function medians(points: readonly Point[], spanS: number): Point[] {
  const spans = new Map<number, number[]>();
  for (const { atS, value } of points) {
    const span = Math.floor(atS / spanS);
    spans.set(span, [...(spans.get(span) ?? []), value]);
  }
  return [...spans].map(([span, values]) => ({ atS: (span + 0.5) * spanS, value: medianOf(values) }));
}

/** The median of the slopes through all pairs of points (Theil 1950, Sen 1968), an hour; undefined for fewer than two points. */
export function slopeAnHour(points: readonly Point[]): number | undefined {
  const slopes: number[] = [];
  for (const [i, first] of points.entries()) {
    for (const second of points.slice(i + 1)) {
      if (second.atS !== first.atS) slopes.push((second.value - first.value) / (second.atS - first.atS));
    }
  }
  const median = spreadOf(slopes)?.median;
  return median === undefined ? undefined : median * SECONDS_AN_HOUR;
}
