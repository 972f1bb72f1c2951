import { describe, expect, it } from 'vitest';
import { makeWeather, UPSTREAM_FAULTS } from '../../../chaos/run/weather.ts';

describe('the weather', () => {
  it('follows from the seed', () => {
    expect(makeWeather(1, 600_000)).toEqual(makeWeather(1, 600_000));
    expect(makeWeather(1, 600_000)).not.toEqual(makeWeather(2, 600_000));
  });

  it.each([1, 2, 3])('has every fault within ten minutes, with seed %i', (seed) => {
    const { lives, long } = makeWeather(seed, 600_000);
    const stages = lives.flatMap((life) => life.stages);
    expect(new Set(stages.map(({ end }) => end))).toEqual(new Set(['quiet', 'term', 'kill']));
    expect(new Set(lives.map(({ dataPath }) => dataPath))).toEqual(new Set(['auto', 'gateway']));
    const faults = [...stages, ...long.stages].flatMap((stage) => stage.faults);
    expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(UPSTREAM_FAULTS));
    expect(lives[0]?.upstreamComesAfterMs).toBeGreaterThan(0);
  });

  it('ends a life with its last stage only', () => {
    for (const { stages } of makeWeather(4, 600_000).lives) {
      expect(stages.slice(0, -1).every(({ end }) => end === 'quiet')).toBe(true);
    }
  });

  it.each([60_000, 600_000])('lasts about as long as requested, %i ms', (totalMs) => {
    const { lives, long } = makeWeather(1, totalMs);
    const chaosMs = [...lives, long].flatMap((life) => life.stages).reduce((sum, stage) => sum + stage.chaosMs, 0);
    expect(chaosMs).toBeGreaterThan(totalMs * 0.5);
    expect(chaosMs).toBeLessThan(totalMs * 1.2);
  });

  it('never has two faults at once', () => {
    for (const { stages } of makeWeather(1, 600_000).lives) {
      for (const { faults } of stages) {
        for (const [i, { atMs }] of faults.entries()) {
          const previous = faults[i - 1];
          if (previous !== undefined) expect(atMs).toBeGreaterThan(previous.atMs + previous.forMs);
        }
      }
    }
  });
});
