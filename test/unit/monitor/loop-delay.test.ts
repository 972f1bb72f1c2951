import { expect, it } from 'vitest';
import { LoopDelay } from '../../../src/monitor/process-reading.ts';
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
