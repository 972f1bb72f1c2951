/**
 * The built sidecar on a real JVM: `metrics/jvm` against the MXBeans, and what happens to them and to the traffic
 * when the JVM is stopped, killed, and started again on its port. Needs a JDK.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startConfigured } from '../support/configured-sidecar.ts';
import { deferTo } from '../support/deferred.ts';
import type { SidecarProcess } from '../support/sidecar-process.ts';
import { compileTruth, JVMS, startTruth, type Truth } from './jvm/truth/truth.ts';

const INTERVAL_MS = 1_000;
const STALE_AFTER_MS = 3_000;
/** Tolerance for a machine that runs other tests, too. */
const SLACK_MS = 1_500;
const READ = { timeout: INTERVAL_MS + SLACK_MS, interval: 50 };
const STALE = { timeout: STALE_AFTER_MS + SLACK_MS, interval: 50 };

describe.each(JVMS)('the sidecar of a JVM of JDK $major', (jvm) => {
  const defer = deferTo(afterAll);
  let classPath: string;
  let truth: Truth;
  let sidecar: SidecarProcess;

  async function start(port = 0): Promise<Truth> {
    truth = await startTruth({ jvm, collector: 'g1', classPath, port });
    defer(() => truth.stop());
    return truth;
  }

  beforeAll(async () => {
    classPath = await compileTruth(defer);
    const jvmKeys = { interval: `${INTERVAL_MS}ms`, staleAfter: `${STALE_AFTER_MS}ms` };
    sidecar = await startConfigured(defer, `http://127.0.0.1:${(await start()).port}/app`, { jvm: jvmKeys });
  });

  async function ask(path = '') {
    const { statusCode, headers, body } = await request(
      `http://${sidecar.monitor}/app/api/rest/v0/admin/metrics/jvm${path}`,
    );
    const { gauges = {}, detail } = (await body.json()) as {
      gauges?: Record<string, { value: number }>;
      detail?: string;
    };
    return { status: statusCode, headers, detail, gauge: (name: string) => gauges[`jvm.${name}`]?.value };
  }

  async function proxied(): Promise<number> {
    const response = await request(`http://${sidecar.listen}/app/`);
    await response.body.dump();
    return response.statusCode;
  }

  const status = async () => (await ask()).status;

  it('shows the values of its MXBeans, each with age and source', async () => {
    await truth.tell('gc');
    await delay(INTERVAL_MS + SLACK_MS);
    const { classes, heap, collectors } = await truth.beans();
    const { status, headers, gauge } = await ask();
    expect(status).toBe(200);
    expect(Number(headers.age)).toBeLessThanOrEqual((INTERVAL_MS + SLACK_MS) / 1_000);
    expect(headers['metrics-source']).toContain('hsperfdata');
    expect(gauge('classloader.loaded')).toBe(classes.loaded);
    expect(gauge('classloader.unloaded')).toBe(classes.unloaded);
    expect(gauge('memory.heap.max')).toBe(heap.max);
    for (const generation of ['Young', 'Old']) {
      const count = collectors[`G1 ${generation} Generation`]?.count;
      expect(gauge(`garbagecollector.G1-${generation}-Generation.count`)).toBe(count);
    }
  });

  it('says 503 with the reason while the JVM is stopped, and shows it again when it continues', async () => {
    await expect.poll(status, READ).toBe(200);
    await truth.kill('SIGSTOP');
    await expect.poll(status, STALE).toBe(503);
    expect((await ask('/memory')).detail).toContain('stopped');
    await truth.kill('SIGCONT');
    await expect.poll(status, READ).toBe(200);
    expect(await proxied()).toBe(200);
  });

  it('survives the JVM: traffic and endpoints recover with the next JVM on its port', async () => {
    await expect.poll(status, READ).toBe(200);
    const statuses = new Set<number>();
    let isOver = false;
    const traffic = (async () => {
      while (!isOver) {
        statuses.add(await proxied());
        await delay(10);
      }
    })();
    await truth.tell('load 2000');
    await truth.kill('SIGKILL');
    await start(truth.port);
    await expect.poll(status, READ).toBe(200);
    // Not the dead one, whose reading may be shown until it is stale.
    await expect.poll(async () => (await ask()).gauge('classloader.loaded'), STALE).toBeLessThan(2_000);
    isOver = true;
    await traffic;
    // The port was closed for a moment, which counts against the upstream; nothing else happened.
    expect([...statuses].filter((one) => one !== 200 && one !== 502)).toEqual([]);
    expect(new Set(await Promise.all(Array.from({ length: 20 }, proxied)))).toEqual(new Set([200]));
    expect(sidecar.stderr()).toBe('');
    expect(await sidecar.stop()).toBe(0);
  });
});
