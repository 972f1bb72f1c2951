import { expect, it } from 'vitest';
import { coarsen, decodeStep, encodeStep, merge, NO_CALLS, STEP_COLUMNS } from '../../../src/archive/step-row.ts';
import { MinuteCalls } from '../../../src/metrics/call-counts.ts';

const US = 1_000;

function reading(...durationsNs: readonly number[]) {
  const minute = Object.assign(new MinuteCalls(), { ok: durationsNs.length, late: 1, clientErrors: 2, errors: 3 });
  for (const ns of durationsNs) minute.addDuration(ns);
  return coarsen(minute.take() ?? NO_CALLS);
}

const rowOf = (made: ReturnType<typeof reading>) =>
  Object.fromEntries(encodeStep(made).map((value, at) => [STEP_COLUMNS[at] ?? '', value]));

it.each([
  ['no duration', []],
  ['the shortest and the longest', [0, 3_600e9]],
  ['300 equal ones', new Array(300).fill(20_000 * US)],
  ['one in each octave', Array.from({ length: 31 }, (_, at) => US * 2 ** at)],
])('a row has all of a reading with %s', (_, durationsNs) => {
  const made = reading(...durationsNs);
  const row = rowOf(made);
  expect(decodeStep(row)).toEqual(made);
  expect(row).toMatchObject({ count: durationsNs.length, ok: durationsNs.length, clientErrors: 2, errors: 3, late: 1 });
  const max = durationsNs.length === 0 ? null : Math.max(...durationsNs) / US;
  expect(row).toMatchObject({ max, p99: max });
});

it('merged readings are one reading of all calls, also after they were rows', () => {
  const [one, other] = [reading(US, 5_000 * US), reading(US, 70_000 * US)];
  const whole = { ...reading(US, 5_000 * US, US, 70_000 * US), clientErrors: 4, errors: 6, late: 2 };
  expect(merge(decodeStep(rowOf(one)), other)).toEqual(whole);
  expect(merge(NO_CALLS, one)).toEqual(one);
});
