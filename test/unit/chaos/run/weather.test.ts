import { describe, expect, it } from 'vitest';
import { makeWeather, UPSTREAM_FAULTS } from '../../../chaos/run/weather.ts';

describe('the weather', () => {
  it.each([1, 2])('has every fault within ten minutes, one at a time, with seed %i', (seed) => {
    const { lives, long } = makeWeather(seed, 600_000);
    const stages = [...lives, long].flatMap((life) => life.stages);
    expect(new Set(stages.map(({ end }) => end))).toEqual(new Set(['quiet', 'term', 'kill']));
    expect(new Set(stages.flatMap(({ faults }) => faults.map(({ kind }) => kind)))).toEqual(new Set(UPSTREAM_FAULTS));
    expect(lives[0]?.upstreamComesAfterMs).toBeGreaterThan(0);
    for (const { faults } of stages)
      for (const [i, { atMs, forMs }] of faults.entries())
        expect(faults[i + 1]?.atMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(atMs + forMs);
    for (const life of lives) expect(life.stages.slice(0, -1).every(({ end }) => end === 'quiet')).toBe(true);
  });
});
