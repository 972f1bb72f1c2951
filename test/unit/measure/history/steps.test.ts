import { expect, it } from 'vitest';
import { RecentCounts } from '../../../../src/measure/history/steps.ts';

function counted(start: Readonly<Record<string, number>> = {}) {
  const counters = new Map(Object.entries(start));
  const recent = new RecentCounts(() => new Map(counters));
  const add = (key: string, count: number) => counters.set(key, (counters.get(key) ?? 0) + count);
  const steps = (count: number) => {
    for (let i = 0; i < count; i += 1) recent.take();
  };
  return { recent, add, steps, of: (key: string) => recent.read().get(key) };
}

it('recent counts are what was counted in the last minute, and since the start', () => {
  // What was restored is no recent count.
  const { add, steps, of } = counted({ hits: 1_000 });
  expect(of('hits')).toEqual({ sinceStart: 0, inMinute: 0 });
  add('hits', 3);
  expect(of('hits')).toEqual({ sinceStart: 3, inMinute: 3 });
  steps(11);
  add('hits', 2);
  expect(of('hits')).toEqual({ sinceStart: 5, inMinute: 5 });
  steps(1);
  expect(of('hits')).toEqual({ sinceStart: 5, inMinute: 2 });
  steps(11);
  expect(of('hits')).toEqual({ sinceStart: 5, inMinute: 0 });
  add('late', 4);
  expect(of('late')).toEqual({ sinceStart: 4, inMinute: 4 });
});
