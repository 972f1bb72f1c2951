import { expect, it } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { JvmMonitor } from '../../../src/jvm/jvm-monitor.ts';
import { JvmSourceError } from '../../../src/jvm/jvm-source.ts';
import { ManualClock } from '../../support/clock.ts';
import { NO_READING } from '../../support/jvm/no-reading.ts';

it('the JVM’s condition says since when it can be read: a failed reading is no gap, a stale one is', async () => {
  const clock = new ManualClock();
  const startMs = clock.epochMs();
  let isThere = false;
  const source = {
    name: 'test',
    read: async () => {
      if (!isThere) throw new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', 'Gone.');
      return NO_READING;
    },
    close: () => undefined,
  };
  const monitor = new JvmMonitor({
    upstreamPort: 8080,
    ...{ source, intervalMs: 5_000, timeoutMs: 2_000, staleAfterMs: 15_000, clock },
    logger: createLogger('silent'),
  });
  for (const [ms, found, kind, sinceMs] of [
    [1_000, false, 'unavailable', 0],
    [5_000, true, 'available', 5_000],
    [10_000, true, 'available', 5_000],
    [20_000, false, 'available', 5_000],
    [24_000, true, 'available', 5_000],
    [40_000, false, 'unavailable', 24_000],
    [41_000, true, 'available', 41_000],
  ] as const) {
    clock.advanceMs(startMs + ms - clock.epochMs());
    isThere = found;
    await monitor.refresh();
    expect(monitor.state, `${ms} ms`).toMatchObject({ kind, sinceEpochMs: startMs + sinceMs });
  }
  monitor.stop();
});
