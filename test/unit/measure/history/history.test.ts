import { expect, it, onTestFinished, vi } from 'vitest';
import { History } from '../../../../src/measure/history/history.ts';
import { usedBytes } from '../../../support/garbage.ts';
import { available, createSources } from '../../../support/measure/history/sources.ts';

const MS = 1e6;

function started(sources = createSources()) {
  const history = new History(sources, sources.clock);
  const step = (ms = 5_000) => {
    sources.clock.advanceMs(ms);
    history.sample();
  };
  return { ...sources, sources, history, step };
}

it('the history has the counts of each step without those before it, and current values at its end', () => {
  const before = createSources();
  before.statistics.rpc.recordAnswered('E.Demo.Run', 500, 20 * MS);
  before.counts.aborted.rpc = 5;
  const { history, step, statistics, counts, sessions, sources, clock } = started(before);
  statistics.rpc.recordAnswered('E.Demo.Run', 200, 20 * MS);
  statistics.rpc.recordAnswered('E.Demo.Run', 500, 40 * MS);
  statistics.rpc.recordFailed('E.Demo.Run');
  statistics.sba.recordAnswered('E.Demo.Run', 200, 2_000 * MS);
  statistics.object.recordValue('H.Level');
  statistics.object.recordValue('H.Level');
  // Of an object: no call.
  Object.assign(counts.aborted, { rpc: 7, sba: 1, object: 4 });
  Object.assign(counts.unanswered, { rpc: 1, sba: 1, object: 4 });
  counts.comet.holds.now = 7;
  sessions.size = 3;
  sources.jvm.state = available({
    heap: { used: 900 },
    pools: new Map([['G1 Old Gen', { usedAfterGc: 500 }]]),
    collectors: new Map([['G1 Young Generation', { count: 1, timeMs: 10 }]]),
  });
  const times = { beganNs: 0, endedNs: 2 * MS, durationNs: MS, clientWaitNs: MS / 2, firstByteNs: 0 };
  sources.totals.ended('rpc', 'aborted', times);
  step();
  const [point] = history.points('smartWeb');
  const slow = expect.closeTo(0.04, 3);
  expect(point).toEqual({
    ...{ seq: 1, epochMs: clock.epochMs(), seconds: 5 },
    rpc: { count: 2, errors: 2, p50: expect.closeTo(0.02, 3), p95: slow, p99: slow },
    sba: { count: 1, errors: 0, p50: expect.closeTo(2, 1), p95: expect.closeTo(2, 1), p99: expect.closeTo(2, 1) },
    ...{ values: 2, aborted: 3, unanswered: 2, sessions: 3, holds: 7 },
    ...{ heapUsed: 900, heapAfterGc: 500, gcPauseMs: null, busyThreads: null, cores: null },
    times: { ended: 1, durationS: 0.001, clientWaitS: 0.000_5 },
  });
  step();
  const [, next] = history.points('smartWeb');
  expect(next).toMatchObject({
    rpc: { count: 0, errors: 0, p50: null, p95: null, p99: null },
    sba: { count: 0, p99: null },
    times: { ended: 0, durationS: 0, clientWaitS: 0 },
    ...{ values: 0, aborted: 0, unanswered: 0, sessions: 3, holds: 7, gcPauseMs: 0 },
  });
});

it('the history keeps 720 steps, each with what was counted in it', () => {
  const { history, step, statistics } = started();
  for (let seq = 1; seq <= 1_000; seq += 1) {
    for (let call = 0; call < seq % 3; call += 1) statistics.rpc.recordAnswered('E.Demo.Run', 200, seq * MS);
    step();
  }
  const points = [...history.points('smartWeb')];
  expect(points).toHaveLength(720);
  expect(points.map(({ seq }) => seq)).toEqual(Array.from({ length: 720 }, (_, i) => 281 + i));
  for (const { seq, rpc } of points) {
    expect(rpc.count).toBe(seq % 3);
    if (rpc.p50 !== null) expect(rpc.p50 / (seq / 1_000)).toBeCloseTo(1, 2);
  }
});

it('the history has the real length of each step, gives later steps only, and all steps to a reader of an earlier process', () => {
  const { history, step } = started();
  // There is no step without elapsed time.
  for (const ms of [0, 5_003, 0, 65_000]) step(ms);
  expect(history.points('smartWeb').map(({ seconds }) => seconds)).toEqual([5.003, 65]);
  for (let i = 0; i < 8; i += 1) step();
  const since = (seq: number) => [...history.points('smartWeb', seq)].map((point) => point.seq);
  expect(since(7)).toEqual([8, 9, 10]);
  expect(since(10)).toEqual([]);
  expect(since(11)).toHaveLength(10);
  expect([...history.points('none')]).toEqual([]);
});

it('the history ends a step every 5 s from its start to its stop', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { history, clock } = started();
  const pass = (seconds: number) => {
    for (let i = 0; i < seconds; i += 1) {
      clock.advanceMs(1_000);
      vi.advanceTimersByTime(1_000);
    }
  };
  history.start((work) => work());
  pass(11);
  expect(history.seq).toBe(2);
  history.stop();
  pass(11);
  expect(history.seq).toBe(2);
});

it('the line of a name has its calls of each of the last 12 x 25 s, oldest first', () => {
  const { history, step, statistics } = started();
  const call = (name: string, times: number) => {
    for (let i = 0; i < times; i += 1) statistics.rpc.recordAnswered(name, 200, MS);
  };
  for (let point = 1; point <= 14; point += 1) {
    call('E.Demo.Run', point);
    if (point === 14) call('E.Demo.Late', 3);
    for (let i = 0; i < 5; i += 1) step();
  }
  call('E.Demo.New', 5);
  expect(history.of('smartWeb')?.lineOf('rpc', 'E.Demo.Run')).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
  expect(history.of('smartWeb')?.lineOf('rpc', 'E.Demo.Late')).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
  expect(history.of('smartWeb')?.lineOf('rpc', 'E.Demo.New')).toEqual(new Array(12).fill(0));
  expect(history.of('smartWeb')?.lineOf('sba', 'E.Demo.Run')).toEqual(new Array(12).fill(0));
  expect(history.of('none')).toBeUndefined();
});

it('the memory of the history is below 1 MB without names, and below 1 KB for each name', async () => {
  const { history, statistics, step } = started(createSources({ maxNames: 2_000 }));
  const before = await usedBytes();
  for (let i = 0; i < 720; i += 1) {
    statistics.rpc.recordAnswered('E.Demo.Run', 200, MS);
    step();
  }
  expect(history.points('smartWeb')).toHaveLength(720);
  expect((await usedBytes()) - before).toBeLessThan(1_000_000);
  for (let i = 0; i < 1_900; i += 1) statistics.rpc.recordAnswered(`E.Demo.Method${i}`, 501, MS);
  const withoutLines = await usedBytes();
  for (let i = 0; i < 5; i += 1) step();
  expect((await usedBytes()) - withoutLines).toBeLessThan(1_900_000);
  expect(history.of('smartWeb')?.lineOf('rpc', 'E.Demo.Method7').at(-1)).toBe(1);
});

it('the worst call of the last minute is the name with the most failed calls, of all of its calls that ended', () => {
  const { history, step, statistics } = started();
  const { rpc } = statistics;
  const times = (count: number, record: () => void) => Array.from({ length: count }).forEach(record);
  times(10, () => rpc.recordFailed(undefined));
  times(5, () => rpc.recordAnswered('E.Fine', 200, MS));
  step();
  expect(history.of('smartWeb')?.worstCall).toBeUndefined();
  times(60, () => rpc.recordAnswered('P.Balance.Year.Close', 200, MS));
  times(12, () => rpc.recordAnswered('P.Balance.Year.Close', 404, MS));
  times(70, () => rpc.recordAnswered('P.Balance.Year.Close', 500, MS));
  times(3, () => rpc.recordAnswered('E.Few', 500, MS));
  step();
  rpc.recordFailed('P.Balance.Year.Close');
  const worst = { kind: 'rpc', name: 'P.Balance.Year.Close', failed: 71, ended: 143 };
  expect(history.of('smartWeb')?.worstCall).toEqual(worst);
  times(10, step);
  expect(history.of('smartWeb')?.worstCall).toEqual(worst);
  step();
  expect(history.of('smartWeb')?.worstCall).toMatchObject({ failed: 1, ended: 1 });
  step();
  expect(history.of('smartWeb')?.worstCall).toBeUndefined();
});
