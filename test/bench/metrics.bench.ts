import { bench, describe } from 'vitest';
import { type Clock, NS_PER_S, systemClock } from '../../src/base/clock.ts';
import { DurationBuckets } from '../../src/metrics/duration-buckets.ts';
import { Timer } from '../../src/metrics/timer.ts';
import { Random } from '../support/fuzz/random.ts';

const random = new Random(1);
/** 1 to 100 ms, evenly over the magnitudes: the widest expected spread of one RPC. */
const durations = Array.from({ length: 4_096 }, () => Math.round(1e6 * 100 ** random.next()));
const durationAt = (i: number): number => durations[i & 4_095] as number;
let drawn = 0;
const nextDuration = (): number => {
  drawn += 1;
  return durationAt(drawn);
};

let nowNs = 1;
const stillClock: Clock = { nowNs: () => nowNs, epochMs: () => 0 };
const createWindowTimer = (clock: Clock): Timer => new Timer({ clock, windowNs: 300 * NS_PER_S });

/** Its values lie in 30 slices of a clock that stops then. */
function filled(values: number): Timer {
  const clock = { nowNs: () => atNs, epochMs: () => 0 };
  let atNs = 1;
  const timer = createWindowTimer(clock);
  for (let i = 0; i < values; i += 1) {
    timer.update(durationAt(i));
    atNs += Math.floor((299 * NS_PER_S) / values);
  }
  return timer;
}

describe('update', () => {
  const windowed = createWindowTimer(stillClock);
  const windowedReal = createWindowTimer(systemClock);
  const lifetime = new Timer({ clock: stillClock });
  const stepped = createWindowTimer(stillClock);
  stepped.openSteps();
  const buckets = new DurationBuckets();
  bench('DurationBuckets', () => buckets.add(nextDuration()));
  bench('Timer with a window', () => windowed.update(nextDuration()));
  bench('Timer of its whole life', () => lifetime.update(nextDuration()));
  bench('Timer with a window and steps', () => stepped.update(nextDuration()));
  bench('Timer with a window that reads the real clock', () => windowedReal.update(nextDuration()));
});

describe('snapshot', () => {
  for (const values of [150, 1_000, 10_000]) {
    const windowed = filled(values);
    bench(`${values} values in 30 slices`, () => void windowed.snapshot());
  }
});

describe('a slice that leaves a busy window', () => {
  const timer = createWindowTimer(stillClock);
  bench('1,000 values, then one more that expires the oldest slice', () => {
    for (let i = 0; i < 1_000; i += 1) timer.update(durationAt(i));
    nowNs += 10 * NS_PER_S;
  });
});
