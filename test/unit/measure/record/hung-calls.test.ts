import { expect, it } from 'vitest';
import { findHung, hideUnconfirmedName, type RunningName } from '../../../../src/measure/record/running-calls.ts';
import { CallCounts } from '../../../../src/metrics/call-counts.ts';
import { CallStatistics } from '../../../../src/metrics/call-statistics.ts';
import { NameBudget } from '../../../../src/metrics/name-table.ts';
import { Timer } from '../../../../src/metrics/timer.ts';
import { ManualClock } from '../../../support/clock.ts';

const clock = new ManualClock();
const S = 1e9;

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
