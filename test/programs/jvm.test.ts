/**
 * The built sidecar on a real JVM: `metrics/jvm` against the MXBeans, and what happens to them and to the traffic
 * when the JVM is stopped, killed, and started again on its port. Needs a JDK.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAvailable } from '../support/programs.ts';
import { type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { compileTruth, installedJvms, isCompilerInstalled, startTruth, type Truth } from './jvm/truth/truth.ts';

const isInstalled = isAvailable('a JDK', isCompilerInstalled());

const INTERVAL_MS = 1_000;
const STALE_AFTER_MS = 3_000;
/** Tolerance for a machine that runs other tests, too. */
const SLACK_MS = 1_500;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly gauges: Readonly<Record<string, { readonly value: number | string }>>;
  readonly detail: string | undefined;
}

describe.runIf(isInstalled).each(installedJvms())('the sidecar of a JVM of JDK $major', (jvm) => {
  let compiled: Awaited<ReturnType<typeof compileTruth>>;
  let truth: Truth;
  let sidecar: SidecarProcess;

  const start = (port = 0) => startTruth({ jvm, collector: 'g1', classPath: compiled.classPath, port });

  beforeAll(async () => {
    compiled = await compileTruth();
    truth = await start();
    const upstream = `http://127.0.0.1:${truth.port}/app`;
    sidecar = await startSidecarProcess(
      ['--upstream', upstream, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'],
      { D2_SIDECAR_JVM_INTERVAL: `${INTERVAL_MS}ms`, D2_SIDECAR_JVM_STALE_AFTER: `${STALE_AFTER_MS}ms` },
    );
  });

  afterAll(async () => {
    expect(await sidecar.stop()).toBe(0);
    await truth.stop();
    compiled.remove();
  });

  async function ask(path: string): Promise<Answer> {
    const response = await request(`http://${sidecar.monitor}/app/api/rest/v0/admin/metrics/${path}`);
    const body = (await response.body.json()) as { gauges?: Answer['gauges']; detail?: string };
    return { status: response.statusCode, headers: response.headers, gauges: body.gauges ?? {}, detail: body.detail };
  }

  async function proxied(): Promise<number> {
    const response = await request(`http://${sidecar.listen}/app/`);
    await response.body.dump();
    return response.statusCode;
  }

  async function untilStatus(status: number, withinMs: number): Promise<number> {
    const startedAtMs = performance.now();
    while ((await ask('jvm')).status !== status) {
      const passedMs = performance.now() - startedAtMs;
      if (passedMs > withinMs) throw new Error(`not ${status} within ${withinMs} ms: ${(await ask('jvm')).detail}`);
      await delay(50);
    }
    return performance.now() - startedAtMs;
  }

  it('shows the values of its MXBeans, each with age and source', async () => {
    await truth.gc();
    await delay(INTERVAL_MS + SLACK_MS);
    const before = await truth.beans();
    const { status, headers, gauges } = await ask('jvm');
    expect(status).toBe(200);
    expect(Number(headers.age)).toBeLessThanOrEqual((INTERVAL_MS + SLACK_MS) / 1_000);
    expect(headers['metrics-source']).toContain('hsperfdata');
    expect(gauges['jvm.classloader.loaded']?.value).toBe(before.classes.loaded);
    expect(gauges['jvm.classloader.unloaded']?.value).toBe(before.classes.unloaded);
    expect(gauges['jvm.memory.heap.max']?.value).toBe(before.heap.max);
    const young = before.collectors['G1 Young Generation'];
    const old = before.collectors['G1 Old Generation'];
    expect(gauges['jvm.garbagecollector.G1-Young-Generation.count']?.value).toBe(young?.count);
    expect(gauges['jvm.garbagecollector.G1-Old-Generation.count']?.value).toBe(old?.count);
  });

  it('answers endpoint 13 with exactly the union of 10, 11 and 12', async () => {
    await untilStatus(200, INTERVAL_MS + SLACK_MS);
    // A refresh between two answers would split the reading.
    for (let tries = 0; ; tries += 1) {
      const [classloader, memory, collectors, all] = await Promise.all(
        ['jvm/classloader', 'jvm/memory', 'jvm/garbagecollector', 'jvm'].map(ask),
      );
      const union = { ...classloader?.gauges, ...memory?.gauges, ...collectors?.gauges };
      const isSame = JSON.stringify(sorted(union)) === JSON.stringify(sorted(all?.gauges ?? {}));
      if (!isSame && tries < 3) continue;
      expect(union).toEqual(all?.gauges);
      expect(Object.keys(union).length).toBeGreaterThan(20);
      return;
    }
  });

  it('says 503 with the reason while the JVM is stopped, and shows it again when it continues', async () => {
    await untilStatus(200, INTERVAL_MS + SLACK_MS);
    await truth.kill('SIGSTOP');
    await untilStatus(503, STALE_AFTER_MS + SLACK_MS);
    expect((await ask('jvm/memory')).detail).toContain('stopped');
    await truth.kill('SIGCONT');
    await untilStatus(200, INTERVAL_MS + SLACK_MS);
    expect(await proxied()).toBe(200);
  });

  it('survives the JVM: traffic and endpoints recover with the next JVM on its port', async () => {
    await untilStatus(200, INTERVAL_MS + SLACK_MS);
    const statuses = new Set<number>();
    let isOver = false;
    const traffic = (async () => {
      while (!isOver) {
        statuses.add(await proxied());
        await delay(10);
      }
    })();
    await truth.loadClasses(2_000);
    await truth.kill('SIGKILL');
    const diedAtMs = performance.now();
    truth = await start(truth.port);
    await untilStatus(200, INTERVAL_MS + SLACK_MS);
    // Not the dead one, whose reading may be shown until it is stale.
    while (Number((await ask('jvm')).gauges['jvm.classloader.loaded']?.value) >= 2_000) {
      expect(performance.now() - diedAtMs).toBeLessThan(STALE_AFTER_MS + SLACK_MS);
      await delay(50);
    }
    isOver = true;
    await traffic;
    // The port was closed for a moment, which counts against the upstream; nothing else happened.
    expect([...statuses].filter((status) => status !== 200 && status !== 502)).toEqual([]);
    expect(await Promise.all(Array.from({ length: 20 }, proxied))).toEqual(Array.from({ length: 20 }, () => 200));
    expect(sidecar.stderr()).toBe('');
  });
});

function sorted(gauges: Answer['gauges']): [string, unknown][] {
  return Object.entries(gauges).sort(([a], [b]) => a.localeCompare(b));
}
