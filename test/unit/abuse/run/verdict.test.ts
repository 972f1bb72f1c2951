import { expect, it } from 'vitest';
import type { Flood } from '../../../abuse/floods/flood.ts';
import type { FloodResult } from '../../../abuse/run/abuse-run.ts';
import { missedBounds } from '../../../abuse/run/verdict.ts';
import type { CallSummary } from '../../../abuse/users/call-log.ts';

const FLOOD: Flood = { name: 'f', what: '', maxGrowthBytes: 40e6, maxSessions: 100, attack: async () => {} };

function calls(p50Ms: number, worstMs: number, failed = 0): CallSummary {
  return { count: 100, failed, p50Ms, steadyMs: p50Ms, worstMs };
}

function toResult(changes: Partial<FloodResult>, during = calls(27, 209), relayed = calls(1, 2)): FloodResult {
  const same = { calm: calls(1, 2), flood: relayed };
  return {
    isShort: false,
    slowness: 1,
    cost: { connections: 1, bytes: 1 },
    users: { calls: { calls: { calm: calls(1, 10), flood: during }, relayed: same }, values: 5, failures: [] },
    ...{ lostMs: 0, startBytes: 70e6, peakBytes: 109e6, afterBytes: 80e6 },
    ...{ lastWords: undefined, overAfterMs: 100, leftOpen: 0, countedValues: 5, sessions: 100, hasLateName: true },
    ...changes,
  };
}

it.each<[string, FloodResult, readonly string[]]>([
  ['nothing is missed just within all bounds', toResult({}), []],
  ['a slow median', toResult({}, calls(28.1, 100)), ['p50 of calls 28.1 ms, at most 28']],
  ['a slow call', toResult({}, calls(2, 211)), ['worst of calls 211 ms, at most 210']],
  ['a failed call', toResult({}, calls(2, 20, 1)), ['failed calls 1, at most 0']],
  ['no call at all', toResult({}, { ...calls(0, 0), count: 0 }), ['no calls']],
  ['growth of memory', toResult({ peakBytes: 111e6 }), ['growth of memory 41 MB, at most 40']],
  ['memory above the limit', toResult({ startBytes: 520e6, peakBytes: 540e6 }), ['memory 540 MB, at most 536.9']],
  ['an end', toResult({ lastWords: 'signal SIGKILL', overAfterMs: undefined }), ['ended']],
  ['open descriptors', toResult({ overAfterMs: undefined, leftOpen: 900 }), ['900 left open']],
  ['values that were not counted', toResult({ countedValues: 4 }), ['counted values 4, received 5']],
  ['a name that has no metric', toResult({ hasLateName: false }), ['a new name has no metric']],
  ['too many sessions', toResult({ sessions: 101 }), ['sessions 101, at most 100']],
  [
    'a delay that calls through a plain relay have as well is not the sidecar’s',
    toResult({}, calls(2, 500), calls(1, 400)),
    [],
  ],
  ['time that other programs took is not the sidecar’s', toResult({ lostMs: 500 }, calls(53, 909)), []],
  ['a machine that is three times slower may delay three times as much', toResult({ slowness: 3 }, calls(78, 609)), []],
  ['but no more than that', toResult({ slowness: 3 }, calls(2, 611)), ['worst of calls 611 ms, at most 610']],
  ['a short flood may delay eight times as much', toResult({ isShort: true }, calls(202, 1_609)), []],
  [
    'the first burst of a short flood may be half of it',
    toResult({ isShort: true }, { ...calls(500, 1_000), steadyMs: 20 }),
    [],
  ],
  [
    'a delay lasts in a short flood',
    toResult({ isShort: true }, calls(204, 1_000)),
    ['p50 of calls 204 ms, at most 203'],
  ],
  [
    'a call waits for seconds in a short flood',
    toResult({ isShort: true }, calls(2, 3_000)),
    ['worst of calls 3000 ms, at most 1610'],
  ],
])('%s', (_, result, missed) => {
  expect(missedBounds(FLOOD, result)).toEqual(missed);
});

it('the honest reader is judged when the flood is aimed at the monitoring port', () => {
  expect(missedBounds({ ...FLOOD, setting: 'monitor' }, toResult({}))).toEqual(['no monitor']);
});
