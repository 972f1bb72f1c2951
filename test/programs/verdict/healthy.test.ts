/** A healthy server under load, with collections, a reload and single errors, is never blamed; for `D2S_HEALTHY_MINUTES`. */
import { afterAll, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { succeed } from '../../support/install/run.ts';
import { runSidecar, startConfigured, verdictOf } from '../../support/sidecar-process.ts';
import { hasTomcat, startTomcat } from '../../support/tomcat/tomcat.ts';
import { call, REST } from './clients.ts';

const SECONDS = 60 * Number(process.env.D2S_HEALTHY_MINUTES ?? 0.5);
const CALLS_A_SECOND = 40;
const FAILS_EVERY_S = 7;
const COLLECTS_EVERY_S = 10;

describe.runIf(hasTomcat())('a healthy server', { timeout: (SECONDS + 60) * 1_000 }, () => {
  const defer = deferTo(afterAll);

  it(`is never blamed in ${SECONDS} s of load`, async () => {
    const { port, pid } = await startTomcat(defer);
    // Compiles the JSP.
    await call(`127.0.0.1:${port}`, `${REST}rpc/E.Demo/TestInOut`, CALLS_A_SECOND);
    const sidecar = await startConfigured(defer, `http://127.0.0.1:${port}/smartWeb`, {
      jvm: { pid, interval: '1s' },
    });
    const seen = new Map<string, string>();
    const ended: Promise<unknown>[] = [];
    for (let second = 0; second < SECONDS; second += 1) {
      const next = new Promise((resolve) => setTimeout(resolve, 1_000));
      ended.push(call(sidecar.listen, `${REST}rpc/E.Demo/Sleep${second % 30}`, CALLS_A_SECOND));
      if (second % FAILS_EVERY_S === 0) ended.push(call(sidecar.listen, `${REST}rpc/E.Demo/Fail`, 1));
      if (second % COLLECTS_EVERY_S === 0) ended.push(succeed('jcmd', [String(pid), 'GC.run']));
      if (second === Math.floor(SECONDS / 2)) ended.push(runSidecar(['reload', '--pid', String(sidecar.pid)]));
      const { code, text } = await verdictOf(sidecar);
      if (!seen.has(code)) seen.set(code, text);
      await next;
    }
    await Promise.all(ended);
    const { rules } = await verdictOf(sidecar);
    // The JVM is read, so that its rules could have applied.
    expect(rules.find(({ code }) => code === 'garbage-collection')?.text).toMatch(/Now: [\d.]+ %/);
    seen.delete('fine');
    seen.delete('quiet');
    expect([...seen]).toEqual([]);
  });
});
