import { expect, it } from 'vitest';
import { SessionStatistics } from '../../../src/metrics/statistics.ts';
import { type SavedFields, SavedRecord } from '../../../src/state/saved-record.ts';
import { ManualClock } from '../../support/clock.ts';

const clock = new ManualClock();

function load(records: Iterable<SavedFields>): SessionStatistics {
  const loaded = new SessionStatistics(clock, 2);
  const nowNs = clock.nowNs();
  // As it would come from the file.
  for (const record of JSON.parse(JSON.stringify([...records])) as unknown[]) {
    loaded.load(new SavedRecord(record, { savedNs: nowNs, savedAtNs: nowNs, nowNs }));
  }
  return loaded;
}

const timersOf = ({ rpc, sba }: SessionStatistics) =>
  [rpc, sba].map((calls) => [...calls.metrics().timers].map(([name, timer]) => [name, timer.snapshot()]));

function answer(statistics: SessionStatistics, kind: 'rpc' | 'sba', name: string): void {
  clock.advanceMs(7);
  statistics.recordAnswered({ kind, name }, 200, 3e6, clock.nowNs());
}

it.each([3, 40])('%d answers of a session are restored, counted or not', (count) => {
  const statistics = new SessionStatistics(clock, 2);
  for (let i = 0; i < count; i += 1) answer(statistics, i % 3 === 0 ? 'sba' : 'rpc', `E.Demo.Run${i % 2}`);
  const loaded = load(statistics.save());
  expect(timersOf(loaded)).toEqual(timersOf(statistics));
  expect(loaded.rpc.foldedCount).toBe(statistics.rpc.foldedCount);
});

it('a name that is too long is saved in part, and still counts as (other)', () => {
  const statistics = new SessionStatistics(clock, 2);
  answer(statistics, 'rpc', 'x'.repeat(10_000));
  const records = [...statistics.save()];
  expect(JSON.stringify(records).length).toBeLessThan(800);
  expect(load(records).rpc.nameCount).toBe(1);
  expect(load(records).rpc.foldedCount).toBe(1);
});
