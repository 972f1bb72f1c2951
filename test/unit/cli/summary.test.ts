import { expect, it } from 'vitest';
import type { TargetOfMonth } from '../../../src/archive/compare.ts';
import { formatSummary } from '../../../src/cli/summary.ts';

const DAY_S = 86_400;
const TARGET = { application: 'smartWeb', name: 'E.Boiler.*', withinMs: 500, share: 0.99 };
const summaryOf = (targets?: readonly TargetOfMonth[]) => [
  ...formatSummary({ from: 0, to: DAY_S, applications: [], marks: [], ...(targets && { targets }) }),
];
const HEAD = '1970-01-01 00:00 to 1970-01-02 00:00 UTC; in parentheses: as much time before';
const NO_OUTAGES = '\nOutages of the application server: 0';

it('has a line for each target, with this month and its allowance', () => {
  const lines = summaryOf([
    { ...TARGET, month: { met: 199_991, missed: 9 }, allowanceUsed: 0.0045 },
    { ...TARGET, share: 0.9995, month: { met: 998, missed: 2 }, allowanceUsed: 4 },
    { ...TARGET, share: 1, month: { met: 0, missed: 0 }, allowanceUsed: null },
  ]);
  expect(lines).toEqual([
    HEAD,
    '\nTargets, of the calls of this month (UTC)',
    '  /smartWeb E.Boiler.* within 500 ms: 99.99 % of 200,000 calls, 99 % wanted, 0.45 % of the allowance used',
    '  /smartWeb E.Boiler.* within 500 ms: 99.8 % of 1,000 calls, 99.95 % wanted, 400 % of the allowance used',
    '  /smartWeb E.Boiler.* within 500 ms: no calls, 100 % wanted, none may miss it',
    NO_OUTAGES,
  ]);
});

it('says when the history was not written, and that it is not now', () => {
  const reason = 'The history cannot be written: database or disk is full.';
  const mark = { epochMs: 3_600_000, endEpochMs: 7_200_000, kind: 'history', text: reason } as const;
  const lines = [...formatSummary({ from: 0, to: DAY_S, applications: [], marks: [mark], failure: reason })];
  expect(lines).toEqual([
    HEAD,
    `\n${reason} What has happened since is missing here.`,
    NO_OUTAGES,
    '\nTimes without a history',
    `  1970-01-01 01:00  60 min  ${reason}`,
  ]);
});
