import { expect, it } from 'vitest';
import { CallTargets, createTargetMinute } from '../../../../src/measure/record/call-targets.ts';
import { Random } from '../../../support/fuzz/random.ts';

const MS = 1e6;
const BOILER = { name: 'E.Boiler.Start', withinMs: 500, share: 0.99 };
const ALL = { name: 'E.*', withinMs: 100, share: 0.9 };
const created = (...list: (typeof BOILER)[]) => {
  const targets = new CallTargets();
  targets.use(list);
  return targets;
};
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

it('a target without calls is 0 from the start, and none costs nothing', () => {
  expect(countsOf(created(ALL))).toEqual([['E.*', 0, 0]]);
  const none = created();
  none.ended('rpc', 'E.A', 'ok', 1);
  expect(none.readings).toEqual([]);
});

it('the last minute of a target that was removed and added again begins with it', () => {
  const targets = created(BOILER);
  const takeMinute = createTargetMinute(targets, 3);
  const seconds = [2, 3, 5, 7];
  const met = seconds.map((calls, at) => {
    if (at === 2) {
      targets.use([]);
      targets.use([BOILER]);
    }
    for (let call = 0; call < calls; call += 1) targets.ended('sba', BOILER.name, 'ok', MS);
    return takeMinute()[0]?.met;
  });
  expect(met).toEqual([2, 5, 5, 12]);
  // The second of 5 calls has left the three seconds.
  expect([takeMinute()[0]?.met, takeMinute()[0]?.met]).toEqual([12, 7]);
});
