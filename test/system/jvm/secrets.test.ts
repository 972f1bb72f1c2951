/** A JVM's arguments and answers may hold passwords: none of them is in what is told of why a JVM cannot be read. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AttachOverlay } from '../../../src/jvm/attach/attach-overlay.ts';
import { findJvm } from '../../../src/jvm/hsperfdata/find-jvm.ts';
import { SearchBounds } from '../../../src/jvm/hsperfdata/search-bounds.ts';
import { Markers } from '../secrets/markers.ts';
import { FakeJvm, NO_READING } from './fake-jvm.ts';
import { FakeMachine, withTexts } from './fake-machine.ts';

const NEVER = new AbortController().signal;

let machine: FakeMachine;
let jvm: FakeJvm;
beforeEach(() => {
  machine = new FakeMachine();
  jvm = new FakeJvm();
});
afterEach(async () => {
  machine.remove();
  await jvm.remove();
});

it('the counters of several candidates', async () => {
  const markers = new Markers();
  for (const pid of [812, 813]) {
    const command = `org.apache.catalina.startup.Bootstrap -Dpassword=${markers.at(`${pid}: javaCommand`)} start`;
    const flags = `-Djavax.net.ssl.keyStorePassword=${markers.at(`${pid}: jvmArgs`)}`;
    machine.addFile('tomcat', pid, withTexts({ 'sun.rt.javaCommand': command, 'java.rt.vmArgs': flags }));
    machine.addProcess({ pid });
  }
  const { procPath, tmpPath } = machine;
  const upstream = { upstreamHost: 'app.example.com', upstreamPort: 1 };
  const nowNs = () => performance.now() * 1e6;
  const told = await findJvm({ procPath, tmpPath, ...upstream, nowNs, bounds: new SearchBounds() }, NEVER).then(
    () => expect.fail('one of them was taken'),
    (cause: Error) => `${cause.stack} ${JSON.stringify(cause)}`,
  );
  expect(told).toContain('pid 812 (user tomcat, org.apache.catalina.startup.Bootstrap), pid 813');
  expect(markers.leaksIn(told)).toEqual([]);
});

it.each<[string, (secret: string) => string]>([
  ['an error of a command', (secret) => `1\njava.lang.SecurityException: ${secret}`],
  ['another protocol', (secret) => `${secret}\n${secret}`],
  ['a right answer that cannot be read', (secret) => `0\n${secret} total 1K, used ${secret}`],
  ['flags with a password in them', (secret) => `0\n-XX:OnError=${secret} -XX:+UseSerialGC -Dpassword=${secret}`],
])('answers of the attach socket: %s', async (place, answer) => {
  const markers = new Markers();
  const secret = markers.at(place);
  jvm.become({ cmdline: ['java', `-Dpassword=${markers.at('command line')}`, 'Main'] });
  jvm.answer = () => answer(secret);
  await jvm.listen();
  const overlay = new AttachOverlay({ mayOpen: false, system: jvm.system() });
  const laid = await overlay.apply(NO_READING, jvm.target, NEVER);
  await overlay.close();
  const told = `${overlay.reason} ${JSON.stringify({ ...laid, pools: [...laid.pools] })}`;
  expect(overlay.reason).toMatch(/\w/);
  expect(jvm.requests.length).toBeGreaterThan(0);
  expect(markers.leaksIn(told)).toEqual([]);
});
