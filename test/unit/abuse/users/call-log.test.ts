import { expect, it } from 'vitest';
import { CallLog } from '../../../abuse/users/call-log.ts';

it('the log has the median, the maximum and the failures of each kind and phase', () => {
  const log = new CallLog();
  for (const tookMs of [5, 1, 9]) log.add('calls', 'calm', tookMs, false);
  log.add('calls', 'flood', 30_000, true);
  log.add('upstream', 'calm', 2, false);
  expect(log.summaries()).toEqual({
    calls: {
      calm: { count: 3, failed: 0, p50Ms: 5, worstMs: 9 },
      flood: { count: 1, failed: 1, p50Ms: 30_000, worstMs: 30_000 },
    },
    upstream: { calm: { count: 1, failed: 0, p50Ms: 2, worstMs: 2 } },
  });
});
