import { expect, it } from 'vitest';
import { medians, type Point, slopeAnHour } from '../../../chaos/soak/slope.ts';
import { judge, type SoakSample } from '../../../chaos/soak/soak-report.ts';

const pointsOf = (valueAt: (i: number) => number): Point[] =>
  Array.from({ length: 50 }, (_, i) => ({ atS: i * 10, value: valueAt(i) }));

it.each<[string, readonly Point[], number | undefined]>([
  ['is that of a line, in units an hour', pointsOf((i) => 100 + i * 0.5), 180],
  ['ignores a few outliers', pointsOf((i) => (i % 6 === 0 ? 900 : 100)), 0],
  ['is undefined for a single point', [{ atS: 1, value: 1 }], undefined],
])('the slope %s', (_, points, slope) => {
  expect(slopeAnHour(points)).toBe(slope);
});

it('a curve is smoothed by the median of each span', () => {
  const points = [1, 9, 2, 8, 3, 7].map((value, atS) => ({ atS, value }));
  expect(medians(points, 3)).toEqual([
    { atS: 1.5, value: 2 },
    { atS: 4.5, value: 7 },
  ]);
});

/** A sample each second for half an hour, with the saw of a garbage collector. */
function samplesOf(riseMbAnHour: number): SoakSample[] {
  return Array.from({ length: 1_800 }, (_, atS) => {
    const saw = (atS % 37) * 0.2;
    const start = atS < 300 ? atS * 0.1 : 30;
    const megabytes = 90 + start + saw + (riseMbAnHour * atS) / 3_600;
    return { atS, residentBytes: megabytes * 2 ** 20, descriptors: 20, heapUsedBytes: undefined };
  });
}

it.each([
  ['good when memory only saws, whatever the warm-up', samplesOf(0), 'good: '],
  ['good for a rise below the bound', samplesOf(0.5), 'good: '],
  ['bad for a rise above the bound, even if the saw is much larger', samplesOf(2), 'BAD: '],
  ['withheld after a few minutes', samplesOf(50).slice(0, 590), 'not judged'],
])('the verdict of a soak is %s', (_, samples, text) => {
  expect(judge(samples, 300, 1)).toMatchObject({
    text: expect.stringContaining(text),
    isGood: !text.startsWith('BAD'),
  });
});
