import { describe, expect, it } from 'vitest';
import { makeWeather, UPSTREAM_FAULTS } from '../../../chaos/run/weather.ts';

describe('the weather', () => {
  it('follows from the seed', () => {
    expect(makeWeather(1, 600_000)).toEqual(makeWeather(1, 600_000));
    expect(makeWeather(1, 600_000)).not.toEqual(makeWeather(2, 600_000));
  });

  it.each([1, 2])('has every fault within ten minutes, one at a time, with seed %i', (seed) => {
    const { lives, long } = makeWeather(seed, 600_000);
    const stages = [...lives, long].flatMap((life) => life.stages);
    expect(new Set(stages.map(({ end }) => end))).toEqual(new Set(['quiet', 'term', 'kill']));
    expect(new Set(lives.map(({ dataPath }) => dataPath))).toEqual(new Set(['auto', 'gateway']));
    expect(new Set(stages.flatMap(({ faults }) => faults.map(({ kind }) => kind)))).toEqual(new Set(UPSTREAM_FAULTS));
    expect(lives[0]?.upstreamComesAfterMs).toBeGreaterThan(0);
    for (const { faults } of stages)
      for (const [i, { atMs, forMs }] of faults.entries())
        expect(faults[i + 1]?.atMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(atMs + forMs);
    for (const life of lives) expect(life.stages.slice(0, -1).every(({ end }) => end === 'quiet')).toBe(true);
  });

  it.each([60_000, 600_000])('lasts about as long as requested, %i ms', (totalMs) => {
    const { lives, long } = makeWeather(1, totalMs);
    const chaosMs = [...lives, long].flatMap((life) => life.stages).reduce((sum, stage) => sum + stage.chaosMs, 0);
    expect(chaosMs / totalMs).toBeGreaterThan(0.5);
    expect(chaosMs / totalMs).toBeLessThan(1.2);
  });
});
