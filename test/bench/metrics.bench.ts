import { bench, describe } from 'vitest';
import { type Clock, NS_PER_S, systemClock } from '../../src/base/clock.ts';
import { DurationBuckets } from '../../src/metrics/duration-buckets.ts';
import { HistogramPool } from '../../src/metrics/histogram-pool.ts';
import { WindowTimer } from '../../src/metrics/window-timer.ts';
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
const createWindowTimer = (clock: Clock): WindowTimer =>
  new WindowTimer({ clock, windowNs: 300 * NS_PER_S, histograms: new HistogramPool() });

/** Its values lie in 30 slices of a clock that stops then. */
function filled(values: number): WindowTimer {
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
  const buckets = new DurationBuckets();
  bench('DurationBuckets', () => buckets.add(nextDuration()));
  bench('WindowTimer', () => windowed.update(nextDuration()));
  bench('WindowTimer that reads the real clock', () => windowedReal.update(nextDuration()));
});

describe('snapshot', () => {
  // The last has a histogram.
  for (const values of [150, 1_000, 1_001]) {
    const windowed = filled(values);
    bench(`WindowTimer with ${values} values in 30 slices`, () => void windowed.snapshot());
  }
});

describe('a slice that leaves a busy window', () => {
  const timer = createWindowTimer(stillClock);
  bench('1,000 values, then one more that expires the oldest slice', () => {
    for (let i = 0; i < 1_000; i += 1) timer.update(durationAt(i));
    nowNs += 10 * NS_PER_S;
  });
});
