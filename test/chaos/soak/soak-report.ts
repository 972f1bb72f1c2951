import { renderTable } from '../../bench/load/report.ts';
import { spreadOf, toText } from '../../bench/load/statistics.ts';
import { medians, type Point, slopeAnHour } from './slope.ts';

export interface SoakSample {
  readonly atS: number;
  readonly residentBytes: number;
  readonly descriptors: number;
  readonly heapUsedBytes: number | undefined;
}

export interface Verdict {
  readonly text: string;
  readonly isGood: boolean;
}

const MEGABYTE = 2 ** 20;
const SPAN_S = 10;
/** In a shorter run the noise exceeds any useful bound. */
const LEAST_JUDGED_S = 600;

export function renderSamples(samples: readonly SoakSample[], warmUpS: number): string {
  const warm = samples.filter(({ atS }) => atS >= warmUpS);
  const row = (title: string, points: readonly Point[], digits: number) => {
    const spread = spreadOf(points.map(({ value }) => value));
    const slope = slopeAnHour(medians(points, SPAN_S));
    return [title, spread === undefined ? '' : toText(spread, digits), slope?.toFixed(2) ?? ''];
  };
  const titles = [`after ${Math.round(warmUpS)} s of warm-up`, 'median (lowest to highest)', 'slope an hour'];
  return renderTable(titles, [
    row('resident memory, MB', warm.map(residentOf), 1),
    row('heap in use, MB', warm.flatMap(heapOf), 1),
    row('descriptors', warm.map(descriptorsOf), 0),
  ]);
}

/** Whether resident memory is flat after the warm-up: at most `boundMb` more an hour. */
export function judge(samples: readonly SoakSample[], warmUpS: number, boundMb: number): Verdict {
  const warm = samples.filter(({ atS }) => atS >= warmUpS);
  const lastS = samples.at(-1)?.atS ?? 0;
  const slope = slopeAnHour(medians(warm.map(residentOf), SPAN_S)) ?? Number.NaN;
  const text = `resident memory rises by ${slope.toFixed(2)} MB an hour`;
  if (lastS < LEAST_JUDGED_S - 2) return { text: `not judged, since it was too short: ${text}`, isGood: true };
  const isGood = slope <= boundMb;
  return { text: `${isGood ? 'good' : 'BAD'}: ${text}, at most ${boundMb}`, isGood };
}

function residentOf({ atS, residentBytes }: SoakSample): Point {
  return { atS, value: residentBytes / MEGABYTE };
}

function descriptorsOf({ atS, descriptors: value }: SoakSample): Point {
  return { atS, value };
}

function heapOf({ atS, heapUsedBytes }: SoakSample): Point[] {
  return heapUsedBytes === undefined ? [] : [{ atS, value: heapUsedBytes / MEGABYTE }];
}
