import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { NS_PER_MS } from '../../../src/base/clock.ts';
import { writeAside } from '../../../src/base/write-aside.ts';
import { type Bounds, readLines, writeState } from '../../../src/state/state-file.ts';
import { ManualClock } from '../../support/clock.ts';
import { BASE, RPC } from '../../support/measure/record/traffic.ts';
import { StateFolder } from '../../support/state/restart.ts';
import { recordsOf } from '../../support/state/state-records.ts';

const folder = new StateFolder().forTests();
afterEach(() => void vi.useRealTimers());

it('a save leaves one file, which only its user may read, and nothing beside it', async () => {
  const { keeper } = await folder.start();
  await keeper.save();
  await keeper.save();
  expect(readdirSync(folder.path)).toEqual(['state']);
  expect(statSync(folder.file).mode & 0o777).toBe(0o600);
  expect(keeper).toMatchObject({ saves: 2, failures: 0, conflicts: 0 });
  expect(keeper.last).toMatchObject({ bytes: statSync(folder.file).size });
});

it('a save that fails is counted, logged once, and leaves the old file; the next one that succeeds is logged', async () => {
  const { keeper, log, traffic } = await folder.start();
  await keeper.save();
  const before = statSync(folder.file).ino;
  // A folder cannot be removed as the file that a crash has left.
  mkdirSync(`${folder.file}.saving`);
  await keeper.save();
  await keeper.save();
  expect(keeper).toMatchObject({ saves: 1, failures: 2 });
  expect(statSync(folder.file).ino).toBe(before);
  expect(log).toMatchObject([['warn', { code: 'D2S_ERR_STATE_FILE', file: folder.file }, expect.any(String)]]);
  traffic.clock.advanceMs(300_000);
  await keeper.save();
  expect(log).toHaveLength(2);
  rmSync(`${folder.file}.saving`, { recursive: true });
  await keeper.save();
  expect(log.at(-1)).toEqual(['info', { file: folder.file }, 'the state is saved again']);
});

it('a save runs after each interval, and once more at the stop', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { keeper, traffic } = await folder.start();
  keeper.start();
  vi.advanceTimersByTime(9_999);
  expect(existsSync(folder.file)).toBe(false);
  vi.advanceTimersByTime(1);
  await vi.waitUntil(() => keeper.saves === 1);
  traffic.send({ line: RPC });
  await keeper.stop();
  expect(keeper.saves).toBe(2);
  expect(vi.getTimerCount()).toBe(0);
  const next = await folder.start();
  expect(next.traffic.counts()).toMatchObject({ rpc: 1 });
});

it('two sidecars with one file notice each other: the one that started later keeps the file until it has gone', async () => {
  const older = await folder.start();
  await older.keeper.save();
  const newer = await folder.start(older.traffic.clock.epochMs() + 1_000);
  newer.traffic.send({ line: RPC });
  await newer.keeper.save();
  expect(newer.keeper).toMatchObject({ saves: 1, conflicts: 0 });
  await older.keeper.save();
  expect(older.keeper).toMatchObject({ saves: 1, conflicts: 1, failures: 0 });
  expect(older.log).toMatchObject([['warn', { file: folder.file }, expect.stringContaining('another sidecar')]]);
  expect((await folder.start()).traffic.counts()).toMatchObject({ rpc: 1 });
  for (let i = 0; i < 2; i += 1) await older.keeper.save();
  expect(older.keeper.saves).toBe(1);
  await older.keeper.save();
  expect(older.keeper.saves).toBe(2);
});

/** Advances by 1 ms at each reading, so that each slice has a few records only. */
class RunningClock extends ManualClock {
  override nowNs(): number {
    this.advanceMs(1);
    return this.ns;
  }
}

it('a save in slices during traffic has totals that are the sums of their names, and counts nothing that did not happen', async () => {
  const life = await folder.start();
  const { traffic } = life;
  const names = Array.from({ length: 300 }, (_, i) => `${BASE}/d2/rpc/E.Demo/N${i}`);
  for (const name of names) traffic.send({ line: `POST ${name}`, user: 'ann' });
  const save = traffic.state.save.bind(traffic.state);
  let steps = 0;
  traffic.state.save = function* () {
    for (const step of save()) {
      steps += 1;
      // Between two steps the traffic goes on.
      if (steps % 3 === 0) traffic.send({ line: `POST ${names[steps % names.length]}`, user: 'ann' });
      yield step;
    }
  };
  await life.keeper.save();
  const truth = traffic.counts();
  expect(steps).toBeGreaterThan(300);
  expect(truth.rpc).toBeGreaterThan(400);
  const restored = (await folder.start()).traffic.counts();
  const { rpc = 0, ...named } = restored;
  expect(Object.values(named).reduce((sum, count) => sum + count, 0)).toBe(rpc);
  expect(Object.entries(restored).filter(([name, count]) => count > (truth[name] ?? 0))).toEqual([]);
  expect(rpc).toBeGreaterThanOrEqual(300);
});

it('a save in slices lets the event loop turn between slices', async () => {
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns += 1;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const handle = await open(folder.file, 'wx');
  const header = { sidecarVersion: '1.2.3', writer: 'one', writerStartedMs: 0, applications: [] };
  const records = Array.from({ length: 400 }, () => ({ text: 'x'.repeat(100) }));
  const { bytes, longestSliceNs } = await writeState(handle, header, records, new RunningClock());
  isDone = true;
  await handle.close();
  expect(turns).toBeGreaterThan(90);
  expect(longestSliceNs).toBeLessThanOrEqual(4 * NS_PER_MS);
  expect(statSync(folder.file).size).toBe(bytes);
  expect(recordsOf(readFileSync(folder.file)).slice(1)).toEqual(records);
});

it.each<[string, number, number, Bounds]>([
  ['a record', 1, 200_000, { maxChars: 1_000_000, maxRecordChars: 1_000 }],
  ['all records', 10_000, 100, { maxChars: 10_000, maxRecordChars: 1_000 }],
])(
  'a save whose length of %s exceeds its bound fails, as does reading such a file',
  async (_what, count, length, bounds) => {
    const header = { sidecarVersion: '1.2.3', writer: 'one', writerStartedMs: 0, applications: [] };
    const records = Array.from({ length: count }, (_, i) => ({ text: `${i}`.padEnd(length) }));
    const write = (bound?: Bounds) =>
      writeAside(folder.file, (handle) => writeState(handle, header, records, new ManualClock(), bound));
    await expect(write(bounds)).rejects.toThrow(expect.objectContaining({ code: 'EFBIG' }));
    expect(readdirSync(folder.path)).toEqual([]);
    await write();
    const read = async () => {
      for await (const _ of readLines(folder.file, bounds));
    };
    await expect(read()).rejects.toThrow(expect.objectContaining({ code: 'EFBIG' }));
  },
);
