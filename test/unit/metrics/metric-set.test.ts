import { describe, expect, it } from 'vitest';
import { Counter } from '../../../src/metrics/counter.ts';
import { emptyMetricSet, type MetricSet, unionOf } from '../../../src/metrics/metric-set.ts';

const counters = (entries: Record<string, Counter>): MetricSet => ({
  ...emptyMetricSet,
  counters: new Map(Object.entries(entries)),
});

describe('unionOf', () => {
  it('has every metric of every set once', () => {
    const [a, b] = [new Counter(), new Counter()];
    const union = unionOf(counters({ a }), emptyMetricSet, counters({ a, b }));
    expect([...union.counters]).toEqual([
      ['a', a],
      ['b', b],
    ]);
    expect(union.timers.size).toBe(0);
  });

  it('refuses two metrics with one name in one section', () => {
    expect(() => unionOf(counters({ a: new Counter() }), counters({ a: new Counter() }))).toThrow(
      'two metrics are called a',
    );
  });

  it('allows one name in two sections', () => {
    const gauge = { type: 'integer', read: () => 1 } as const;
    const union = unionOf(counters({ a: new Counter() }), { ...emptyMetricSet, gauges: new Map([['a', gauge]]) });
    expect([union.counters.size, union.gauges.size]).toEqual([1, 1]);
  });
});
