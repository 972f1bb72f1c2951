/** Both servlets of a real Tomcat's manager, against the MXBeans of the same JVM, read just before and just after. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HttpKind, HttpSource, type HttpSourceOptions } from '../../../../src/jvm/http/http-source.ts';
import { TOMCAT_JMXPROXY } from '../../../../src/jvm/http/tomcat-jmxproxy.ts';
import { TOMCAT_STATUS } from '../../../../src/jvm/http/tomcat-status.ts';
import { ManualClock } from '../../../support/clock.ts';
import { deferTo } from '../../../support/deferred.ts';
import { credentialsOf, failureOf, soon } from '../../../support/jvm/http/sources.ts';
import { compare, type Deviation } from '../../../support/jvm/truth/comparison.ts';
import { hasManager, type ManagerTomcat, startManagerTomcat } from './manager-tomcat/manager-tomcat.ts';

function optionsFor(tomcat: ManagerTomcat, user: string, password = `word of ${user}`): HttpSourceOptions {
  return { url: `${tomcat.origin}/manager`, credentials: credentialsOf(user, password), clock: new ManualClock() };
}

const isNotOfStatus = ({ gauge }: Deviation) =>
  gauge.startsWith('jvm.classloader.') || gauge.startsWith('jvm.garbagecollector.') || gauge.endsWith('.used-after-gc');

describe.runIf(hasManager).each(['G1', 'Serial', 'Parallel'])('a real Tomcat with %s', (collector) => {
  const defer = deferTo(afterAll);
  let tomcat: ManagerTomcat;
  beforeAll(async () => {
    tomcat = await startManagerTomcat(defer, collector);
  });

  async function look(kind: HttpKind, user: string) {
    const source = new HttpSource(kind, optionsFor(tomcat, user));
    await source.read(soon());
    return await compare(source, tomcat.beans);
  }

  it('shows every gauge through its JMX proxy with the value of its own MXBeans', async () => {
    const { reading, found } = await look(TOMCAT_JMXPROXY, 'jmx');
    expect([found, reading.memory]).toEqual([[], 'live']);
  });

  it('shows only memory through its status page, with the values of its own MXBeans', async () => {
    const { found } = await look(TOMCAT_STATUS, 'status');
    const rest = found.filter((deviation) => !isNotOfStatus(deviation)).map(({ kind, gauge }) => `${kind} ${gauge}`);
    // With these two, no pool contains one of the survivor spaces, so the initial sizes do not add up.
    const missing = collector === 'G1' ? [] : ['missing jvm.memory.heap.init', 'missing jvm.memory.total.init'];
    expect(rest.sort()).toEqual(missing);
    expect(found.filter(isNotOfStatus).every(({ kind }) => kind === 'missing')).toBe(true);
  });

  // The rest does not depend on the collector, so one is enough.
  if (collector !== 'Serial') return;
  it('does not lock out a user whose password is wrong in the sidecar for five minutes', async () => {
    const clock = new ManualClock();
    const wrong = new HttpSource(TOMCAT_JMXPROXY, { ...optionsFor(tomcat, 'jmx', 'mistyped'), clock });
    for (let poll = 0; poll < 60; poll += 1) {
      expect((await failureOf(wrong.read(soon()))).code).toBe('D2S_ERR_JVM_ACCESS');
      clock.advanceS(5);
    }
    const right = new HttpSource(TOMCAT_JMXPROXY, optionsFor(tomcat, 'jmx'));
    expect((await right.read(soon())).classes.loaded).toBeGreaterThan(1000);
  });

  it.each([
    [TOMCAT_JMXPROXY, 'role manager-jmx'],
    [TOMCAT_STATUS, 'manager-status'],
  ])('names the missing role', async (kind, role) => {
    const { code, message } = await failureOf(new HttpSource(kind, optionsFor(tomcat, 'nobody')).read(soon()));
    expect([code, message]).toEqual(['D2S_ERR_JVM_ACCESS', expect.stringContaining(role)]);
  });

  it('accepts our Digest over several readings', async () => {
    const options = { ...optionsFor(tomcat, 'status'), url: `${tomcat.origin}/digest` };
    const source = new HttpSource({ ...TOMCAT_STATUS, hasDigest: true }, options);
    for (let poll = 0; poll < 5; poll += 1) {
      expect((await source.read(soon())).pools.has('Eden Space')).toBe(true);
    }
  });
});
