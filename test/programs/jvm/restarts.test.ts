/**
 * What becomes of the reading when the JVM ends, is killed, stands still or is replaced: real JVMs, found by their port, and
 * refreshes one at a time on a clock that the test moves. Needs a JDK.
 */

import { existsSync, readdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import { JvmMonitor, type JvmState } from '../../../src/jvm/jvm-monitor.ts';
import { ManualClock } from '../../support/clock.ts';
import { isAvailable } from '../../support/programs.ts';
import type { SourceName } from './truth/exceptions.ts';
import { ATTACH_TIMEOUT_MS, openSource, READ_TIMEOUT_MS, type Where } from './truth/sources.ts';
import { compileTruth, installedJvms, isCompilerInstalled, startTruth, type Truth } from './truth/truth.ts';

const isInstalled = isAvailable('a JDK', isCompilerInstalled());

const STALE_AFTER_MS = 15_000;
const REFRESHES = 1_000;
const WARM_UP = 300;
const MOST_ROUNDS = 4;
/** A leak of 1 KB at each refresh would be 1 MB. */
const MAX_GROWTH_BYTES = 512 * 1024;

/** What is in use when nothing is under way: also without the deadlines of the last readings, which hold what they would end. */
async function settledHeapBytes(): Promise<number> {
  await delay(ATTACH_TIMEOUT_MS + 100);
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}

function countOfDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

function gaugeOf(state: JvmState, name: 'loaded' | 'unloaded'): number {
  if (state.kind !== 'available') throw new Error(state.reason);
  return Number(state.gauges.classloader.gauges.get(`jvm.classloader.${name}`)?.read());
}

function monitorOf(name: SourceName, where: Where, clock: Clock): JvmMonitor {
  return new JvmMonitor({
    upstreamPort: 8080,
    source: openSource(name, where),
    clock,
    logger: pino({ level: 'silent' }),
    intervalMs: 5_000,
    timeoutMs: READ_TIMEOUT_MS,
    staleAfterMs: STALE_AFTER_MS,
  });
}

describe.runIf(isInstalled).each(installedJvms())('a JVM of JDK $major, found by its port', (jvm) => {
  let compiled: Awaited<ReturnType<typeof compileTruth>>;
  let clock: ManualClock;
  let truth: Truth;
  let monitor: JvmMonitor;
  /** Looks for no other server of this machine, as the one by port does when nobody listens there. */
  let byPid: JvmMonitor;

  beforeAll(async () => {
    compiled = await compileTruth();
  });

  afterAll(() => compiled.remove());

  beforeEach(async () => {
    clock = new ManualClock();
    truth = await start();
    monitor = monitorOf('hsperfdata', { upstreamHost: '127.0.0.1', upstreamPort: truth.port }, clock);
    byPid = monitorOf('hsperfdata', { pid: truth.pid }, clock);
    await Promise.all([monitor.refresh(), byPid.refresh()]);
    expect([monitor.state.kind, byPid.state.kind]).toEqual(['available', 'available']);
  });

  afterEach(async () => {
    monitor.stop();
    byPid.stop();
    await truth.stop();
  });

  const start = (port = 0) => startTruth({ jvm, collector: 'serial', classPath: compiled.classPath, port });

  /** Refreshes as a sidecar would, until its last good reading is older than it may be. */
  async function refreshUntilStale(): Promise<JvmState> {
    for (let passedMs = 0; passedMs <= STALE_AFTER_MS; passedMs += 5_000) {
      clock.advanceMs(5_000);
      await Promise.all([monitor.refresh(), byPid.refresh()]);
    }
    return byPid.state;
  }

  async function isBackWithinOneRefresh(): Promise<void> {
    clock.advanceMs(5_000);
    await monitor.refresh();
    expect(monitor.state).toMatchObject({ kind: 'available', ageMs: 0 });
  }

  it('disappears after its end, and appears again after a restart', async () => {
    await truth.stop();
    expect(await refreshUntilStale()).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringContaining('has ended'),
    });
    truth = await start(truth.port);
    await isBackWithinOneRefresh();
  });

  it('disappears after SIGKILL, which leaves its file', async () => {
    await truth.kill('SIGKILL');
    expect(existsSync(`/tmp/hsperfdata_${userInfo().username}/${truth.pid}`)).toBe(true);
    expect(await refreshUntilStale()).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringContaining('has ended'),
    });
    truth = await start(truth.port);
    await isBackWithinOneRefresh();
  });

  it('disappears while it is stopped, and appears again when it continues', async () => {
    await truth.kill('SIGSTOP');
    expect(await refreshUntilStale()).toMatchObject({
      kind: 'unavailable',
      reason: expect.stringContaining('stopped'),
    });
    await truth.kill('SIGCONT');
    await isBackWithinOneRefresh();
  });

  it('is distinguished from a JVM that replaced it between two refreshes', async () => {
    await truth.loadClasses(500);
    clock.advanceMs(5_000);
    await monitor.refresh();
    const before = gaugeOf(monitor.state, 'loaded');
    await truth.kill('SIGKILL');
    truth = await start(truth.port);
    await isBackWithinOneRefresh();
    expect(gaugeOf(monitor.state, 'loaded')).toBeLessThan(before - 400);
    expect(gaugeOf(monitor.state, 'loaded')).toBe((await truth.beans()).classes.loaded);
  });
});

describe.runIf(isInstalled)('a monitor that runs for long', () => {
  it.each(['hsperfdata', 'hsperfdata+attach'] as const)(
    `uses no more memory and descriptors after ${REFRESHES} refreshes by %s`,
    async (name) => {
      const compiled = await compileTruth();
      const jvm = installedJvms().at(-1)!;
      const truth = await startTruth({ jvm, collector: 'serial', classPath: compiled.classPath });
      const monitor = monitorOf(name, { pid: truth.pid }, new ManualClock());
      const refresh = async (times: number) => {
        for (let i = 0; i < times; i += 1) await monitor.refresh();
      };
      // Compiled code and caches are there from now on.
      await refresh(WARM_UP);
      const descriptors = countOfDescriptors();
      let grownBytes = Number.POSITIVE_INFINITY;
      // What grows once may grow in the first round; a leak grows in each.
      for (let round = 0; round < MOST_ROUNDS && grownBytes >= MAX_GROWTH_BYTES; round += 1) {
        const heapBytes = await settledHeapBytes();
        await refresh(REFRESHES);
        grownBytes = (await settledHeapBytes()) - heapBytes;
      }
      expect(monitor.failures).toBe(0);
      expect(countOfDescriptors()).toBeLessThanOrEqual(descriptors);
      expect(grownBytes).toBeLessThan(MAX_GROWTH_BYTES);
      monitor.stop();
      await truth.stop();
      compiled.remove();
    },
    180_000,
  );
});
