import { expect, it } from 'vitest';
import { CallLog } from '../../../abuse/users/call-log.ts';

it('the log has the medians, the maximum and the failures of each kind and phase', () => {
  const log = new CallLog();
  for (const tookMs of [5, 1, 9]) log.add('calls', 'calm', tookMs, false);
  log.add('calls', 'flood', 30_000, true);
  log.add('upstream', 'calm', 2, false);
  expect(log.summaries()).toEqual({
    calls: {
      calm: { count: 3, failed: 0, p50Ms: 5, steadyMs: 1, worstMs: 9 },
      flood: { count: 1, failed: 1, p50Ms: 30_000, steadyMs: 30_000, worstMs: 30_000 },
    },
    upstream: { calm: { count: 1, failed: 0, p50Ms: 2, steadyMs: 2, worstMs: 2 } },
  });
});

it.each([
  ['a burst in most of its calls', [1, 2, 900, 900, 900, 900, 900, 900], 900, 1.5],
  ['a lasting delay', Array(8).fill(300), 300, 300],
])('the steady median of a phase with %s', (_, tookMs, p50Ms, steadyMs) => {
  const log = new CallLog();
  for (const ms of tookMs) log.add('calls', 'flood', ms, false);
  expect(log.summaries().calls?.flood).toMatchObject({ p50Ms, steadyMs });
});
