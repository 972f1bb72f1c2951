import { describe, expect, it } from 'vitest';
import type { SlowOutcome } from '../../../../src/measure/record/call-totals.ts';
import {
  findHung,
  hideUnconfirmedName,
  type RunningCall,
  RunningCalls,
  type RunningName,
  SlowestCalls,
} from '../../../../src/measure/record/running-calls.ts';
import { CallCounts } from '../../../../src/metrics/call-counts.ts';
import { CallStatistics } from '../../../../src/metrics/call-statistics.ts';
import { NameBudget } from '../../../../src/metrics/name-table.ts';
import { Timer } from '../../../../src/metrics/timer.ts';
import { ManualClock } from '../../../support/clock.ts';

const S = 1e9;
const clock = new ManualClock();

function callOf(name: string, beganNs: number, user?: string, clientWaitNs = 0): RunningCall {
  return {
    call: { kind: 'rpc', name },
    session: user === undefined ? undefined : { id: `id of ${user}`, userName: user },
    ...{ connectionType: 'REST', remoteAddress: '10.0.0.7', beganNs },
    ...{ threadDump: undefined, place: -1, clientWaitAt: () => clientWaitNs },
  };
}

const named = (calls: RunningCalls, max = 1_000) => calls.oldest(max).map(({ name }) => name);

it('the calls that run are shown oldest first, with user, session and age, without the time that their client took', () => {
  const calls = new RunningCalls(clock);
  clock.ns = 10 * S;
  calls.add(callOf('A', 4 * S, 'ann'));
  calls.add(callOf('B', 2 * S));
  expect(calls.size).toBe(2);
  const [oldest, other] = calls.oldest(1_000);
  expect(oldest).toMatchObject({ name: 'B', sessionId: null, userName: null, duration: 8 });
  expect(other).toEqual({
    ...{ kind: 'rpc', name: 'A', sessionId: 'id of ann', userName: 'ann', connectionType: 'REST' },
    ...{ remoteAddress: '10.0.0.7', duration: 6, startTime: new Date(clock.epochMs() - 6_000).toISOString() },
  });
  const slow = new RunningCalls(clock);
  slow.add(callOf('A', 4 * S, 'ann', 5 * S));
  expect(slow.oldest(1)[0]?.duration).toBe(1);
  expect([...slow.byName()]).toMatchObject([{ oldest: 1, youngest: 1 }]);
  const first = callOf('C0', 0);
  calls.add(first);
  expect([named(calls, 2), calls.size]).toEqual([['C0', 'B'], 3]);
  calls.delete(first);
  expect([named(calls, 2), calls.size]).toEqual([['B', 'A'], 2]);
});

it('a call that the server has acknowledged does not hang', () => {
  const calls = new RunningCalls(clock);
  for (const ackedNs of [undefined, 0, 5 * S])
    calls.add({ ...callOf('A', 4 * S), ...(ackedNs !== undefined && { ackedNs }) });
  calls.add({ ...callOf('B', 4 * S), ackedNs: 5 * S });
  expect([...calls.byName()]).toMatchObject([{ name: 'A', count: 2 }]);
});

describe('the slowest calls', () => {
  const ANN = { id: 'b7c1', userName: 'ann' };
  function ended(calls: SlowestCalls, name: string, atS: number, seconds: number, outcome: SlowOutcome = 'ok') {
    clock.ns = atS * S;
    const call = callOf(name, (atS - seconds) * S);
    const times = { beganNs: call.beganNs, endedNs: clock.ns, durationNs: seconds * S, clientWaitNs: S / 2 };
    const status = outcome === 'ok' ? 200 : 0;
    calls.add(call, ANN, { ...times, firstByteNs: status === 0 ? 0 : clock.ns - S, status }, outcome);
  }
  const named = (calls: SlowestCalls) => calls.slowest().map(({ name }) => name);

  it('are shown slowest first, with their end', () => {
    const calls = new SlowestCalls(10, clock);
    ended(calls, 'A', 100, 2);
    ended(calls, 'B', 101, 3, 'unanswered');
    const who = { sessionId: 'b7c1', userName: 'ann' };
    expect(calls.slowest()).toMatchObject([
      { ...who, name: 'B', duration: 3, status: null, outcome: 'unanswered', firstByte: null },
      { name: 'A', duration: 2, status: 200, outcome: 'ok' },
    ]);
    expect(calls.slowest()[0]?.endTime).toBe(new Date(clock.epochMs()).toISOString());
  });

  it('are the slowest of all, whatever order they come in', () => {
    const calls = new SlowestCalls(5, clock);
    for (let at = 0; at < 300; at += 1) ended(calls, `C${at}`, 1_000 + at, 1 + ((at * 37) % 300));
    const slowest = Array.from({ length: 300 }, (_, at) => at)
      .sort((a, b) => ((b * 37) % 300) - ((a * 37) % 300))
      .slice(0, 5);
    expect(named(calls)).toEqual(slowest.map((at) => `C${at}`));
  });

  it('are forgotten after an hour, and those below them are shown', () => {
    const calls = new SlowestCalls(2, clock);
    for (const name of ['A', 'B', 'C']) ended(calls, name, 100, 90);
    ended(calls, 'later', 1_900, 5);
    ended(calls, 'later, shorter', 1_901, 4);
    expect(named(calls)).toEqual(['A', 'B']);
    clock.ns = (100 + 3_600) * S;
    expect(named(calls)).toEqual(['later', 'later, shorter']);
    clock.ns = (1_901 + 3_600) * S;
    expect(named(calls)).toEqual([]);
  });

  it('keep no more than 256 characters of a name', () => {
    const calls = new SlowestCalls(10, clock);
    ended(calls, 'N'.repeat(256), 100, 2);
    ended(calls, 'N'.repeat(60_000), 101, 1);
    expect(named(calls)).toEqual(['N'.repeat(256), `${'N'.repeat(255)}…`]);
  });
});

function hungOf(running: readonly Partial<RunningName>[], answeredS: readonly number[] = []) {
  const createTimer = (createdNs: number) => new Timer({ clock, createdNs });
  const createCounts = () => new CallCounts();
  const rpc = new CallStatistics({ prefix: 'rpc', clock, createTimer, budget: new NameBudget(10), createCounts });
  for (const seconds of answeredS) rpc.recordAnswered('P.Report', 200, seconds * S);
  const whole = running.map(
    (name): RunningName => ({ ...{ kind: 'rpc', name: 'P.Report', count: 1, youngest: 0, oldest: 0, ...name } }),
  );
  return findHung({ running: { byName: () => whole }, statistics: { rpc, sba: rpc } });
}

it.each([
  ['ten times as long as usual', [{ count: 2, youngest: 10.1, oldest: 30 }], [0.9, 1], true],
  ['less than ten times as long', [{ count: 2, youngest: 9.9, oldest: 30 }], [0.9, 1], false],
  ['for less than 5 s', [{ count: 2, youngest: 4.9, oldest: 4.9 }], [0.001], false],
  ['when one of them is new', [{ count: 9, youngest: 0.1, oldest: 60 }], [0.001], false],
  ['without an answer yet, for 5 s', [{ count: 2, youngest: 5, oldest: 9 }], [], true],
  ['alone and without an answer yet, for 10 s', [{ count: 1, youngest: 10, oldest: 10 }], [], false],
  ['alone and without an answer yet, for 30 s', [{ count: 1, youngest: 30, oldest: 30 }], [], true],
  ['that usually take longer than any bucket', [{ count: 2, youngest: 3_000, oldest: 3_000 }], [100], false],
])('calls hang %s', (_what, running, answered, isHung) => {
  expect(hungOf(running, answered) !== null).toBe(isHung);
});

it('calls hang of the name with the most of them', () => {
  const names = [
    { name: 'A', count: 3, youngest: 9, oldest: 9 },
    { name: 'B', count: 4, youngest: 8, oldest: 8 },
  ];
  const hung = hungOf(names);
  expect(hung).toMatchObject({ name: 'B', p99: null });
  expect(hung && hideUnconfirmedName(hung)).toBe('(not answered yet)');
});
