import { describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/base/logger.ts';
import { JvmMonitor } from '../../../src/jvm/jvm-monitor.ts';
import type { JvmReading } from '../../../src/jvm/jvm-reading.ts';
import { JvmSourceError } from '../../../src/jvm/jvm-source.ts';
import { ManualClock } from '../../support/clock.ts';

const READING: JvmReading = {
  ...{ classes: {}, heap: {}, nonHeap: {}, pools: new Map(), collectors: new Map(), memory: 'live' },
};

describe('the condition of the JVM', () => {
  it('reports since when it can be read: a failed reading is no gap, a stale one is', async () => {
    const clock = new ManualClock();
    const startMs = clock.epochMs();
    let isThere = false;
    const source = {
      name: 'test',
      read: () =>
        isThere ? Promise.resolve(READING) : Promise.reject(new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', 'Gone.')),
      close: () => undefined,
    };
    const monitor = new JvmMonitor({
      upstreamPort: 8080,
      ...{ source, intervalMs: 5_000, timeoutMs: 2_000, staleAfterMs: 15_000, clock },
      logger: createLogger('silent'),
    });
    const refreshAt = async (ms: number, found: boolean) => {
      clock.advanceMs(startMs + ms - clock.epochMs());
      isThere = found;
      await monitor.refresh();
      const { kind, sinceEpochMs } = monitor.state;
      return [kind, sinceEpochMs - startMs];
    };
    expect(await refreshAt(1_000, false)).toEqual(['unavailable', 0]);
    expect(await refreshAt(5_000, true)).toEqual(['available', 5_000]);
    expect(await refreshAt(10_000, true)).toEqual(['available', 5_000]);
    expect(await refreshAt(20_000, false)).toEqual(['available', 5_000]);
    expect(await refreshAt(24_000, true)).toEqual(['available', 5_000]);
    expect(await refreshAt(40_000, false)).toEqual(['unavailable', 24_000]);
    expect(await refreshAt(41_000, true)).toEqual(['available', 41_000]);
    monitor.stop();
  });
});
