/**
 * Both servlets of a real Tomcat's manager, against the MXBeans of that very JVM read just before and just after. Needs Debian's
 * `tomcat10` and `tomcat10-admin`; D2S_REQUIRE_TOMCAT=1 makes their absence a failure.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HttpClient, type HttpSourceOptions } from '../../../src/jvm/http/http-client.ts';
import { DigestLogin } from '../../../src/jvm/http/login.ts';
import { TomcatJmxProxySource } from '../../../src/jvm/http/tomcat-jmxproxy.ts';
import { readTomcatStatus, TomcatStatusSource } from '../../../src/jvm/http/tomcat-status.ts';
import { type Deviation, deviations } from '../truth/comparison.ts';
import { isManagerInstalled, type ManagerTomcat, startManagerTomcat } from './manager-tomcat/manager-tomcat.ts';
import { credentialsOf, failureOf, gaugesOf, StillClock, soon } from './sources.ts';

const isInstalled = isManagerInstalled();
if (!isInstalled) console.warn('SKIPPED: the tests on Tomcat’s manager; they need the Debian package tomcat10-admin');

it.runIf(process.env.D2S_REQUIRE_TOMCAT === '1')('has the manager that D2S_REQUIRE_TOMCAT=1 demands', () => {
  expect(isInstalled).toBe(true);
});

function optionsFor(tomcat: ManagerTomcat, user: string, password = `word of ${user}`): HttpSourceOptions {
  return {
    url: `${tomcat.origin}/manager`,
    credentials: credentialsOf(user, password),
    clock: new StillClock(),
  };
}

const isNotOfStatus = ({ gauge }: Deviation) =>
  gauge.startsWith('jvm.classloader.') || gauge.startsWith('jvm.garbagecollector.') || gauge.endsWith('.used-after-gc');

describe.runIf(isInstalled).each(['G1', 'Serial', 'Parallel'])('a real Tomcat with %s', (collector) => {
  let tomcat: ManagerTomcat;

  beforeAll(async () => {
    tomcat = await startManagerTomcat([`-XX:+Use${collector}GC`]);
  });

  afterAll(async () => {
    await tomcat?.stop();
  });

  it('tells every gauge through its JMX proxy, as its own MXBeans have it', async () => {
    const source = new TomcatJmxProxySource(optionsFor(tomcat, 'jmx'));
    await source.read(soon());
    const before = await tomcat.beans();
    const reading = await source.read(soon());
    expect(deviations(before, gaugesOf(reading), await tomcat.beans())).toEqual([]);
    expect(reading.memory).toBe('live');
  });

  it('tells memory through its status page, as its own MXBeans have it, and nothing else', async () => {
    const source = new TomcatStatusSource(optionsFor(tomcat, 'status'));
    await source.read(soon());
    const before = await tomcat.beans();
    const reading = await source.read(soon());
    const found = deviations(before, gaugesOf(reading), await tomcat.beans());
    const rest = found.filter((deviation) => !isNotOfStatus(deviation)).map(({ kind, gauge }) => `${kind} ${gauge}`);
    // One survivor space is in no pool of these two, so that the initial sizes do not add up.
    const missing = collector === 'G1' ? [] : ['missing jvm.memory.heap.init', 'missing jvm.memory.total.init'];
    expect(rest.sort()).toEqual(missing);
    expect(found.filter(isNotOfStatus).every(({ kind }) => kind === 'missing')).toBe(true);
  });

  // What follows has nothing to do with the collector: one of them is enough.
  if (collector !== 'Serial') return;
  it('does not lock a user out whose password is wrong in the sidecar for five minutes', async () => {
    const clock = new StillClock();
    const wrong = new TomcatJmxProxySource({ ...optionsFor(tomcat, 'jmx', 'mistyped'), clock });
    for (let poll = 0; poll < 60; poll += 1) {
      expect((await failureOf(wrong.read(soon()))).code).toBe('D2S_ERR_JVM_ACCESS');
      clock.advanceS(5);
    }
    const right = new TomcatJmxProxySource(optionsFor(tomcat, 'jmx'));
    expect((await right.read(soon())).classes.loaded).toBeGreaterThan(1000);
  });

  it('says which role is missing', async () => {
    const proxy = await failureOf(new TomcatJmxProxySource(optionsFor(tomcat, 'nobody')).read(soon()));
    expect([proxy.code, proxy.message]).toEqual(['D2S_ERR_JVM_ACCESS', expect.stringContaining('role manager-jmx')]);
    const status = await failureOf(new TomcatStatusSource(optionsFor(tomcat, 'nobody')).read(soon()));
    expect([status.code, status.message]).toEqual(['D2S_ERR_JVM_ACCESS', expect.stringContaining('manager-status')]);
  });

  it('says that nothing is there where the manager is not deployed', async () => {
    const options = { ...optionsFor(tomcat, 'jmx'), url: `${tomcat.origin}/elsewhere` };
    expect((await failureOf(new TomcatJmxProxySource(options).read(soon()))).code).toBe('D2S_ERR_JVM_NOT_FOUND');
  });

  it('lets Digest in, over several readings, as Tomcat itself checks it', async () => {
    const client = new HttpClient({
      ...optionsFor(tomcat, 'status'),
      address: { origin: tomcat.origin, basePath: '/digest', query: '' },
      login: new DigestLogin(),
      advice: { forbidden: '', notFound: '' },
    });
    const read = { method: 'GET', path: '/status?JSON=true', accept: 'application/json' } as const;
    for (let poll = 0; poll < 5; poll += 1) {
      expect(readTomcatStatus(await client.read(read, soon())).pools.has('Eden Space')).toBe(true);
    }
  });
});
