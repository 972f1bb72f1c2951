import { describe, expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S, NS_PER_US } from '../../../src/base/clock.ts';
import { Timer, type TimerSnapshot } from '../../../src/metrics/timer.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';
import { ManualClock } from '../../support/clock.ts';
import { Random } from '../../support/fuzz/random.ts';

const HOUR_NS = 3_600 * NS_PER_S;
const PERCENTILES = { p50: 0.5, p75: 0.75, p95: 0.95, p98: 0.98, p99: 0.99, p999: 0.999 } as const;

const KINDS = [
  { kind: 'a timer with a window', error: 0.01, windowNs: 300 * NS_PER_S },
  { kind: 'a timer of its whole life', error: 0.1, windowNs: Number.POSITIVE_INFINITY },
];

/** Durations in whole microseconds from 1 µs to 1 h. */
const DISTRIBUTIONS: Record<string, (random: Random) => number> = {
  'evenly over all magnitudes': (random) => Math.floor(3_600_000_000 ** random.next()),
  'up to 400 µs': (random) => 1 + random.below(400),
  exponential: (random) => 1 + Math.floor(-20_000 * Math.log(1 - random.next())),
  'fast with a slow tail': (random) =>
    random.chance(0.97) ? 800 + random.below(300) : 2_000_000 + random.below(9_000_000),
  'almost an hour': (random) => 3_600_000_000 - random.below(1_000_000),
};

/** What the contract defines, computed from all values: rank ceil(p * n), population form. */
function expectNear(snapshot: TimerSnapshot, values: readonly number[], error: number): void {
  const sorted = Float64Array.from(values).sort();
  const n = sorted.length;
  for (const [key, p] of Object.entries(PERCENTILES)) {
    // Rounded first: 0.95 * 60 must be 57, not the 57.00000000000001 that some products give.
    const exact = sorted[Math.ceil(Number((p * n).toFixed(6))) - 1] as number;
    const read = snapshot[key as keyof typeof PERCENTILES];
    expect(Math.abs(read - exact), `${key} of ${n}: ${read} for ${exact}`).toBeLessThanOrEqual(exact * error);
  }
  const mean = sorted.reduce((sum, value) => sum + value, 0) / n;
  const variance = sorted.reduce((sum, value) => sum + (value - mean) ** 2, 0) / n;
  expect(snapshot.count).toBe(n);
  expect(snapshot.min).toBe(sorted[0]);
  expect(snapshot.max).toBe(sorted[n - 1]);
  expect(Math.abs(snapshot.mean - mean)).toBeLessThanOrEqual(mean * 1e-9);
  expect(Math.abs(snapshot.stddev - Math.sqrt(variance))).toBeLessThanOrEqual(mean * 1e-9);
}

describe.each(KINDS)('$kind', ({ windowNs, error }) => {
  const create = (clock: ManualClock) => new Timer({ clock, windowNs });

  for (const [name, draw] of Object.entries(DISTRIBUTIONS)) {
    it(`keeps percentiles within ${error * 100} % of a sorted list: ${name}`, () => {
      for (const [seed, n] of [1, 2, 3, 10, 20, 60, 999, 1_000, 5_000].entries()) {
        const random = new Random(seed + 1);
        const clock = new ManualClock();
        const timer = create(clock);
        const values = Array.from({ length: n }, () => draw(random) * NS_PER_US);
        for (const value of values) {
          timer.update(value);
          clock.ns += Math.floor((299 * NS_PER_S) / n);
        }
        expectNear(timer.snapshot(), values, error);
      }
    });
  }

  it.each([
    ['above one hour is one hour', 50 * HOUR_NS, 1, HOUR_NS],
    ['below half a microsecond is exact', 1, 1, 1],
    ['below zero is ignored', -1, 0, 0],
    ['that is no number is ignored', Number.NaN, 0, 0],
  ])('a duration %s', (_, ns, count, shown) => {
    const timer = create(new ManualClock());
    timer.update(ns);
    const all = { min: shown, max: shown, mean: shown, p50: shown, p999: shown, stddev: 0 };
    expect(timer.snapshot()).toMatchObject({ count, ...all });
  });
});

const WINDOW_S = 300;

function timerOf(windowS = WINDOW_S): { readonly timer: Timer; readonly clock: ManualClock } {
  const clock = new ManualClock();
  return { clock, timer: new Timer({ clock, windowNs: windowS * NS_PER_S }) };
}

it('a window shows a lone value for exactly as long as the window, then zeros', () => {
  const { clock, timer } = timerOf();
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
  const { clock, timer } = timerOf();
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
