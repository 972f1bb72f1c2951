/** Jolokia: recorded answers of 1.7.1, answers in the shape of version 2, and a real 1.7.1 core where Debian's `libjolokia-core-java` is installed. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { HttpSource } from '../../../../src/jvm/http/http-source.ts';
import { JOLOKIA, parseJolokia } from '../../../../src/jvm/http/jolokia.ts';
import { ManualClock } from '../../../support/clock.ts';
import { type Defer, deferTo } from '../../../support/deferred.ts';
import { startScripted } from '../../../support/jvm/http/scripted-server.ts';
import { failureOf, soon } from '../../../support/jvm/http/sources.ts';
import type { Beans } from '../../../support/jvm/truth/beans.ts';
import { compare } from '../../../support/jvm/truth/comparison.ts';
import { isAvailable } from '../../../support/programs.ts';
import { startProgram } from '../../../support/running-program.ts';
import { jsonOf } from '../../../support/sidecar-process.ts';

const FOLDER = new URL('../../../fixtures/jvm/http/jolokia/', import.meta.url);
const fixture = (file: string) => readFileSync(new URL(file, FOLDER), 'utf8');
const RECORDED = fixture('bulk-response.json');
const CLASS_PATH = ['/usr/share/java/jolokia-core.jar', '/usr/share/java/json-simple.jar'];
/** A JDK runs the program from its source. */
const hasJdk = spawnSync('javac', ['-version']).status === 0;
const isInstalled = isAvailable('Jolokia', hasJdk && CLASS_PATH.every((jar) => existsSync(jar)));

/** Starts JolokiaServer.java; resolves to its origin. */
async function startJolokia(defer: Defer, collector: string): Promise<string> {
  const program = path.join(import.meta.dirname, 'JolokiaServer.java');
  const options = [`-XX:+Use${collector}GC`, '-Xms48m', '-Xmx96m', '-cp', CLASS_PATH.join(':')];
  const stdio = ['pipe', 'pipe', 'inherit'] as const;
  const { child, exited } = startProgram(defer, 'java', [...options, program], { stdio: [...stdio] });
  const line = once(createInterface({ input: child.stdout! }), 'line') as Promise<[string]>;
  const [port] = await Promise.race([line, exited.then((code) => Promise.reject(new Error(`ended with ${code}`)))]);
  return `http://127.0.0.1:${port}`;
}

describe('parseJolokia', () => {
  it('reads the same from version 2, which omits the request and orders names differently', () => {
    expect(parseJolokia(fixture('v2-bulk-response.json'))).toEqual(parseJolokia(RECORDED));
  });

  it('leaves out the values of a failed element', () => {
    const answer = JSON.parse(RECORDED);
    answer[1] = JSON.parse(fixture('bulk-with-error-response.json'))[0];
    answer[3] = { status: 404, error: 'javax.management.InstanceNotFoundException', error_type: 'x' };
    const { classes, collectors, heap } = parseJolokia(JSON.stringify(answer));
    expect([classes, collectors.size, heap.used]).toEqual([{}, 0, 2284544]);
  });

  it.each([
    ['too few elements', fixture('bulk-with-error-response.json'), 'D2S_ERR_JVM_FORMAT'],
    ['a policy that forbids all', JSON.stringify(Array(4).fill({ status: 403 })), 'D2S_ERR_JVM_ACCESS'],
    ['success without values', JSON.stringify(Array(4).fill({ status: 200, value: null })), 'D2S_ERR_JVM_FORMAT'],
    ['deep nesting', `${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'D2S_ERR_JVM_FORMAT'],
  ])('refuses %s', async (_, text, code) => {
    const failure = await failureOf(() => parseJolokia(text));
    expect([failure.code, failure.cause]).toEqual([code, undefined]);
  });
});

it('JOLOKIA asks with POSTs of fixed reads, without an Origin, below the path of the configuration', async () => {
  const server = await startScripted((_, response) => response.end(RECORDED));
  onTestFinished(() => server.close());
  const source = new HttpSource(JOLOKIA, { url: server.origin, clock: new ManualClock() });
  expect((await source.read(soon())).classes.loaded).toBe(1904);
  const [seen] = server.requests;
  expect([seen?.method, seen?.url, server.requests.length]).toEqual(['POST', '/jolokia/', 2]);
  expect(JSON.parse(seen?.body ?? '')).toEqual(JSON.parse(fixture('bulk-request.json')));
  expect([seen?.headers.origin, seen?.headers['content-type']]).toEqual([undefined, 'application/json']);
});

describe.runIf(isInstalled).each(['G1', 'Serial'])('a real Jolokia 1.7.1 in a JVM with %s', (collector) => {
  const defer = deferTo(afterAll);
  let origin: string;
  const beans = () => jsonOf<Beans>(`${origin}/beans`);
  beforeAll(async () => {
    origin = await startJolokia(defer, collector);
    // The first reading loads classes; later readings do not.
    await beans();
    await beans();
  });
  const sourceOf = (kind: typeof JOLOKIA) =>
    new HttpSource(kind, { url: `${origin}/jolokia`, clock: new ManualClock() });

  it('reads every gauge with the value of the JVM’s own MXBeans', async () => {
    // Without the further requests: they allocate in the JVM between the two readings of its own MXBeans.
    const source = sourceOf({ ...JOLOKIA, further: [] });
    await source.read(soon());
    await source.read(soon());
    expect((await compare(source, beans)).found).toEqual([]);
  });

  it('reads threads, processor time, processors and descriptors, and no connectors, since it is not a Tomcat', async () => {
    const { server } = await sourceOf(JOLOKIA).read(soon());
    const whole = expect.any(Number);
    expect(server).toMatchObject({
      connectors: [],
      threads: { live: whole, daemon: whole, peak: whole },
      process: { cpuSeconds: whole, openDescriptors: whole, maxDescriptors: whole, processors: availableParallelism() },
    });
    expect(server?.threads?.live).toBeGreaterThan(5);
  });
});
