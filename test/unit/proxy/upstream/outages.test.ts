import { expect, it } from 'vitest';
import { OutageRecord } from '../../../../src/proxy/upstream/upstream.ts';
import { UpstreamProbe } from '../../../../src/proxy/upstream/upstream-probe.ts';
import { ManualClock } from '../../../support/clock.ts';
import { recordingLogger } from '../../../support/wire/recording-logger.ts';

function outagesOf() {
  const clock = new ManualClock();
  const { logger, logged } = recordingLogger();
  const counts = { failed: 0 };
  return { clock, logged, counts, outages: new OutageRecord(() => counts.failed, clock, logger) };
}

it('an outage that ends is one line, with its length and the requests that failed meanwhile', () => {
  const { clock, logged, counts, outages } = outagesOf();
  counts.failed = 4;
  for (let call = 0; call < 6; call += 1) {
    outages.lost();
    counts.failed += 1;
    clock.advanceS(1);
  }
  outages.back();
  outages.back();
  const since = new Date(new ManualClock().epochMs()).toISOString();
  const details = { since, seconds: 6, failed: 6 };
  expect(logged).toEqual([{ level: 'info', details, message: 'the upstream can be reached again' }]);
});

it('a server that is lost and back many times a second does not flood the log, and nothing is hidden', () => {
  const { clock, logged, outages } = outagesOf();
  for (let flip = 0; flip < 1_000; flip += 1) {
    outages.lost();
    clock.advanceMs(10);
    outages.back();
  }
  expect(logged.length).toBeLessThanOrEqual(11);
  expect(logged[1]?.details).toMatchObject({ furtherOutages: expect.any(Number) });
});

function probeOf() {
  const clock = new ManualClock();
  const state = { kind: 'reachable', isServing: true, intervalMs: 5_000, tried: 0, triedTls: 0, isClear: false };
  const counts = { exchanges: { completed: 0, failed: 0 }, badRequests: 0 };
  const probe = new UpstreamProbe({
    upstream: {
      get reachability() {
        return { kind: state.kind };
      },
      tryConnection: () => {
        state.tried += 1;
        return Promise.resolve(true);
      },
      tryTls: () => {
        state.triedTls += 1;
        return Promise.resolve();
      },
      noteAnswer: () => {
        state.isClear = true;
      },
    },
    counts,
    isServing: () => state.isServing,
    intervalMs: () => state.intervalMs,
    clock,
  });
  const pass = async (seconds: number, each: () => void = () => undefined) => {
    for (let second = 0; second < seconds; second += 1) {
      clock.advanceS(1);
      each();
      await probe.check();
    }
    return state.tried;
  };
  return { state, counts, pass };
}

it('a connection is tried every upstream.probe without traffic', async () => {
  const { pass } = probeOf();
  expect(await pass(4)).toBe(0);
  expect(await pass(1)).toBe(1);
  expect(await pass(50)).toBe(11);
});

it('no connection is tried while answers show that the server is there, while draining, and with 0', async () => {
  const { state, counts, pass } = probeOf();
  expect(await pass(60, () => (counts.exchanges.completed += 1))).toBe(0);
  state.isServing = false;
  expect(await pass(60)).toBe(0);
  state.isServing = true;
  state.intervalMs = 0;
  expect(await pass(60)).toBe(0);
});

it('TLS is tried once a minute while every answer is a 400 or none, and not after a usual one', async () => {
  const { state, counts, pass } = probeOf();
  const badRequest = () => {
    counts.exchanges.completed += 1;
    counts.badRequests += 1;
  };
  await pass(60, badRequest);
  expect(state).toMatchObject({ triedTls: 1, isClear: false });
  await pass(60, () => (counts.exchanges.failed += 1));
  expect(state).toMatchObject({ triedTls: 2, isClear: false });
  await pass(60);
  expect(state).toMatchObject({ triedTls: 2, isClear: false });
  await pass(120, () => {
    badRequest();
    counts.exchanges.completed += 1;
  });
  expect(state).toMatchObject({ triedTls: 2, isClear: true });
  state.intervalMs = 0;
  await pass(120, badRequest);
  expect(state.triedTls).toBe(2);
});
