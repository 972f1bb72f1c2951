/** A monitor that reads a real JVM many times, on a clock that stands still. Needs a JDK. */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import { JvmMonitor } from '../../../src/jvm/jvm-monitor.ts';
import { ManualClock } from '../../support/clock.ts';
import { deferTo } from '../../support/deferred.ts';
import { usedBytes } from '../../support/garbage.ts';
import { READ_TIMEOUT_MS } from '../../support/jvm/truth/comparison.ts';
import { ATTACH_TIMEOUT_MS, openSource } from './truth/sources.ts';
import { compileTruth, hasJdk, JVMS, startTruth } from './truth/truth.ts';

const REFRESHES = 1_000;
const WARM_UP = 300;
const MOST_ROUNDS = 4;
/** A leak of 1 KB at each refresh would be 1 MB. */
const MAX_GROWTH_BYTES = 512 * 1024;

/** Memory in use while idle. The deadlines of the last readings must be over, since they hold their readings. */
async function settledHeapBytes(): Promise<number> {
  await delay(Math.max(ATTACH_TIMEOUT_MS, READ_TIMEOUT_MS) + 100);
  return await usedBytes();
}

const countOfDescriptors = () => readdirSync('/proc/self/fd').length;

describe.runIf(hasJdk)('a long-running monitor', () => {
  const defer = deferTo(afterEach);

  it(`uses no more memory and descriptors after ${REFRESHES} refreshes`, { timeout: 180_000 }, async () => {
    const truth = await startTruth(defer, { jvm: JVMS.at(-1)!, classPath: await compileTruth(defer) });
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    const times = { intervalMs: 5_000, timeoutMs: READ_TIMEOUT_MS, staleAfterMs: 15_000 };
    const source = openSource('hsperfdata+attach', truth.pid);
    const monitor = new JvmMonitor({ upstreamPort: 8080, source, clock: new ManualClock(), logger, ...times });
    defer(() => monitor.stop());
    const refresh = async (count: number) => {
      for (let i = 0; i < count; i += 1) await monitor.refresh();
    };
    // Compiled code and caches exist from now on.
    await refresh(WARM_UP);
    const descriptors = countOfDescriptors();
    let grownBytes = Number.POSITIVE_INFINITY;
    // One-time growth happens in the first round; a leak grows in each round.
    for (let round = 0; round < MOST_ROUNDS && grownBytes >= MAX_GROWTH_BYTES; round += 1) {
      const heapBytes = await settledHeapBytes();
      await refresh(REFRESHES);
      grownBytes = (await settledHeapBytes()) - heapBytes;
    }
    expect([lines, monitor.failures]).toEqual([[], 0]);
    expect(countOfDescriptors()).toBeLessThanOrEqual(descriptors);
    expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
  });
});
