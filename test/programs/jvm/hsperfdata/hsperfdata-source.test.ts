import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type HsperfdataOptions,
  HsperfdataSource,
  type VisibleJvm,
} from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { deferTo } from '../../../support/deferred.ts';
import { failureOf } from '../../../support/jvm/http/sources.ts';
import { compileTruth, JVMS, startTruth, type Truth, type TruthOptions } from '../truth/truth.ts';
import { asUser, Lab } from './lab.ts';

const isRoot = process.geteuid?.() === 0;
const NOBODY = 65_534;
const GONE = 'D2S_ERR_JVM_GONE';

describe.each(JVMS)('JDK $major', (jvm) => {
  const deferToLast = deferTo(afterAll);
  const defer = deferTo(afterEach);
  let classPath: string;
  let lab: Lab;
  beforeAll(async () => {
    classPath = await compileTruth(deferToLast);
  });
  beforeEach(() => {
    lab = new Lab(defer);
  });

  function sourceOf(options: HsperfdataOptions): HsperfdataSource {
    const source = new HsperfdataSource(options);
    defer(() => source.close());
    return source;
  }

  const labSource = (options: HsperfdataOptions = {}) =>
    sourceOf({ procPath: lab.procPath, tmpPath: lab.tmpPath, ...options });
  const portOf = ({ port }: Truth): HsperfdataOptions => ({ upstreamHost: '127.0.0.1', upstreamPort: port });

  const options = ['-Xms16m', '-Xmx64m', '-XX:TieredStopAtLevel=1'];
  const start = (more: Partial<TruthOptions> = {}) => startTruth(defer, { jvm, classPath, options, ...more });

  /** Looks like a Tomcat, with its process and file shown. */
  async function startShown(more: Partial<TruthOptions> = {}): Promise<{ truth: Truth; file: string }> {
    const truth = await start({ tomcat: ['start'], ...more });
    lab.showProcess(truth);
    return { truth, file: lab.showFile(truth) };
  }

  const read = (source: HsperfdataSource): Promise<JvmReading> => source.read(AbortSignal.timeout(10_000));
  const expectFailure = async (source: HsperfdataSource, code: string, ...texts: readonly string[]) => {
    const failure = await failureOf(read(source));
    expect(failure.code).toBe(code);
    for (const text of texts) expect(failure.message).toContain(text);
  };
  const expectRead = async (source: HsperfdataSource, found: Partial<VisibleJvm>) => {
    await read(source);
    expect(source.found).toMatchObject(found);
  };

  it('finds the JVM that listens on the upstream’s port and reads it', async () => {
    const truth = await start({ collector: 'g1' });
    const source = sourceOf(portOf(truth));
    const reading = await read(source);
    const ids = { pid: truth.pid, nspid: truth.pid, uid: process.geteuid?.(), gid: process.getegid?.() };
    expect(source.found).toMatchObject({ ...ids, rootPath: '', tmpPath: '/tmp', collector: 'G1' });
    expect(source.found?.jdkMajor).toBeGreaterThanOrEqual(17);
    expect(reading.classes.loaded).toBeGreaterThan(300);
    expect(reading.heap.max).toBe(64 * 1_048_576);
    expect(reading.collectors.get('G1 Old Generation')?.count).toBe(0);
    await truth.tell('gc');
    expect((await read(source)).collectors.get('G1 Old Generation')?.count).toBe(1);
  });

  it('reports that a JVM found by its file has been killed, though the file remains', async () => {
    const { truth: killed, file } = await startShown();
    const source = labSource({ upstreamHost: 'app.example.com', upstreamPort: 80 });
    await read(source);
    await killed.kill('SIGKILL');
    expect(existsSync(file)).toBe(true);
    for (let times = 0; times < 2; times += 1) {
      await expectFailure(source, GONE, `pid ${killed.pid}`, 'SIGKILL');
      expect(source.found).toBeUndefined();
    }
    const { truth: next } = await startShown({ port: killed.port });
    await expectRead(source, { pid: next.pid });
  });

  it('reports that a JVM is stopped, and reads it again when it continues', async () => {
    const { truth } = await startShown();
    const source = labSource(portOf(truth));
    await read(source);
    await truth.kill('SIGSTOP');
    await expectFailure(source, GONE, `kill -CONT ${truth.pid}`);
    await truth.kill('SIGCONT');
    await expectRead(source, { pid: truth.pid });
  });

  it('reads a JVM without visible processes through a shared /tmp, and notices its end', async () => {
    const { truth } = await startShown();
    lab.hideProcess(truth);
    const source = labSource(portOf(truth));
    await read(source);
    expect(source.found).toMatchObject({ pid: undefined, nspid: truth.pid, rootPath: '', tmpPath: lab.tmpPath });
    await truth.kill('SIGKILL');
    await expectFailure(source, GONE);
  });

  describe.runIf(isRoot)('as root', () => {
    const asNobody = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

    it('reads a JVM in its own mount and pid namespace', async () => {
      const truth = await start({
        wrapper: ['unshare', '--mount', '--pid', '--fork', '--kill-child', ...privateTmp(classPath)],
      });
      const source = sourceOf({ upstreamHost: 'localhost', upstreamPort: truth.port });
      await read(source);
      const { pid } = source.found ?? {};
      expect(pid).toBeGreaterThan(truth.pid);
      const root = `/proc/${pid}/root`;
      expect(source.found).toMatchObject({ nspid: 1, rootPath: root, tmpPath: `${root}/tmp` });
      await truth.kill('SIGKILL');
      await vi.waitFor(() => expect(existsSync(`${root}/tmp`)).toBe(false), 5_000);
      await expectFailure(source, GONE);
    });

    it('names the user to run as for another user’s JVM, and reads it as that user', async () => {
      const truth = await start({ uid: NOBODY, gid: NOBODY });
      lab.showProcess(truth);
      const texts = [`user id ${NOBODY}`, `runAsUser: ${NOBODY}`];
      await asUser(1, 1, () => expectFailure(sourceOf(portOf(truth)), 'D2S_ERR_JVM_ACCESS', ...texts));
      const source = sourceOf(portOf(truth));
      await asUser(NOBODY, NOBODY, () => expectRead(source, { pid: truth.pid, uid: NOBODY, gid: NOBODY }));
    });

    it('names the capability that hides the /tmp of a JVM, as in Debian’s unit', async () => {
      const capability = ['--inh-caps=+net_bind_service', '--ambient-caps=+net_bind_service'];
      const wrapper = ['unshare', '--mount', ...privateTmp(classPath), ...asNobody, ...capability];
      const source = sourceOf(portOf(await start({ wrapper })));
      const texts = ['AmbientCapabilities=CAP_NET_BIND_SERVICE', 'JoinsNamespaceOf='];
      await asUser(NOBODY, NOBODY, () => expectFailure(source, 'D2S_ERR_JVM_ACCESS', ...texts));
    });
  });
});

/** Runs the rest with its own /tmp, which holds only the classes. */
function privateTmp(classes: string): string[] {
  const steps = [
    'mount --bind "$1" /mnt && mount -t tmpfs -o mode=1777 none /tmp',
    'mkdir "$1" && mount --bind /mnt "$1" && shift && exec "$@"',
  ];
  return ['sh', '-c', steps.join(' && '), 'sh', classes];
}
