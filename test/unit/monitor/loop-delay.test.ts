import { expect, it } from 'vitest';
import { LoopDelay, readProcess } from '../../../src/monitor/process-reading.ts';
import { ManualClock } from '../../support/clock.ts';

it('LoopDelay counts how much later than its interval a timer ran', () => {
  const clock = new ManualClock();
  const delay = new LoopDelay(clock);
  delay.start();
  for (const ms of [20, 19, 23, 320]) {
    clock.ns += ms * 1e6;
    delay.sample();
  }
  delay.stop();
  // Bounds: 1, 2.5, 5, 10, 25, 50, 100, 250, 500 ms, 1 s.
  expect(delay.durations.cumulative()).toEqual([2, 2, 3, 3, 3, 3, 3, 3, 4, 4, 4]);
  expect(delay.durations.sumSeconds).toBeCloseTo(0.303, 9);
});

it('readProcess reports what this process uses', async () => {
  const first = await readProcess();
  const second = await readProcess();
  expect(second.cpuSeconds).toBeGreaterThanOrEqual(first.cpuSeconds);
  expect(first.residentBytes).toBeGreaterThan(first.heapUsedBytes);
  expect(first.startTimeSeconds * 1000).toBeLessThanOrEqual(performance.timeOrigin + 1);
  expect(first.openFds).toBeGreaterThan(2);
  expect(first.maxFds).toBeGreaterThanOrEqual(first.openFds ?? 0);
});
