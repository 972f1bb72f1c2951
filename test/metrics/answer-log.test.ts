import { afterAll, beforeAll, expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../src/base/clock.ts';
import type { TimedCall } from '../../src/metrics/answer-log.ts';
import { HistogramPool, initMetrics } from '../../src/metrics/histogram-pool.ts';
import { type MetricSet, unionOf } from '../../src/metrics/metric-set.ts';
import { createSessionStatistics, createStatistics, type Statistics } from '../../src/metrics/statistics.ts';
import { WindowTimer } from '../../src/metrics/window-timer.ts';
import { Random } from '../fuzz/random.ts';
import { NsClock } from './ns-clock.ts';

const OPTIONS = {
  windowMs: 300_000,
  durationUnit: 'seconds',
  maxNames: { rpc: 3, sba: 2, object: 2 },
  maxNamesPerSession: 5,
} as const;

const pool = new HistogramPool();
beforeAll(initMetrics);
afterAll(() => pool.destroy());

function valuesOf({ timers, meters }: MetricSet): unknown {
  return [...timers, ...meters].map(([name, metric]) => [name, metric.snapshot()]);
}

const readAll = ({ rpc, sba, object }: Statistics): unknown =>
  valuesOf(unionOf(rpc.metrics(), sba.metrics(), object.metrics()));

const toCounts = ({ rpc }: Statistics): unknown =>
  Array.from(rpc.counts, ([name, { ok, clientErrors, errors, durations }]) => [
    ...[name, ok, clientErrors, errors],
    durations.cumulative(),
  ]);

/** 500 calls of two kinds, some failed, with objects between them that share the session's names. */
function makeCalls(statistics: Statistics, clock: NsClock, afterEach: () => void): void {
  const random = new Random(7);
  for (let i = 0; i < 500; i += 1) {
    clock.ns += random.below(2 * NS_PER_S) + 0.25;
    const call: TimedCall = { kind: random.below(4) === 0 ? 'sba' : 'rpc', name: `E.N${random.below(6)}` };
    const status = [200, 204, 404, 500][random.below(4)] ?? 200;
    statistics.recordAnswered(call, status, random.below(90 * NS_PER_MS) + 0.125, clock.nowNs());
    if (random.below(150) === 0) statistics.object.recordValue(`H.N${random.below(3)}`);
    afterEach();
  }
}

it('a session whose calls are counted later has exactly the numbers of one that is read after each call', () => {
  const clocks = [new NsClock(), new NsClock()] as const;
  const [later, atOnce] = clocks.map((clock) => createSessionStatistics(OPTIONS, clock)) as [Statistics, Statistics];
  makeCalls(later, clocks[0], () => undefined);
  makeCalls(atOnce, clocks[1], () => readAll(atOnce));
  expect(later.errorCount).toBe(atOnce.errorCount);
  expect(readAll(later)).toEqual(readAll(atOnce));
  expect(later.rpc.foldedCount).toBe(atOnce.rpc.foldedCount);
  expect(later.rpc.foldedCount).toBeGreaterThan(0);
});

it('a session shows each of its calls to the next who reads', () => {
  const clock = new NsClock();
  const session = createSessionStatistics(OPTIONS, clock);
  for (let calls = 1; calls <= 40; calls += 1) {
    session.recordAnswered({ kind: 'rpc', name: 'E.A' }, 200, NS_PER_MS, clock.nowNs());
    if (calls % 7 === 0) expect(session.rpc.metrics().timers.get('rpc.E.A')?.count).toBe(calls);
  }
  session.recordAnswered({ kind: 'rpc', name: 'E.A' }, 500, NS_PER_MS, clock.nowNs());
  expect(session.errorCount).toBe(1);
  expect(session.rpc.metrics().timers.get('rpc')?.count).toBe(41);
});

it('a name begins with its first call, not when that is counted', () => {
  const clock = new NsClock();
  const session = createSessionStatistics(OPTIONS, clock);
  clock.advanceS(10);
  session.recordAnswered({ kind: 'rpc', name: 'E.A' }, 200, NS_PER_MS, clock.nowNs());
  clock.advanceS(4);
  expect(session.rpc.metrics().timers.get('rpc.E.A')?.snapshot().rates.mean).toBe(0.25);
  expect(session.rpc.metrics().timers.get('rpc')?.snapshot().rates.mean).toBeCloseTo(1 / 14, 12);
});

it('names are admitted in the order of their calls, also where an object comes behind calls that are not counted yet', () => {
  const session = createSessionStatistics(OPTIONS, new NsClock());
  for (let i = 0; i < 5; i += 1) session.recordAnswered({ kind: 'rpc', name: `E.N${i}` }, 200, NS_PER_MS, 0);
  session.object.recordValue('H.Late');
  expect([...session.object.objects.keys()]).toEqual(['(other)']);
  expect(session.rpc.foldedCount).toBe(0);
});

it('a timer over a window that counts later has exactly the numbers of one that is read after each duration', () => {
  const clock = new NsClock();
  const create = () => new WindowTimer({ clock, windowNs: 60 * NS_PER_S, histograms: pool });
  const [later, atOnce] = [create(), create()];
  const steps = [later.openSteps(), atOnce.openSteps()] as const;
  const random = new Random(11);
  for (let i = 1; i <= 2_000; i += 1) {
    clock.ns += random.below(NS_PER_S) + 0.25;
    const durationNs = random.below(90 * NS_PER_MS) + 0.125;
    later.update(durationNs);
    atOnce.update(durationNs);
    atOnce.snapshot();
    expect(later.count).toBe(i);
    if (i % 333 !== 0) continue;
    expect(steps[0].take()).toEqual(steps[1].take());
    expect(later.snapshot()).toEqual(atOnce.snapshot());
  }
});

it('an application counts a call that comes again as the same object as it counts one that is new each time', () => {
  const clocks = [new NsClock(), new NsClock()] as const;
  const [again, anew] = [createStatistics(OPTIONS, clocks[0]), createStatistics(OPTIONS, clocks[1])];
  const random = new Random(13);
  const names = ['E.A', 'E.B', 'E.C', 'E.D', 'E.E', '(other)', `E.${'x'.repeat(600)}`];
  const remembered = names.map((name): TimedCall => ({ kind: 'rpc', name }));
  for (let i = 0; i < 2_000; i += 1) {
    const call = remembered[random.below(names.length)] as TimedCall;
    const status = [200, 304, 404, 503][random.below(4)] ?? 200;
    const durationNs = random.below(90 * NS_PER_MS) + 0.125;
    for (const clock of clocks) clock.ns += 1_000_000;
    again.recordAnswered(call, status, durationNs, clocks[0].nowNs());
    anew.recordAnswered({ kind: call.kind, name: call.name }, status, durationNs, clocks[1].nowNs());
  }
  expect(readAll(again)).toEqual(readAll(anew));
  expect(toCounts(again)).toEqual(toCounts(anew));
  expect(again.rpc.foldedCount).toBe(anew.rpc.foldedCount);
  expect(again.rpc.foldedCount).toBeGreaterThan(500);
  expect(remembered.filter(({ countedOn }) => countedOn !== undefined)).toHaveLength(4);
});

it('a call that was counted on one application counts on another as well', () => {
  const clock = new NsClock();
  const [one, other] = [createStatistics(OPTIONS, clock), createStatistics(OPTIONS, clock)];
  const call: TimedCall = { kind: 'rpc', name: 'E.A' };
  for (const statistics of [one, other, one, other, other]) statistics.recordAnswered(call, 200, NS_PER_MS, 0);
  expect(one.rpc.metrics().timers.get('rpc.E.A')?.count).toBe(2);
  expect(other.rpc.metrics().timers.get('rpc.E.A')?.count).toBe(3);
});
