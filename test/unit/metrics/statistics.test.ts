import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/clock.ts';
import { Meter } from '../../../src/metrics/meter.ts';
import { type MetricSet, unionOf } from '../../../src/metrics/metric-set.ts';
import { OTHER_NAME } from '../../../src/metrics/name-table.ts';
import {
  type ApplicationStatistics,
  createStatistics,
  SessionStatistics,
  type Statistics,
} from '../../../src/metrics/statistics.ts';
import { ManualClock } from '../../support/clock.ts';

const OPTIONS = {
  windowMs: 300_000,
  durationUnit: 'seconds',
  maxNames: { rpc: 3, sba: 2, object: 2 },
  maxNamesPerSession: 3,
} as const;

const MS = NS_PER_MS;
const opened: ApplicationStatistics[] = [];
let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});
afterAll(() => {
  for (const statistics of opened) statistics.destroy();
});

function createApplication(): ApplicationStatistics {
  const statistics = createStatistics(OPTIONS, clock);
  opened.push(statistics);
  return statistics;
}

/** Counts by section and name, e.g. `{ 'timers rpc': 2, 'gauges object.monitored': 0 }`. */
function countsOf(set: MetricSet): Record<string, number | string | null> {
  const counts: Record<string, number | string | null> = {};
  for (const [name, gauge] of set.gauges) counts[`gauges ${name}`] = gauge.read();
  for (const section of ['counters', 'meters', 'timers'] as const) {
    for (const [name, { count }] of set[section]) counts[`${section} ${name}`] = count;
  }
  return counts;
}

const KINDS: { kind: string; create: () => Statistics }[] = [
  { kind: 'of the application', create: createApplication },
  { kind: 'of a session', create: () => new SessionStatistics(clock, OPTIONS.maxNamesPerSession) },
];

describe.each(KINDS)('call statistics $kind', ({ create }) => {
  it('have their totals from the start, with zeros', () => {
    const { rpc, sba } = create();
    expect(countsOf(unionOf(rpc.metrics(), sba.metrics()))).toEqual({
      'meters rpc.errors': 0,
      'meters sba.errors': 0,
      'timers rpc': 0,
      'timers sba': 0,
    });
  });

  it('count every answer on the timers, and statuses from 500 on as errors', () => {
    const { rpc } = create();
    for (const status of [200, 304, 404, 500, 503]) rpc.recordAnswered('E.A', status, 4 * MS);
    expect(countsOf(rpc.metrics())).toEqual({
      'timers rpc': 5,
      'timers rpc.E.A': 5,
      'meters rpc.errors': 2,
      'meters rpc.E.A.errors': 2,
    });
    expect(rpc.metrics().timers.get('rpc.E.A')?.snapshot()).toMatchObject({ min: 4 * MS, max: 4 * MS });
  });

  it('count refused calls of unknown names in the totals only', () => {
    const { sba } = create();
    sba.recordAnswered('scan', 404, MS);
    sba.recordAnswered(undefined, 200, MS);
    expect(countsOf(sba.metrics())).toEqual({ 'timers sba': 2, 'meters sba.errors': 0 });
    expect(sba.metricsOf('scan')).toBeUndefined();
  });

  it('count unanswered calls as errors without a duration, on a name only if it exists', () => {
    const { rpc } = create();
    rpc.recordFailed('E.A');
    rpc.recordFailed(undefined);
    expect(countsOf(rpc.metrics())).toEqual({ 'timers rpc': 0, 'meters rpc.errors': 2 });
    rpc.recordAnswered('E.A', 200, MS);
    rpc.recordFailed('E.A');
    expect(countsOf(rpc.metrics())).toEqual({
      'timers rpc': 1,
      'timers rpc.E.A': 1,
      'meters rpc.errors': 3,
      'meters rpc.E.A.errors': 1,
    });
  });

  it('fold names beyond the budget into (other), and say how often', () => {
    const { rpc } = create();
    for (const name of ['a', 'b', 'c', 'd', 'e', 'a']) rpc.recordAnswered(name, name === 'e' ? 500 : 200, MS);
    rpc.recordAnswered('unknown', 404, MS);
    rpc.recordFailed('d');
    const counts = countsOf(rpc.metrics());
    expect(counts).toMatchObject({
      'timers rpc': 7,
      'timers rpc.a': 2,
      'timers rpc.(other)': 2,
      'meters rpc.(other).errors': 1,
    });
    expect(counts).not.toHaveProperty(['timers rpc.d']);
    expect(rpc.foldedCount).toBe(2);
    expect(countsOf(rpc.metricsOf(OTHER_NAME) as MetricSet)).toEqual({
      'timers rpc.(other)': 2,
      'meters rpc.(other).errors': 1,
    });
  });

  it('show the metrics of one name', () => {
    const { rpc } = create();
    rpc.recordAnswered('E.A', 200, MS);
    rpc.recordAnswered('E.B', 200, MS);
    expect(countsOf(rpc.metricsOf('E.B') as MetricSet)).toEqual({ 'timers rpc.E.B': 1, 'meters rpc.E.B.errors': 0 });
  });

  it('show the same metrics whenever they are read', () => {
    const { rpc } = create();
    rpc.recordAnswered('E.A', 200, MS);
    const before = rpc.metrics();
    rpc.recordAnswered('E.B', 500, MS);
    expect(countsOf(before)).toEqual(countsOf(rpc.metrics()));
    expect(unionOf(before, rpc.metrics(), rpc.metricsOf('E.B') as MetricSet).timers.size).toBe(3);
  });

  it('read error meters as if they were as old as the name', () => {
    clock.advanceS(2);
    const eagerTotal = new Meter(clock);
    const { rpc } = create();
    clock.advanceS(4);
    const eager = new Meter(clock);
    rpc.recordAnswered('E.A', 200, MS);
    clock.advanceS(71.3);
    for (const meter of [eagerTotal, eager]) meter.mark();
    rpc.recordFailed('E.A');
    for (const seconds of [0, 1, 4, 33, 500]) {
      clock.advanceS(seconds);
      expect(rpc.metrics().meters.get('rpc.errors')?.snapshot()).toEqual(eagerTotal.snapshot());
      expect(rpc.metrics().meters.get('rpc.E.A.errors')?.snapshot()).toEqual(eager.snapshot());
    }
  });
});

describe.each(KINDS)('object statistics $kind', ({ create }) => {
  it('have their totals from the start, with zeros', () => {
    expect(countsOf(create().object.metrics())).toEqual({
      'gauges object.monitored': 0,
      'counters object.subscriptions': 0,
      'meters object.newValues': 0,
    });
  });

  it('count a read below 400 as one received value', () => {
    const { object } = create();
    for (const status of [200, 204, 399, 404, 500]) object.recordRead('H.T', status);
    expect(countsOf(object.metrics())).toMatchObject({
      'meters object.newValues': 3,
      'meters object.H.T.newValues': 3,
      'counters object.H.T.subscriptions': 0,
    });
  });

  it('create an object, with zeros, for a read that failed in the server, but not for a refused one', () => {
    const { object } = create();
    object.recordRead('H.Broken', 500);
    object.recordRead('H.Unknown', 404);
    expect(countsOf(object.metricsOf('H.Broken') as MetricSet)).toEqual({
      'counters object.H.Broken.subscriptions': 0,
      'meters object.H.Broken.newValues': 0,
    });
    expect(object.metricsOf('H.Unknown')).toBeUndefined();
    expect(countsOf(object.metrics())).toMatchObject({ 'meters object.newValues': 0 });
  });

  it('follow monitorings up and down, and never below zero', () => {
    const { object } = create();
    for (const name of ['a', 'a', 'b']) object.subscribe(name);
    expect(countsOf(object.metrics())).toMatchObject({
      'gauges object.monitored': 2,
      'counters object.subscriptions': 3,
      'counters object.a.subscriptions': 2,
    });
    for (const name of ['a', 'a', 'a', 'b', 'b', 'never']) object.unsubscribe(name);
    expect(countsOf(object.metrics())).toMatchObject({
      'gauges object.monitored': 0,
      'counters object.subscriptions': 0,
      'counters object.a.subscriptions': 0,
    });
  });

  it('count pushed values', () => {
    const { object } = create();
    object.recordValue('a');
    object.recordValue('a');
    expect(countsOf(object.metricsOf('a') as MetricSet)).toEqual({
      'counters object.a.subscriptions': 0,
      'meters object.a.newValues': 2,
    });
  });

  it('keep the monitorings of folded objects under (other), and take them back there', () => {
    const { object } = create();
    for (const name of ['a', 'b', 'c', 'd', 'e']) object.subscribe(name);
    const { counters } = object.metrics();
    const folded = counters.get('object.(other).subscriptions')?.count ?? 0;
    expect(folded).toBe(object.foldedCount);
    expect(folded).toBeGreaterThan(0);
    for (const name of ['a', 'b', 'c', 'd', 'e']) object.unsubscribe(name);
    expect(countsOf(object.metrics())).toMatchObject({
      'gauges object.monitored': 0,
      'counters object.subscriptions': 0,
      'counters object.(other).subscriptions': 0,
    });
  });
});

describe('budgets', () => {
  it('are one for each kind in the application', () => {
    const { rpc, sba, object } = createApplication();
    for (let i = 0; i < 10; i += 1) {
      rpc.recordAnswered(`n${i}`, 200, MS);
      sba.recordAnswered(`n${i}`, 200, MS);
      object.recordRead(`n${i}`, 200);
    }
    // The names of the budget, the total, and (other).
    expect([rpc.metrics().timers.size, sba.metrics().timers.size, object.metrics().counters.size]).toEqual([5, 4, 4]);
    expect([rpc.foldedCount, sba.foldedCount, object.foldedCount]).toEqual([7, 8, 8]);
  });

  it('are one over all kinds in a session', () => {
    const { rpc, sba, object } = new SessionStatistics(clock, OPTIONS.maxNamesPerSession);
    for (const name of ['a', 'b']) rpc.recordAnswered(name, 200, MS);
    sba.recordAnswered('a', 200, MS);
    sba.recordAnswered('b', 200, MS);
    object.recordRead('a', 200);
    expect([...unionOf(rpc.metrics(), sba.metrics(), object.metrics()).meters.keys()].sort()).toEqual([
      'object.(other).newValues',
      'object.newValues',
      'rpc.a.errors',
      'rpc.b.errors',
      'rpc.errors',
      'sba.(other).errors',
      'sba.a.errors',
      'sba.errors',
    ]);
  });

  it('hold against a scan of 100,000 unknown names', () => {
    const { rpc } = createApplication();
    for (let i = 0; i < 100_000; i += 1) rpc.recordAnswered(`scan${i}`, 404, MS);
    expect(countsOf(rpc.metrics())).toEqual({ 'timers rpc': 100_000, 'meters rpc.errors': 0 });
  });
});

describe('the timers', () => {
  it('of the application forget after the window, those of a session do not', () => {
    const application = createApplication();
    const session = new SessionStatistics(clock, OPTIONS.maxNamesPerSession);
    for (const { rpc } of [application, session]) rpc.recordAnswered('a', 200, 6 * MS);
    clock.advanceS(300);
    expect(application.rpc.metrics().timers.get('rpc.a')?.snapshot()).toMatchObject({ count: 1, max: 0 });
    expect(session.rpc.metrics().timers.get('rpc.a')?.snapshot()).toMatchObject({ count: 1, max: 6 * MS });
  });

  it('of a session count from its beginning, although they are created later', () => {
    const session = new SessionStatistics(clock, OPTIONS.maxNamesPerSession);
    clock.advanceS(8);
    session.sba.recordAnswered(undefined, 200, MS);
    clock.advanceS(2);
    expect(session.sba.metrics().timers.get('sba')?.snapshot().rates.mean).toBe(0.1);
  });

  it('made on request forget after the same window', () => {
    const timer = createApplication().createTimer();
    timer.update(MS);
    clock.advanceS(299);
    expect(timer.snapshot().max).toBe(MS);
    clock.advanceS(1);
    expect(timer.snapshot().max).toBe(0);
  });
});
