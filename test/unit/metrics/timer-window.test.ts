import { expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../src/base/clock.ts';
import { Timer } from '../../../src/metrics/timer.ts';
import { ManualClock } from '../../support/clock.ts';
import { Random } from '../../support/fuzz/random.ts';

const WINDOW_S = 300;

function createTimer(): { clock: ManualClock; timer: Timer } {
  const clock = new ManualClock();
  return { clock, timer: new Timer({ clock, windowNs: WINDOW_S * NS_PER_S }) };
}

it('a window shows a lone value for exactly as long as the window, then zeros', () => {
  const { clock, timer } = createTimer();
  clock.advanceS(17.3);
  timer.update(8 * NS_PER_MS);
  clock.ns += WINDOW_S * NS_PER_S - 1;
  expect(timer.snapshot()).toMatchObject({ min: 8 * NS_PER_MS, p50: 8 * NS_PER_MS, mean: 8 * NS_PER_MS });
  clock.ns += 1;
  const { rates, count, ...durations } = timer.snapshot();
  expect(new Set(Object.values(durations))).toEqual(new Set([0]));
  expect(count).toBe(1);
  expect(rates.mean).toBeCloseTo(1 / 317.3, 12);
});

it('a window never shows a value older than the window, and loses none earlier than a thirtieth of it', () => {
  const { clock, timer } = createTimer();
  const random = new Random(3);
  const values: { ns: number; atNs: number }[] = [];
  for (let i = 0; i < 4_000; i += 1) {
    clock.ns += Math.floor(random.next() * 2e9);
    const value = { ns: (1 + random.below(5_000_000)) * NS_PER_US, atNs: clock.ns };
    values.push(value);
    timer.update(value.ns);
    if (i % 20 !== 0) continue;
    const sureNs = clock.ns - WINDOW_S * NS_PER_S * (29 / 30);
    const { max, min } = timer.snapshot();
    const allowed = values.filter(({ atNs }) => atNs > clock.ns - WINDOW_S * NS_PER_S).map(({ ns }) => ns);
    const sure = values.filter(({ atNs }) => atNs > sureNs).map(({ ns }) => ns);
    expect(max).toBeGreaterThanOrEqual(Math.max(...sure));
    expect(max).toBeLessThanOrEqual(Math.max(...allowed));
    expect(min).toBeLessThanOrEqual(Math.min(...sure));
    expect(min).toBeGreaterThanOrEqual(Math.min(...allowed));
  }
});

// 300 and 1,500 values in a window.
it.each([1, 5])('a window removes expired values from the percentiles, at %i values a second', (perSecond) => {
  const { clock, timer } = createTimer();
  const random = new Random(5);
  // Values that differ by slice, many in one bucket, so that a slice taken out wrongly shifts every percentile.
  for (let second = 0; second < 1_000; second += 1) {
    for (let i = 0; i < perSecond; i += 1) timer.update((second + 1) * NS_PER_MS + random.below(20) * NS_PER_US);
    clock.advanceS(1);
    // The oldest second that may be there: slices of 10 s began at 0, 10, 20, ... s.
    const oldest = second < 299 ? 0 : Math.floor((second + 1 - WINDOW_S) / 10 + 1) * 10;
    const median = (oldest + second + 2) / 2;
    const { p50, count } = timer.snapshot();
    expect(Math.abs(p50 / NS_PER_MS - median), `at ${second} s`).toBeLessThanOrEqual(median * 0.005 + 0.55);
    expect(count).toBe(perSecond * (second + 1));
  }
});
