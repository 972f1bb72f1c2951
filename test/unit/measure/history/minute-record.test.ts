/** What is kept of each name for an hour: sums, percentiles, bounds, and names that give way. */
import { expect, it } from 'vitest';
import { NS_PER_MS, NS_PER_S } from '../../../../src/base/clock.ts';
import { MinuteRecord, type NameMinute } from '../../../../src/measure/history/minute-record.ts';
import { createStatistics } from '../../../../src/metrics/statistics.ts';
import { ManualClock } from '../../../support/clock.ts';
import { Random } from '../../../support/fuzz/random.ts';

const OPTIONS = { windowMs: 300_000, maxNames: { rpc: 4_000, sba: 10, object: 10 }, maxNamesPerSession: 10 };
const RUNNING = { epochMs: 7, seconds: 2 };
const STATUSES = [200, 200, 200, 404, 500];

function start(options: Partial<typeof OPTIONS> = {}) {
  const clock = new ManualClock();
  const statistics = createStatistics({ ...OPTIONS, ...options } as never, clock);
  return { statistics, record: new MinuteRecord(statistics) };
}

const sum = (minutes: readonly NameMinute[], key: 'ok' | 'clientErrors' | 'errors' | 'values') =>
  minutes.reduce((total, minute) => total + minute[key], 0);

/** The value at rank ceil(p * n). */
function percentile(values: readonly number[], permille: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil((permille * sorted.length) / 1_000) - 1] ?? 0;
}

it.each([1, 2, 3])(
  'the record of minutes has the counts of any calls exactly, and percentiles within 1 % (seed %i)',
  (seed) => {
    const chance = new Random(seed);
    const random = () => chance.next();
    const { statistics, record } = start();
    const expected: { readonly durations: number[]; counts: [number, number, number] }[] = [];
    for (let minute = 0; minute < 20; minute += 1) {
      const durations: number[] = [];
      const counts: [number, number, number] = [0, 0, 0];
      for (let call = Math.floor(random() * 60); call > 0; call -= 1) {
        const status = STATUSES[Math.floor(random() * STATUSES.length)] ?? 200;
        const seconds = 10 ** (random() * 6 - 4);
        statistics.rpc.recordAnswered('E.A', status === 404 ? 200 : status, seconds * NS_PER_S);
        durations.push(seconds);
        counts[status === 500 ? 2 : 0] += 1;
      }
      expected.push({ durations, counts });
      record.take({ epochMs: minute, seconds: 60 });
    }
    const minutes = record.of('rpc', 'E.A', RUNNING);
    expect(minutes.slice(0, -1).map(({ ok, clientErrors, errors }) => [ok, clientErrors, errors])).toEqual(
      expected.map(({ counts }) => counts),
    );
    for (const [at, { durations }] of expected.entries()) {
      const { p50, p95, max, heat } = minutes[at] as NameMinute;
      if (durations.length === 0) {
        expect([p50, p95, max, heat]).toEqual([null, null, null, []]);
        continue;
      }
      expect(Math.abs((p50 ?? 0) / percentile(durations, 500) - 1)).toBeLessThan(0.01);
      expect(Math.abs((p95 ?? 0) / percentile(durations, 950) - 1)).toBeLessThan(0.01);
      expect(max).toBeCloseTo(Math.max(...durations), 9);
      expect(heat.reduce((a, b) => a + b)).toBe(durations.length);
    }
  },
);

it('the record of minutes shows the running minute last', () => {
  const { statistics, record } = start();
  statistics.rpc.recordAnswered('E.A', 503, 7 * NS_PER_MS);
  statistics.object.recordValue('H.A');
  statistics.object.recordValue('H.A');
  expect(record.of('rpc', 'E.A', RUNNING)).toMatchObject([{ ...RUNNING, ok: 0, errors: 1, max: 0.007 }]);
  expect(record.of('object', 'H.A', RUNNING)).toMatchObject([{ ...RUNNING, values: 2 }]);
  expect(record.of('sba', 'E.A', RUNNING)).toMatchObject([{ ...RUNNING, ok: 0, errors: 0, max: null }]);
});

it('the record of minutes keeps an hour, and 16 MiB at most: then the oldest minutes go, and are counted', () => {
  const { statistics, record } = start();
  for (let minute = 1; minute <= 70; minute += 1) {
    statistics.object.recordValue('H.A');
    record.take({ epochMs: minute, seconds: 60 });
  }
  const kept = record.of('object', 'H.A', RUNNING);
  expect([kept.length, kept[0]?.epochMs, sum(kept, 'values'), record.dropped]).toEqual([61, 11, 60, 0]);
  for (let minute = 1; minute <= 10; minute += 1) {
    for (let name = 0; name < 4_000; name += 1) {
      for (let call = 1; call <= 90; call += 1) {
        statistics.rpc.recordAnswered(`E.N${name}`, 200, 1.05 ** call * NS_PER_MS);
      }
    }
    record.take({ epochMs: 100 + minute, seconds: 60 });
    expect(record.bytes).toBeLessThanOrEqual(16 * 1_024 * 1_024);
  }
  expect(record.dropped).toBeGreaterThan(50);
  expect(sum(record.of('rpc', 'E.N7', RUNNING), 'ok') % 90).toBe(0);
});

it('the record of minutes has one row for all names without a place, however many and long they are', () => {
  const { statistics, record } = start({ maxNames: { rpc: 2_000, sba: 1, object: 1 } });
  const added: number[] = [];
  for (let minute = 1; minute <= 5; minute += 1) {
    for (let name = 0; name < 2_000; name += 1) {
      const status = name % 2 === 0 ? 500 : 200;
      statistics.rpc.recordAnswered(`${'x'.repeat(500)}${minute}.${name}`, status, NS_PER_MS);
    }
    const before = record.bytes;
    record.take({ epochMs: minute, seconds: 60 });
    added.push(record.bytes - before);
  }
  expect(added[0]).toBeGreaterThan(50_000);
  // Names that only failed give way once.
  expect(Math.max(...added.slice(2))).toBeLessThan(200);
  expect(record.of('rpc', '(other)', RUNNING).at(-2)).toMatchObject({ ok: 1_000, errors: 1_000 });
});
