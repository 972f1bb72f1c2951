import { expect, it } from 'vitest';
import { allowanceUsedOf, CallTargets } from '../../../../src/measure/record/call-targets.ts';
import { SavedRecord } from '../../../../src/state/saved-record.ts';
import { ManualClock } from '../../../support/clock.ts';
import { Random } from '../../../support/fuzz/random.ts';

const MS = 1e6;
const BOILER = { name: 'E.Boiler.Start', withinMs: 500, share: 0.99 };
const ALL = { name: 'E.*', withinMs: 100, share: 0.9 };
const createdAt = (clock: ManualClock, ...list: (typeof BOILER)[]) => {
  const targets = new CallTargets(clock);
  targets.use(list);
  return targets;
};
const created = (...list: (typeof BOILER)[]) => createdAt(new ManualClock(), ...list);
const countsOf = ({ readings }: CallTargets) => readings.map(({ name, met, missed }) => [name, met, missed]);

it('10,000 calls are met and missed exactly, also while the list changes', () => {
  const random = new Random(45);
  const targets = created(BOILER, ALL);
  const expected = { boiler: [0, 0], all: [0, 0] } as { boiler: [number, number]; all: [number, number] };
  for (let at = 0; at < 10_000; at += 1) {
    // A reload that keeps both, and one that removes the second and adds it again from 0.
    if (at === 3_000) targets.use([ALL, { ...BOILER, share: 0.5 }]);
    if (at === 6_000) {
      targets.use([BOILER]);
      targets.use([BOILER, ALL]);
      expected.all = [0, 0];
    }
    const name = random.pick(['E.Boiler.Start', 'E.Boiler.Stop', 'P.Report', 'e.Boiler.Start']);
    const kind = random.pick(['rpc', 'sba', 'object', 'session'] as const);
    const outcome = random.pick(['ok', 'client_error', 'error', 'unanswered', 'aborted'] as const);
    const ms = random.pick([0, 99, 100, 100.000_1, 499, 500, 501]);
    targets.ended(kind, name, outcome, ms * MS);
    if ((kind !== 'rpc' && kind !== 'sba') || outcome === 'aborted') continue;
    if (name === BOILER.name) expected.boiler[outcome === 'ok' && ms <= 500 ? 0 : 1] += 1;
    if (name.startsWith('E.')) expected.all[outcome === 'ok' && ms <= 100 ? 0 : 1] += 1;
  }
  expect(countsOf(targets)).toEqual([
    ['E.Boiler.Start', ...expected.boiler],
    ['E.*', ...expected.all],
  ]);
});

const at = (time: string) => new ManualClock({ startEpochMs: Date.parse(time) });
const call = (targets: CallTargets, met: number, missed: number) => {
  for (let calls = 0; calls < met + missed; calls += 1)
    targets.ended('rpc', BOILER.name, calls < met ? 'ok' : 'error', 1);
};
const monthsOf = ({ readings }: CallTargets) => readings.map(({ met, missed, month }) => [met, missed, month]);
const asSaved = (targets: CallTargets) =>
  targets
    .save()
    .map((fields) => new SavedRecord(JSON.parse(JSON.stringify(fields)), { savedNs: 0, savedAtNs: 0, nowNs: 0 }));

it('a month begins at 0 in UTC, also without a call, and the counts since the start go on', () => {
  const clock = at('2026-02-28T23:59:00Z');
  const targets = createdAt(clock, BOILER);
  call(targets, 3, 1);
  clock.advanceMs(59_999);
  call(targets, 1, 0);
  expect(monthsOf(targets)).toEqual([[4, 1, { met: 4, missed: 1 }]]);
  clock.advanceMs(1);
  expect(monthsOf(targets)).toEqual([[4, 1, { met: 0, missed: 0 }]]);
  call(targets, 0, 2);
  clock.advanceS(60);
  expect(monthsOf(targets)).toEqual([[4, 3, { met: 0, missed: 2 }]]);
});

it('a reload and a restart in the same month keep its counts; in another month they begin at 0, as after an earlier version', () => {
  const clock = at('2026-02-28T12:00:00Z');
  const before = createdAt(clock, BOILER);
  call(before, 5, 2);
  before.use([ALL, { ...BOILER, share: 0.5 }]);
  call(before, 1, 1);
  const saved = asSaved(before);
  const restartedAt = (time: string) => {
    const targets = createdAt(at(time), BOILER);
    targets.load(saved);
    call(targets, 1, 0);
    return monthsOf(targets);
  };
  expect(restartedAt('2026-02-28T23:00:00Z')).toEqual([[7, 3, { met: 7, missed: 3 }]]);
  expect(restartedAt('2026-03-01T00:00:00Z')).toEqual([[7, 3, { met: 1, missed: 0 }]]);
  expect(restartedAt('2027-02-28T23:00:00Z')).toEqual([[7, 3, { met: 1, missed: 0 }]]);
  const targets = created(BOILER);
  targets.load([new SavedRecord({ name: BOILER.name, met: 5, missed: 2 }, { savedNs: 0, savedAtNs: 0, nowNs: 0 })]);
  expect(monthsOf(targets)).toEqual([[5, 2, { met: 0, missed: 0 }]]);
});

it('begins at 0 for another time, whose calls nobody has judged', () => {
  const before = created(BOILER);
  call(before, 5, 2);
  const quicker = { ...BOILER, withinMs: BOILER.withinMs / 2 };
  const after = created(quicker);
  after.load(asSaved(before));
  expect(monthsOf(after)).toEqual([[0, 0, { met: 0, missed: 0 }]]);
  before.use([quicker]);
  expect(monthsOf(before)).toEqual([[0, 0, { met: 0, missed: 0 }]]);
});

it('keeps the last 60 minutes of each target', () => {
  const clock = at('2026-03-01T12:00:30Z');
  const targets = createdAt(clock, BOILER);
  const hour = () => targets.readings.map(({ hour }) => hour.map(({ met, missed }) => [met, missed]));
  call(targets, 1, 0);
  clock.advanceS(60);
  call(targets, 2, 1);
  expect(hour()).toEqual([
    [
      [1, 0],
      [2, 1],
    ],
  ]);
  clock.advanceS(58 * 60);
  expect(hour()[0]).toEqual([[1, 0], [2, 1], ...Array.from({ length: 58 }, () => [0, 0])]);
  clock.advanceS(60);
  expect([hour()[0]?.length, hour()[0]?.[0]]).toEqual([60, [2, 1]]);
  clock.advanceS(1e6);
  call(targets, 0, 1);
  expect(hour()[0]).toEqual([...Array.from({ length: 59 }, () => [0, 0]), [0, 1]]);
});

it.each([
  [0.99, 99, 1, 1],
  [0.99, 199, 1, 0.5],
  [0.9, 3, 3, 5],
  [0.999, 0, 0, 0],
  [1, 5, 5, null],
  [1, 5, 0, null],
])('the allowance of a share of %d with %d met and %d missed: %s', (share, met, missed, used) => {
  expect(allowanceUsedOf({ share, month: { met, missed } })).toBe(used);
});
