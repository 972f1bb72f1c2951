import { expect, it } from 'vitest';
import type { JvmState } from '../../../../src/jvm/jvm-monitor.ts';
import { JvmHistory, type JvmPoint } from '../../../../src/measure/history/jvm-history.ts';
import { available, unavailable } from '../../../support/measure/history/sources.ts';

const NOTHING = { heapUsed: null, heapAfterGc: null, gcPauseMs: null, busyThreads: null, cores: null };

function pointsOf(...states: JvmState[]): JvmPoint[] {
  const history = new JvmHistory();
  return states.map((state) => history.sample(state));
}

const byName = (name: string, timeMs: number) => new Map([[name, { timeMs }]]);
const collected = (timeMs: number, name = 'G1 Young Generation') => available({ collectors: byName(name, timeMs) });

it('the JVM in a step has no values while it cannot be read, the current heap, and what collections left in its pools', () => {
  expect(pointsOf(unavailable('gone'))).toEqual([NOTHING]);
  expect(pointsOf(available({}))).toEqual([NOTHING]);
  const pools = new Map([
    ['G1 Eden Space', { usedAfterGc: 0 }],
    ['G1 Old Gen', { used: 90, usedAfterGc: 70 }],
    ['Metaspace', { used: 30 }],
  ]);
  expect(pointsOf(available({ heap: { used: 100 }, pools }))).toMatchObject([{ heapUsed: 100, heapAfterGc: 70 }]);
  // Of a source that only knows the heap after a collection.
  const state = available({ heap: { used: 60 }, memory: 'after-gc' });
  expect(pointsOf(state)).toMatchObject([{ heapUsed: null, heapAfterGc: 60 }]);
});

it('the JVM in a step has the pauses since the reading before, of all collectors: all of a restarted JVM, and none of a time in which it could not be read', () => {
  const of = (young: number, old: number) =>
    available({ collectors: new Map([...byName('Copy', young), ...byName('MarkSweepCompact', old)]) });
  const pauses = pointsOf(of(10, 5), of(10, 5), of(14, 25)).map(({ gcPauseMs }) => gcPauseMs);
  expect(pauses).toEqual([null, 0, 24]);
  expect(pointsOf(collected(500), collected(20)).at(-1)).toMatchObject({ gcPauseMs: 20 });
  const gaps = pointsOf(collected(5), unavailable('gone'), collected(900), collected(901));
  expect(gaps.map(({ gcPauseMs }) => gcPauseMs)).toEqual([null, null, null, 1]);
});

it.each([
  [null, ['ZGC', 'ZGC Cycles', 'ZGC Minor Cycles', 'ZGC Major Cycles', 'Shenandoah Cycles']],
  [2, ['ZGC Pauses', 'ZGC Minor Pauses', 'Shenandoah Pauses', 'G1 Concurrent GC']],
])('the JVM in a step has pauses of %s ms of collectors such as %j', (gcPauseMs, names) => {
  const pauses = names.map((name) => pointsOf(collected(5, name), collected(7, name)).at(-1));
  expect(pauses).toEqual(names.map(() => ({ ...NOTHING, gcPauseMs })));
});
