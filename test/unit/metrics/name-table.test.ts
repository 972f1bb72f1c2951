import { expect, it } from 'vitest';
import { NS_PER_MS } from '../../../src/base/clock.ts';
import { History } from '../../../src/measure/history/history.ts';
import type { CallStatistics } from '../../../src/metrics/call-statistics.ts';
import { nameBytes } from '../../../src/metrics/name-table.ts';
import { type ApplicationStatistics, createStatistics } from '../../../src/metrics/statistics.ts';
import { formatJsonText } from '../../../src/monitor/dropwizard/render.ts';
import { escapeLabelValue } from '../../../src/monitor/prometheus/exposition.ts';
import { SavedRecord } from '../../../src/state/saved-record.ts';
import { ManualClock } from '../../support/clock.ts';
import { Random } from '../../support/fuzz/random.ts';
import { createSources } from '../../support/measure/history/sources.ts';

const MS = NS_PER_MS;
const clock = new ManualClock();

function create(max: number): ApplicationStatistics {
  const maxNames = { rpc: max, sba: max, object: max };
  const options = { windowMs: 300_000, durationUnit: 'seconds', maxNames, maxNamesPerSession: max } as const;
  return createStatistics(options, clock, { isExponential: true });
}

/** As a state file of one process and the start of the next. */
function restarted(before: ApplicationStatistics, max: number): ApplicationStatistics {
  const after = create(max);
  const nowNs = clock.nowNs();
  for (const fields of [...before.save()]) {
    const read: unknown = JSON.parse(JSON.stringify(fields));
    after.load(new SavedRecord(read, { savedNs: nowNs, savedAtNs: nowNs, nowNs }));
  }
  after.restored();
  return after;
}

const namesOf = ({ countsByName }: CallStatistics) => [...countsByName.keys()].filter((name) => name !== '');

/** All sums that the names of a kind have to have in common with its totals. */
function sumsOf(rpc: CallStatistics): Record<string, number> {
  const { timers, meters } = rpc.metrics();
  const sums = { answered: 0, failed: 0, ok: 0, errors: 0, clientErrors: 0, late: 0, durations: 0, exponential: 0 };
  for (const { ok, errors, clientErrors, late, durations } of rpc.countsByName.values()) {
    sums.ok += ok;
    sums.errors += errors;
    sums.clientErrors += clientErrors;
    sums.late += late;
    sums.durations += durations.cumulative().at(-1) ?? 0;
    sums.exponential += durations.exponential?.counts.reduce((sum, count) => sum + count, 0) ?? 0;
  }
  for (const [name, timer] of timers) {
    if (name === 'rpc') continue;
    sums.answered += timer.snapshot().count;
    sums.failed += meters.get(`${name}.errors`)?.snapshot().count ?? 0;
  }
  return sums;
}

it('a name that only ever failed gives way to a success when the table is full, the least recently used first', () => {
  const { rpc } = create(3);
  for (const name of ['f1', 'f2', 'ok']) rpc.recordAnswered(name, name === 'ok' ? 200 : 501, MS);
  rpc.recordAnswered('f1', 503, MS);
  rpc.recordAnswered('new', 200, MS);
  expect(namesOf(rpc)).toEqual(['f1', 'ok', '(other)', 'new']);
  rpc.recordAnswered('newer', 200, MS);
  rpc.recordAnswered('too many', 200, MS);
  expect(namesOf(rpc).sort()).toEqual(['(other)', 'new', 'newer', 'ok']);
  const other = rpc.countsByName.get('(other)');
  expect([other?.ok, other?.errors]).toEqual([1, 3]);
  // f1 had two answers, f2 one, and one call came too late.
  expect(rpc.foldedCount).toBe(4);
});

it('a name that only ever failed gives way to another that fails after 10 s, so that a flood costs little and ends soon', () => {
  const { sba } = create(50);
  for (let i = 0; i < 2_000; i += 1) sba.recordAnswered(`flood ${i}`, 501, MS);
  sba.recordAnswered('E.Honest', 500, MS);
  expect([sba.nameCount, sba.countsByName.has('E.Honest')]).toEqual([51, false]);
  clock.advanceS(9);
  sba.recordAnswered('flood 0', 501, MS);
  clock.advanceS(2);
  sba.recordAnswered('E.Honest', 500, MS);
  expect([sba.nameCount, sba.countsByName.get('E.Honest')?.errors]).toEqual([51, 1]);
  expect([sba.countsByName.has('flood 0'), sba.countsByName.has('flood 1')]).toEqual([true, false]);
  expect(sba.countsByName.get('(other)')?.errors).toBe(1_952);
});

it('a name that only ever failed gives way in the statistics of a session too, whatever its kind', () => {
  const session = create(2).createSessionStatistics();
  session.rpc.recordAnswered('f', 500, 7 * MS);
  session.object.recordRead('f', 500);
  for (const name of ['a', 'b', 'c']) session.sba.recordAnswered(name, 200, MS);
  expect([...session.sba.metrics().timers.keys()]).toEqual(['sba', 'sba.a', 'sba.b', 'sba.(other)']);
  expect([...session.rpc.metrics().timers.keys()]).toEqual(['rpc', 'rpc.(other)']);
  expect(session.rpc.metrics().timers.get('rpc.(other)')?.snapshot()).toMatchObject({ count: 1, max: 7 * MS });
  expect([...session.object.metrics().counters.keys()]).toEqual([
    'object.subscriptions',
    'object.(other).subscriptions',
  ]);
});

it('a name that only ever failed gives way as an object, unless it is monitored', () => {
  const { object } = create(2);
  for (const name of ['f', 'watched']) object.recordRead(name, 503);
  object.subscribe('watched');
  for (const name of ['a', 'b']) object.recordValue(name);
  expect([...object.objects.keys()].sort()).toEqual(['(other)', 'a', 'watched']);
  object.unsubscribe('watched');
  expect(object.monitored).toBe(0);
});

it.each([1, 2, 3, 4])(
  'any outcomes on a small table keep all sums, and no success is lost to failures (seed %i)',
  (seed) => {
    const random = new Random(seed);
    const max = 1 + random.below(6);
    let statistics = create(max);
    statistics.rpc.lateAfterNs = 50 * MS;
    /** The plain model: names that succeeded while there was room for one. */
    const successes = new Set<string>();
    const totals = { answered: 0, failed: 0, ok: 0, errors: 0, clientErrors: 0, late: 0 };
    for (let i = 0; i < 3_000; i += 1) {
      const name = `n${random.below(15)}`;
      const status = random.pick([200, 302, 404, 500, 501, 503]);
      const durationNs = random.below(100) * MS;
      clock.advanceMs(random.chance(0.01) ? 400_000 : random.below(500));
      const { rpc } = statistics;
      if (random.chance(0.1)) {
        rpc.recordFailed(name);
        totals.errors += 1;
      } else {
        rpc.recordAnswered(name, status, durationNs);
        if (status < 400) totals.ok += 1;
        else if (status < 500) totals.clientErrors += 1;
        else totals.errors += 1;
        if (durationNs > 50 * MS) totals.late += 1;
        if (status < 400 && successes.size < max) successes.add(name);
      }
      const sums = sumsOf(rpc);
      expect(sums).toMatchObject({ ok: totals.ok, clientErrors: totals.clientErrors, errors: totals.errors });
      expect(sums.late).toBe(totals.late);
      const named = namesOf(rpc);
      expect(named.filter((one) => one !== '(other)').length).toBeLessThanOrEqual(max);
      expect([...successes].filter((one) => !named.includes(one))).toEqual([]);
      if (random.chance(0.02)) {
        const before = sumsOf(rpc);
        statistics = restarted(statistics, max);
        statistics.rpc.lateAfterNs = 50 * MS;
        expect(sumsOf(statistics.rpc)).toEqual(before);
        const restored = namesOf(statistics.rpc).filter((one) => one !== '(other)');
        expect(restored.sort()).toEqual([...successes].sort());
      }
    }
  },
);

it('the history of a name that gives way becomes that of (other), and a later name begins with zeros', () => {
  const sources = createSources({ maxNames: 2 });
  const { rpc } = sources.statistics;
  const history = new History(sources, sources.clock);
  const steps = () => {
    for (let i = 0; i < 5; i += 1) {
      sources.clock.advanceMs(5_000);
      history.sample();
    }
  };
  const lineOf = (name: string) => history.of('smartWeb')?.lineOf('rpc', name).slice(-3);
  for (let i = 0; i < 7; i += 1) rpc.recordAnswered('f', 501, MS);
  steps();
  expect(lineOf('f')).toEqual([0, 0, 7]);
  expect(history.of('smartWeb')?.worstCall).toEqual({ kind: 'rpc', name: 'f', failed: 7, ended: 7 });
  rpc.recordAnswered('f', 501, MS);
  for (const name of ['a', 'b', 'b']) rpc.recordAnswered(name, 200, MS);
  steps();
  expect(['(other)', 'a', 'b'].map((name) => lineOf(name)?.join(' '))).toEqual(['0 7 1', '0 0 1', '0 0 2']);
  expect(history.of('smartWeb')?.worstCall).toEqual({ kind: 'rpc', name: '(other)', failed: 8, ended: 8 });
});

it('the bytes of names are at least those in a label and in JSON, for any text', () => {
  const random = new Random(7);
  const units = ['"', '\\', '\n', '\u0001', 'a', 'ä', '€', '😀', '\ud83d', '\ude00', ' ', '\u007f'];
  for (let i = 0; i < 2_000; i += 1) {
    const name = Array.from({ length: random.below(30) }, () => random.pick(units)).join('');
    const most = Math.max(
      ...[escapeLabelValue(name), formatJsonText(name), JSON.stringify(name)].map((text) => Buffer.byteLength(text)),
    );
    expect(nameBytes(name)).toBeGreaterThanOrEqual(most);
  }
});

it('the bytes of names are bounded: what does not fit counts as (other), short names still get in, and failures make room', () => {
  const { rpc } = create(2_000);
  const long = (i: number) => `${'"'.repeat(506)}${i}`.slice(0, 512);
  for (let i = 0; i < 2_000; i += 1) rpc.recordAnswered(long(i), i < 100 ? 200 : 501, MS);
  const bytes = namesOf(rpc).reduce((sum, name) => sum + nameBytes(name), 0);
  expect(bytes).toBeLessThanOrEqual(800_000 + nameBytes('(other)'));
  rpc.recordAnswered('E.Short', 200, MS);
  for (let i = 0; i < 100; i += 1) expect(rpc.countsByName.get(long(i))?.ok).toBe(1);
  for (let i = 5_000; i < 7_000; i += 1) rpc.recordAnswered(long(i), 200, MS);
  expect(rpc.countsByName.get('E.Short')?.ok).toBe(1);
  expect(namesOf(rpc).length).toBeLessThan(800);
  expect(sumsOf(rpc)).toMatchObject({ ok: 2_101, errors: 1_900 });
});
