import { describe, expect, it } from 'vitest';
import type { CallCountsReading } from '../../../src/metrics/call-counts.ts';
import { createStatistics, SessionStatistics } from '../../../src/metrics/statistics.ts';
import { ManualClock } from '../../support/clock.ts';

const MS = 1e6;
const OPTIONS = {
  windowMs: 300_000,
  durationUnit: 'seconds',
  maxNames: { rpc: 2, sba: 2, object: 2 },
  maxNamesPerSession: 200,
} as const;

const plain = ({ ok, clientErrors, errors, durations }: CallCountsReading) => [
  ok,
  clientErrors,
  errors,
  durations.cumulative().at(-1),
];

describe('the counts of calls', () => {
  it('hold each call once, by its outcome, and agree with meter and timer', () => {
    const { rpc } = createStatistics(OPTIONS, new ManualClock());
    for (const status of [200, 304, 404, 500, 503]) rpc.recordAnswered('E.A', status, 4 * MS);
    rpc.recordFailed('E.A');
    rpc.recordRefused('E.A', 2 * MS);
    expect(plain(rpc.countsByName.get('E.A') as CallCountsReading)).toEqual([2, 1, 4, 6]);
    const { timers, meters } = rpc.metrics();
    expect([timers.get('rpc.E.A')?.count, meters.get('rpc.E.A.errors')?.count]).toEqual([6, 4]);
  });

  it('add up to the totals, whether calls have a name, had one refused, or none', () => {
    const { rpc } = createStatistics(OPTIONS, new ManualClock());
    rpc.recordAnswered('a', 200, MS);
    rpc.recordAnswered('b', 500, MS);
    rpc.recordAnswered('too many', 200, MS);
    rpc.recordAnswered('scan', 404, MS);
    rpc.recordAnswered(undefined, 200, MS);
    rpc.recordFailed('unknown');
    rpc.recordFailed(undefined);
    rpc.recordRefused('unknown', MS);
    expect([...rpc.countsByName.keys()]).toEqual(['', 'a', 'b', '(other)']);
    const sums = [...rpc.countsByName.values()].map(plain).reduce((a, b) => a.map((n, i) => (n ?? 0) + (b[i] ?? 0)));
    expect(sums).toEqual([3, 1, 4, 6]);
    const { timers, meters } = rpc.metrics();
    expect([timers.get('rpc')?.count, meters.get('rpc.errors')?.count]).toEqual([6, 4]);
    expect(rpc.nameCount).toBe(3);
  });

  it('give an empty name no series of its own', () => {
    const { rpc } = createStatistics(OPTIONS, new ManualClock());
    rpc.recordAnswered(undefined, 200, MS);
    rpc.recordAnswered('', 200, MS);
    expect([...rpc.countsByName].map(([name, counts]) => [name, counts.ok])).toEqual([['', 2]]);
  });

  it('forget nothing when the window has passed', () => {
    const clock = new ManualClock();
    const statistics = createStatistics(OPTIONS, clock);
    statistics.rpc.recordAnswered('a', 200, MS);
    const created = statistics.createTimer();
    created.update(MS);
    clock.advanceS(3_600);
    expect(statistics.rpc.countsByName.get('a')?.durations.cumulative().at(-1)).toBe(1);
    expect(created.durations?.cumulative().at(-1)).toBe(1);
    expect(created.snapshot().max).toBe(0);
  });

  it('are not kept for sessions', () => {
    const { rpc } = new SessionStatistics(new ManualClock(), OPTIONS.maxNamesPerSession);
    rpc.recordAnswered('a', 200, MS);
    expect(rpc.countsByName.size).toBe(0);
  });
});
