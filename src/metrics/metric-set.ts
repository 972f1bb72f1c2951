import assert from 'node:assert/strict';
import type { MeterReading } from './meter.ts';
import type { TimerReading } from './timer.ts';

/**
 * A value that is read when the answer is written, e.g. `{ type: 'integer', read: () => sessions.size }`.
 *
 * `type` is that of the field: a `double` of 5 is written as `5.0`. A string is written as a string whatever the type.
 * If `read` throws, this gauge alone is written as Dropwizard's `error`.
 */
export interface Gauge {
  readonly type: 'integer' | 'double';
  read(): number | string | null;
}

export interface CounterReading {
  readonly count: number;
}

/**
 * Metrics by full name, e.g. `rpc.E.Demo.TestInOut`: the content of one answer. Values are read when written. A section
 * may gain and lose names while it is read.
 */
export interface MetricSet {
  readonly gauges: ReadonlyMap<string, Gauge>;
  readonly counters: ReadonlyMap<string, CounterReading>;
  readonly meters: ReadonlyMap<string, MeterReading>;
  readonly timers: ReadonlyMap<string, TimerReading>;
}

export type GrowingMetricSet = {
  readonly [Section in keyof MetricSet]: MetricSet[Section] extends ReadonlyMap<string, infer Metric>
    ? Map<string, Metric>
    : never;
};

export function createMetricSet(): GrowingMetricSet {
  return { gauges: new Map(), counters: new Map(), meters: new Map(), timers: new Map() };
}

export const emptyMetricSet: MetricSet = createMetricSet();

/** The same metric may be in two sets; two metrics with one name in one section fail an assertion. */
export function unionOf(...sets: readonly MetricSet[]): MetricSet {
  return {
    gauges: unionOfSections(sets.map((set) => set.gauges)),
    counters: unionOfSections(sets.map((set) => set.counters)),
    meters: unionOfSections(sets.map((set) => set.meters)),
    timers: unionOfSections(sets.map((set) => set.timers)),
  };
}

function unionOfSections<Metric>(sections: readonly ReadonlyMap<string, Metric>[]): ReadonlyMap<string, Metric> {
  const filled = sections.filter((section) => section.size > 0);
  const [only] = filled;
  // Copying many names would take time.
  if (only !== undefined && filled.length === 1) return only;
  const union = new Map<string, Metric>();
  for (const section of filled) {
    for (const [name, metric] of section) {
      const present = union.get(name);
      assert(present === undefined || present === metric, `two metrics are called ${name}`);
      union.set(name, metric);
    }
  }
  return union;
}
