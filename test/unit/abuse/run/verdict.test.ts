import { describe, expect, it } from 'vitest';
import type { Flood } from '../../../abuse/floods/flood.ts';
import type { FloodResult } from '../../../abuse/run/flood-result.ts';
import { missedBounds } from '../../../abuse/run/verdict.ts';
import type { CallSummary } from '../../../abuse/users/call-log.ts';

const FLOOD: Flood = { name: 'f', what: '', maxGrowthBytes: 40e6, maxSessions: 100, attack: async () => {} };

function calls(p50Ms: number, worstMs: number, failed = 0): CallSummary {
  return { count: 100, failed, p50Ms, worstMs };
}

function toResult(changes: Partial<FloodResult>, during = calls(27, 209), upstream = calls(1, 2)): FloodResult {
  const same = { calm: calls(1, 2), flood: upstream };
  return {
    isShort: false,
    cost: { connections: 1, bytes: 1 },
    users: { calls: { calls: { calm: calls(1, 10), flood: during }, upstream: same }, values: 5, failures: [] },
    lostMs: 0,
    startBytes: 70e6,
    peakBytes: 109e6,
    afterBytes: 80e6,
    lastWords: undefined,
    overAfterMs: 100,
    leftOpen: 0,
    countedValues: 5,
    sessions: 100,
    ...changes,
  };
}

describe('missedBounds', () => {
  it('is empty just within all bounds', () => {
    expect(missedBounds(FLOOD, toResult({}))).toEqual([]);
  });

  it.each<[string, FloodResult]>([
    ['p50 of calls', toResult({}, calls(28.1, 100))],
    ['worst of calls', toResult({}, calls(2, 211))],
    ['1 calls failed', toResult({}, calls(2, 20, 1))],
    ['no calls', toResult({}, { ...calls(0, 0), count: 0 })],
    ['memory', toResult({ peakBytes: 111e6 })],
    ['512 MiB', toResult({ startBytes: 520e6, peakBytes: 540e6 })],
    ['ended', toResult({ lastWords: 'signal SIGKILL', overAfterMs: undefined })],
    ['900 left open', toResult({ overAfterMs: undefined, leftOpen: 900 })],
    ['values', toResult({ countedValues: 4 })],
    ['101 sessions', toResult({ sessions: 101 })],
  ])('contains: %s', (missed, result) => {
    expect(missedBounds(FLOOD, result)).toEqual([missed]);
  });

  it('does not blame the sidecar for a delay that direct calls have as well', () => {
    expect(missedBounds(FLOOD, toResult({}, calls(2, 500), calls(1, 400)))).toEqual([]);
  });

  it('does not blame the sidecar for processor time that other programs took', () => {
    expect(missedBounds(FLOOD, toResult({ lostMs: 300 }, calls(2, 500)))).toEqual([]);
  });

  it('allows a short flood eight times the added delay', () => {
    expect(missedBounds(FLOOD, toResult({ isShort: true }, calls(202, 1_609)))).toEqual([]);
    expect(missedBounds(FLOOD, toResult({ isShort: true }, calls(204, 1_612)))).toEqual([
      'p50 of calls',
      'worst of calls',
    ]);
  });

  it('judges the honest reader when the flood is aimed at the monitoring port', () => {
    expect(missedBounds({ ...FLOOD, setting: 'monitor' }, toResult({}))).toEqual(['no monitor']);
  });
});
