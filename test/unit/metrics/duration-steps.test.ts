import { expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../src/base/clock.ts';
import { Timer } from '../../../src/metrics/timer.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';
import { ManualClock } from '../../support/clock.ts';
import { Random } from '../../support/fuzz/random.ts';

const NOTHING = { count: 0, p50: 0, p95: 0, p99: 0 };

function timerOf(windowS = 300): { readonly timer: Timer; readonly clock: ManualClock } {
  const clock = new ManualClock();
  return { clock, timer: new Timer({ clock, windowNs: windowS * NS_PER_S }) };
}

function exactly(durations: readonly number[], percent: number): number {
  const sorted = [...durations].sort((a, b) => a - b);
  return sorted[Math.ceil((percent * sorted.length) / 100) - 1] as number;
}

it('steps of a timer have the distribution of that step alone, also when slices leave the window', () => {
  for (const windowS of [1, 7, 60, 300]) {
    const random = new Random(windowS);
    const { timer, clock } = timerOf(windowS);
    timer.update(3_600 * NS_PER_S);
    const steps = timer.openSteps();
    for (let step = 0; step < 100; step += 1) {
      // Each another decade, from 10 µs to 100 s; some without any call.
      const scale = 10 ** (1 + random.below(8)) * NS_PER_US;
      const durations = Array.from({ length: random.below(4) * random.below(60) }, () => scale * (1 + random.next()));
      for (const duration of durations) {
        timer.update(duration);
        clock.ns += (5 * NS_PER_S) / durations.length;
      }
      if (durations.length === 0) clock.advanceS(5);
      const { count, ...percentiles } = steps.take();
      expect(count).toBe(durations.length);
      for (const percent of [50, 95, 99] as const) {
        const expected = durations.length === 0 ? 0 : exactly(durations, percent);
        // Durations are kept in microseconds.
        const bound = Math.max(expected * 0.005, 0.5 * NS_PER_US);
        expect(Math.abs(percentiles[`p${percent}`] - expected), `p${percent}`).toBeLessThanOrEqual(bound);
      }
    }
  }
});

it('steps of a timer begin when they are opened, also in the middle of a slice', () => {
  const { timer } = timerOf();
  for (let i = 0; i < 10; i += 1) timer.update(1 * NS_PER_S);
  const steps = timer.openSteps();
  expect(steps.take()).toEqual(NOTHING);
  timer.update(2 * NS_PER_MS);
  expect(steps.take()).toMatchObject({ count: 1 });
  expect(steps.take()).toEqual(NOTHING);
});

it('steps of a timer do not include restored values', () => {
  const { timer: before } = timerOf();
  before.update(1 * NS_PER_S);
  const { timer } = timerOf();
  timer.load(new SavedRecord(JSON.parse(JSON.stringify(before.save())), { savedNs: 0, savedAtNs: 0, nowNs: 0 }), 1);
  const steps = timer.openSteps();
  timer.update(20 * NS_PER_MS);
  const { count, p99 } = steps.take();
  expect(count).toBe(1);
  expect(p99 / NS_PER_MS).toBeCloseTo(20, 0);
  expect(timer.snapshot().max).toBe(NS_PER_S);
});

it('steps of a timer do not change the window', () => {
  const { timer, clock } = timerOf();
  const steps = timer.openSteps();
  timer.update(5 * NS_PER_MS);
  const before = timer.snapshot();
  steps.take();
  clock.ns += 1;
  expect(timer.snapshot()).toEqual({ ...before, rates: timer.snapshot().rates });
});
