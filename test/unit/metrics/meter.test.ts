import { expect, it } from 'vitest';
import { Meter, type MeterSnapshot } from '../../../src/metrics/meter.ts';
import { ManualClock } from '../../support/clock.ts';
import { readFixture } from './read-fixture.ts';

type Step =
  | { op: 'mark'; t_ns: number; n: number }
  | { op: 'marks'; from_ns: number; to_ns: number; every_ns: number; n: number }
  | ({ op: 'read'; t_ns: number } & Record<keyof MeterSnapshot, number | 'Infinity'>);

type Scenario = { name: string; created_at_ns: number; steps: Step[] };
type Averages = { ticks: number; m1: number; m5: number; m15: number };

const { scenarios } = JSON.parse(readFixture('meter-vectors.json')) as { scenarios: Scenario[] };
const { series } = JSON.parse(readFixture('ewma-vectors.json')) as { series: Averages[] };

it.each(scenarios)('Meter reads what the library reads, digit for digit: $name', ({ created_at_ns, steps }) => {
  const clock = new ManualClock({ startNs: created_at_ns });
  const meter = new Meter(clock);
  for (const step of steps) {
    if (step.op === 'marks') {
      for (clock.ns = step.from_ns; clock.ns <= step.to_ns; clock.ns += step.every_ns) meter.mark(step.n);
      continue;
    }
    clock.ns = step.t_ns;
    if (step.op === 'mark') meter.mark(step.n);
    else {
      const { op: _op, t_ns: _t, mean, ...rest } = step;
      expect(meter.snapshot()).toEqual({ ...rest, mean: Number(mean) });
    }
  }
  expect(steps.map(({ op }) => op)).toContain('read');
});

it('Meter averages as the library does, tick by tick', () => {
  for (const { ticks, m1, m5, m15 } of series) {
    const clock = new ManualClock();
    const meter = new Meter(clock);
    meter.mark(3);
    clock.ns = ticks * 5e9 + 1;
    expect(meter.snapshot(), `${ticks} ticks`).toMatchObject({ m1, m5, m15 });
  }
  expect(series.length).toBeGreaterThan(10);
});
