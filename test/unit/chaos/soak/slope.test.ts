import { describe, expect, it } from 'vitest';
import { drawCurve } from '../../../chaos/soak/curve.ts';
import { floors, medians, type Point, slopeAnHour } from '../../../chaos/soak/slope.ts';
import { judge, type SoakSample } from '../../../chaos/soak/soak-report.ts';

/** A sample each second for half an hour, with the saw of a garbage collector. */
function samplesOf(riseMbAnHour: number): SoakSample[] {
  return Array.from({ length: 1_800 }, (_, atS) => {
    const saw = (atS % 37) * 0.2;
    const start = atS < 300 ? atS * 0.1 : 30;
    const megabytes = 90 + start + saw + (riseMbAnHour * atS) / 3_600;
    return { atS, residentBytes: megabytes * 2 ** 20, descriptors: 20, heapUsedBytes: undefined };
  });
}

describe('the slope', () => {
  it('is that of a line, in units per hour', () => {
    const points: Point[] = Array.from({ length: 50 }, (_, i) => ({ atS: i * 10, value: 100 + i * 0.5 }));
    expect(slopeAnHour(points)).toBeCloseTo(180, 6);
  });

  it('ignores a few outliers', () => {
    const points: Point[] = Array.from({ length: 50 }, (_, i) => ({ atS: i * 10, value: i % 6 === 0 ? 900 : 100 }));
    expect(slopeAnHour(points)).toBe(0);
  });

  it('is undefined for a single point', () => {
    expect(slopeAnHour([{ atS: 1, value: 1 }])).toBeUndefined();
  });

  it('can be computed of medians and of minima', () => {
    const points: Point[] = [1, 9, 2, 8, 3, 7].map((value, atS) => ({ atS, value }));
    expect(medians(points, 3)).toEqual([
      { atS: 1.5, value: 2 },
      { atS: 4.5, value: 7 },
    ]);
    expect(floors(points, 3).map(({ value }) => value)).toEqual([1, 3]);
  });
});

describe('the verdict of a soak', () => {
  it('is good when memory only saws, whatever the warm-up', () => {
    expect(judge(samplesOf(0), 300, 1)).toMatchObject({ isGood: true, text: expect.stringContaining('good') });
  });

  it('is bad for a rise above the bound, even if the saw is much larger', () => {
    expect(judge(samplesOf(2), 300, 1).isGood).toBe(false);
    expect(judge(samplesOf(0.5), 300, 1).isGood).toBe(true);
  });

  it('is withheld after a few minutes', () => {
    expect(judge(samplesOf(50).slice(0, 300), 30, 1).text).toContain('not judged');
  });
});

describe('the curve', () => {
  it('has its highest value at the top and its lowest at the bottom', () => {
    const lines = drawCurve(
      [1, 2, 3, 4].map((value, i) => ({ atS: i * 60, value })),
      'a rise',
      0,
    ).split('\n');
    expect(lines[0]).toBe('a rise');
    expect(lines[1]).toMatch(/^4 \| +\*$/);
    expect(lines[10]).toMatch(/^1 \|\*/);
    expect(lines[11]).toContain('3 min');
  });
});
