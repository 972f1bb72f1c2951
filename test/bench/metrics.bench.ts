import { bench, describe } from 'vitest';
import { NS_PER_S } from '../../src/base/clock.ts';
import { DurationBuckets } from '../../src/metrics/duration-buckets.ts';
import { Timer } from '../../src/metrics/timer.ts';
import { Random } from '../support/fuzz/random.ts';

const random = new Random(1);
/** 1 to 100 ms, evenly over the magnitudes: the widest expected spread of one RPC. */
const durations = Array.from({ length: 4_096 }, () => Math.round(1e6 * 100 ** random.next()));
let drawn = 0;
const nextDuration = (): number => {
  drawn += 1;
  return durations[drawn & 4_095] as number;
};

let nowNs = 1;
const clock = { nowNs: () => nowNs, epochMs: () => 0 };
const createTimer = () => new Timer({ clock, windowNs: 300 * NS_PER_S });

describe('update', () => {
  const windowed = createTimer();
  const lifetime = new Timer({ clock });
  const buckets = new DurationBuckets();
  bench('DurationBuckets', () => buckets.add(nextDuration()));
  bench('Timer with a window', () => windowed.update(nextDuration()));
  bench('Timer of its whole life', () => lifetime.update(nextDuration()));
});

describe('snapshot', () => {
  const windowed = createTimer();
  for (let i = 0; i < 10_000; i += 1) {
    windowed.update(nextDuration());
    nowNs += Math.floor((299 * NS_PER_S) / 10_000);
  }
  bench('10,000 values in 30 slices', () => void windowed.snapshot());
});

describe('a slice that leaves a busy window', () => {
  const timer = createTimer();
  bench('1,000 values, then one more that expires the oldest slice', () => {
    for (let i = 0; i < 1_000; i += 1) timer.update(nextDuration());
    nowNs += 10 * NS_PER_S;
  });
});
