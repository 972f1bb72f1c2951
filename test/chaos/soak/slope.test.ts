import { describe, expect, it } from 'vitest';
import { drawCurve } from './curve.ts';
import { floors, medians, type Point, slopeAnHour } from './slope.ts';
import { judge, type SoakSample } from './soak-report.ts';

/** A sample each second for half an hour, with a saw of a garbage collector on it. */
function samplesOf(riseMbAnHour: number): SoakSample[] {
  return Array.from({ length: 1_800 }, (_, atS) => {
    const saw = (atS % 37) * 0.2;
    const start = atS < 300 ? atS * 0.1 : 30;
    const megabytes = 90 + start + saw + (riseMbAnHour * atS) / 3_600;
    return { atS, residentBytes: megabytes * 2 ** 20, descriptors: 20, heapUsedBytes: undefined };
  });
}

describe('slope', () => {
  it('is that of a line, in units an hour', () => {
    const points: Point[] = Array.from({ length: 50 }, (_, i) => ({ atS: i * 10, value: 100 + i * 0.5 }));
    expect(slopeAnHour(points)).toBeCloseTo(180, 6);
  });

  it('is not moved by some values that are far off', () => {
    const points: Point[] = Array.from({ length: 50 }, (_, i) => ({ atS: i * 10, value: i % 6 === 0 ? 900 : 100 }));
    expect(slopeAnHour(points)).toBe(0);
  });

  it('is none of a single point', () => {
    expect(slopeAnHour([{ atS: 1, value: 1 }])).toBeUndefined();
  });

  it('can be asked of medians and of floors', () => {
    const points: Point[] = [1, 9, 2, 8, 3, 7].map((value, atS) => ({ atS, value }));
    expect(medians(points, 3)).toEqual([
      { atS: 1.5, value: 2 },
      { atS: 4.5, value: 7 },
    ]);
    expect(floors(points, 3).map(({ value }) => value)).toEqual([1, 3]);
  });
});

describe('verdict of a soak', () => {
  it('is good for memory that only saws, after any warm-up', () => {
    expect(judge(samplesOf(0), 300, 1)).toMatchObject({ isGood: true, text: expect.stringContaining('good') });
  });

  it('is bad for a rise above the bound, however small beside the saw', () => {
    expect(judge(samplesOf(2), 300, 1).isGood).toBe(false);
    expect(judge(samplesOf(0.5), 300, 1).isGood).toBe(true);
  });

  it('is not given after a few minutes', () => {
    expect(judge(samplesOf(50).slice(0, 300), 30, 1).text).toContain('not judged');
  });
});

describe('curve', () => {
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
