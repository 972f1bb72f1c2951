import { beforeEach, describe, expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/clock.ts';
import type { CallCounts } from '../../../src/metrics/call-counts.ts';
import { type MetricSet, unionOf } from '../../../src/metrics/metric-set.ts';
import type { ApplicationStatistics, Statistics } from '../../../src/metrics/statistics.ts';
import { createStatistics } from '../../../src/metrics/statistics.ts';
import { ManualClock } from '../../support/clock.ts';

const MS = NS_PER_MS;
const OPTIONS = {
  windowMs: 300_000,
  durationUnit: 'seconds',
  maxNamesPerSession: 3,
  maxNames: { rpc: 3, sba: 2, object: 2 },
} as const;

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

const createApplication = (): ApplicationStatistics => createStatistics(OPTIONS, clock);

const createSession = () => createApplication().createSessionStatistics();

/** Counts by section and name, e.g. `{ 'timers rpc': 2, 'gauges object.monitored': 0 }`. */
function countsOf(set: MetricSet | undefined): Record<string, number | string | null> {
  const counts: Record<string, number | string | null> = {};
  for (const [name, gauge] of set?.gauges ?? []) counts[`gauges ${name}`] = gauge.read();
  for (const section of ['counters', 'meters', 'timers'] as const) {
    for (const [name, { count }] of set?.[section] ?? []) counts[`${section} ${name}`] = count;
  }
  return counts;
}

const KINDS: { kind: string; create: () => Statistics }[] = [
  { kind: 'of the application', create: createApplication },
  { kind: 'of a session', create: createSession },
];

describe.each(KINDS)('statistics $kind', ({ create }) => {
  let rpc: Statistics['rpc'];
  let sba: Statistics['sba'];
  let object: Statistics['object'];
  beforeEach(() => {
    ({ rpc, sba, object } = create());
  });

  it('have their totals from the start, with zeros', () => {
    expect(countsOf(unionOf(rpc.metrics(), sba.metrics(), object.metrics()))).toEqual({
      ...{ 'meters rpc.errors': 0, 'meters sba.errors': 0, 'timers rpc': 0, 'timers sba': 0 },
      ...{ 'gauges object.monitored': 0, 'counters object.subscriptions': 0, 'meters object.newValues': 0 },
    });
  });

  it('count every answer on the timers, statuses from 500 on and calls without an answer as errors, the latter on a name only if it exists', () => {
    for (const name of ['E.A', undefined]) rpc.recordFailed(name);
    expect(countsOf(rpc.metrics())).toEqual({ 'timers rpc': 0, 'meters rpc.errors': 2 });
    for (const status of [200, 304, 404, 500, 503]) rpc.recordAnswered('E.A', status, 4 * MS);
    rpc.recordFailed('E.A');
    expect(countsOf(rpc.metrics())).toEqual({
      ...{ 'timers rpc': 5, 'timers rpc.E.A': 5, 'meters rpc.errors': 5, 'meters rpc.E.A.errors': 3 },
    });
    expect(rpc.metrics().timers.get('rpc.E.A')?.snapshot()).toMatchObject({ min: 4 * MS, max: 4 * MS });
  });

  it('admit a name by an answer below 400 or from 500 on, and count other calls of unknown names in the totals', () => {
    for (const status of [400, 401, 404, 429, 499]) sba.recordAnswered('scan', status, MS);
    sba.recordAnswered(undefined, 200, MS);
    expect(countsOf(sba.metrics())).toEqual({ 'timers sba': 6, 'meters sba.errors': 0 });
    expect(sba.metricsOf('scan')).toBeUndefined();
    for (const status of [101, 200, 304, 399, 500, 503]) {
      ({ rpc } = create());
      rpc.recordAnswered('E.A', status, MS);
      rpc.recordAnswered('E.A', 404, MS);
      expect(rpc.metricsOf('E.A')?.timers.get('rpc.E.A')?.count).toBe(2);
    }
  });

  it('fold names beyond the budget into (other), say how often, and show the metrics of one name', () => {
    for (const name of ['a', 'b', 'c', 'd', 'e', 'a']) rpc.recordAnswered(name, name === 'e' ? 500 : 200, MS);
    rpc.recordAnswered('unknown', 404, MS);
    rpc.recordFailed('d');
    const counts = countsOf(rpc.metrics());
    expect(counts).toMatchObject({ 'timers rpc': 7, 'timers rpc.a': 2 });
    expect(counts).not.toHaveProperty(['timers rpc.d']);
    expect(rpc.foldedCount).toBe(2);
    const other = { 'timers rpc.(other)': 2, 'meters rpc.(other).errors': 1 };
    expect([counts, countsOf(rpc.metricsOf('(other)'))]).toEqual([expect.objectContaining(other), other]);
    expect(countsOf(rpc.metricsOf('b'))).toEqual({ 'timers rpc.b': 1, 'meters rpc.b.errors': 0 });
  });

  it('fold names longer than 512 characters without touching the budget', () => {
    for (const length of [513, 513, 100_000, 512]) rpc.recordAnswered('x'.repeat(length), 200, MS);
    for (const name of ['a', 'b']) rpc.recordAnswered(name, 200, MS);
    const { timers } = rpc.metrics();
    expect([...timers.values()].map(({ count }) => count)).toEqual([6, 3, 1, 1, 1]);
    expect([...timers.keys()].map(({ length }) => length)).toEqual([3, 11, 516, 5, 5]);
    rpc.recordAnswered('x'.repeat(513), 404, MS);
    expect(timers.get('rpc.(other)')?.count).toBe(4);
  });

  it('count a read with 2xx and a pushed value as one received value', () => {
    for (const status of [200, 206, 299, 304, 399, 404, 500]) object.recordRead('H.T', status);
    object.recordValue('H.T');
    expect(countsOf(object.metrics())).toMatchObject({ 'meters object.newValues': 4 });
    expect(countsOf(object.metricsOf('H.T'))).toEqual({
      ...{ 'meters object.H.T.newValues': 4, 'counters object.H.T.subscriptions': 0 },
    });
  });

  it('create an object, with zeros, for a read that failed in the server, but not for a refused one', () => {
    object.recordRead('H.Broken', 500);
    object.recordRead('H.Unknown', 404);
    expect(countsOf(object.metricsOf('H.Broken'))).toEqual({
      ...{ 'counters object.H.Broken.subscriptions': 0, 'meters object.H.Broken.newValues': 0 },
    });
    expect(object.metricsOf('H.Unknown')).toBeUndefined();
    expect(countsOf(object.metrics())).toMatchObject({ 'meters object.newValues': 0 });
  });

  it('follow monitorings up and down, those of folded objects under (other), and never below zero', () => {
    const read = () => {
      const counts = countsOf(object.metrics());
      return ['gauges object.monitored', 'counters object.subscriptions', 'counters object.a.subscriptions'].map(
        (name) => counts[name],
      );
    };
    for (const name of ['a', 'a', 'b']) object.subscribe(name);
    expect(read()).toEqual([2, 3, 2]);
    for (const name of ['c', 'd', 'e']) object.subscribe(name);
    const folded = object.metrics().counters.get('object.(other).subscriptions')?.count ?? 0;
    expect([folded > 0, folded]).toEqual([true, object.foldedCount]);
    for (const name of ['a', 'a', 'a', 'b', 'b', 'never', 'c', 'd', 'e']) object.unsubscribe(name);
    expect(read()).toEqual([0, 0, 0]);
    expect(countsOf(object.metrics())).toMatchObject({ 'counters object.(other).subscriptions': 0 });
  });
});

it('budgets are one for each kind in the application', () => {
  const { rpc, sba, object } = createApplication();
  for (let i = 0; i < 10; i += 1) {
    for (const calls of [rpc, sba]) calls.recordAnswered(`n${i}`, 200, MS);
    object.recordRead(`n${i}`, 200);
  }
  // The names of the budget, the total, and (other).
  expect([rpc.metrics().timers.size, sba.metrics().timers.size, object.metrics().counters.size]).toEqual([5, 4, 4]);
  expect([rpc.foldedCount, sba.foldedCount, object.foldedCount]).toEqual([7, 8, 8]);
});

it('budgets are one over all kinds in a session, given to names in the order of the calls', () => {
  const session = createSession();
  session.recordAnswered({ kind: 'rpc', name: 'a' }, 200, 5, 1);
  session.recordAnswered({ kind: 'sba', name: 'a' }, 200, 5, 2);
  session.recordAnswered({ kind: 'object', name: 'a' }, 200, 5, 3);
  session.object.recordValue('later');
  session.sba.recordAnswered('b', 200, MS);
  const { rpc, sba, object } = session;
  expect([...unionOf(rpc.metrics(), sba.metrics(), object.metrics()).meters.keys()].sort()).toEqual([
    ...['object.(other).newValues', 'object.a.newValues', 'object.newValues', 'rpc.a.errors', 'rpc.errors'],
    ...['sba.(other).errors', 'sba.a.errors', 'sba.errors'],
  ]);
});

it.each([1, 2, 31, 32, 33, 70])('a session shows each of %i answers once, as soon as it is read', (count) => {
  const session = createSession();
  for (let n = 1; n <= count; n += 1) {
    session.recordAnswered({ kind: 'rpc', name: 'A' }, n === 1 ? 503 : 200, n * MS, clock.nowNs());
  }
  const read = () => session.rpc.metricsOf('A')?.timers.get('rpc.A')?.snapshot();
  expect([session.errorCount, read()?.count]).toEqual([1, count]);
  session.recordAnswered({ kind: 'object', name: 'O' }, 200, 5, clock.nowNs());
  expect(session.object.metricsOf('O')?.meters.get('object.O.newValues')?.count).toBe(1);
  expect(read()).toMatchObject({ count, min: MS, max: count * MS, mean: ((count + 1) / 2) * MS });
});

it('the timers of the application forget after the window, those of a session do not', () => {
  const [application, session] = [createApplication(), createSession()];
  for (const { rpc } of [application, session]) rpc.recordAnswered('a', 200, 6 * MS);
  clock.advanceS(300);
  expect(application.rpc.metrics().timers.get('rpc.a')?.snapshot()).toMatchObject({ count: 1, max: 0 });
  expect(session.rpc.metrics().timers.get('rpc.a')?.snapshot()).toMatchObject({ count: 1, max: 6 * MS });
});

const plain = ({ ok, clientErrors, errors, durations }: CallCounts) => {
  return [ok, clientErrors, errors, durations.cumulative().at(-1) ?? 0];
};

it('the counts of calls add up to the totals, whether calls have a name, had one refused, or none, which has no series of its own', () => {
  const { rpc } = createApplication();
  rpc.recordAnswered('a', 200, MS);
  rpc.recordAnswered('b', 500, MS);
  for (const name of ['c', 'too many', undefined, '']) rpc.recordAnswered(name, 200, MS);
  rpc.recordAnswered('scan', 404, MS);
  for (const name of ['unknown', undefined]) rpc.recordFailed(name);
  rpc.recordRefused('unknown', MS);
  // The name that only failed has given way to one that succeeded.
  expect([...rpc.countsByName.keys()]).toEqual(['', 'a', 'c', '(other)', 'too many']);
  const sums = [...rpc.countsByName.values()].map(plain).reduce((a, b) => a.map((n, i) => n + (b[i] ?? 0)));
  expect(sums).toEqual([5, 1, 4, 8]);
  const { timers, meters } = rpc.metrics();
  expect([timers.get('rpc')?.count, meters.get('rpc.errors')?.count, rpc.nameCount]).toEqual([8, 4, 4]);
});
