import { existsSync, readFileSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type HsperfdataOptions, HsperfdataSource } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import type { JvmSourceError } from '../../../../src/jvm/jvm-source.ts';
import { isAvailable } from '../../../support/programs.ts';
import { asUser, compile, JDKS, JvmLab, type RealJvm } from './real-jvms.ts';

isAvailable('a JDK', JDKS.length > 0);
const isRoot = process.geteuid?.() === 0;
const USER = userInfo().username;

describe.each(JDKS.map((jdk) => [jdk.split('/').at(-1) ?? jdk, jdk] as const))('%s', (_, jdk) => {
  let classes: string;
  let lab: JvmLab;
  const sources: HsperfdataSource[] = [];
  beforeAll(() => {
    classes = compile(jdk);
  });
  afterAll(() => rmSync(classes, { recursive: true, force: true }));
  beforeEach(() => {
    lab = new JvmLab(classes);
  });
  afterEach(async () => {
    for (const source of sources.splice(0)) source.close();
    await lab.close();
  });

  function sourceOf(options: HsperfdataOptions): HsperfdataSource {
    const source = new HsperfdataSource(options);
    sources.push(source);
    return source;
  }

  /** One that sees nothing but what was shown to it. */
  function labSource(options: HsperfdataOptions = {}): HsperfdataSource {
    const { procPath, tmpPath } = lab;
    return sourceOf({ procPath, tmpPath, ...options });
  }

  /** A JVM with its process and file shown. */
  async function startShown(options: Parameters<JvmLab['start']>[1] = {}): Promise<RealJvm & { path: string }> {
    const jvm = await lab.start(jdk, options);
    lab.showProcess(jvm);
    return Object.assign(jvm, { path: lab.showFile(jvm, USER) });
  }

  const read = (source: HsperfdataSource) => source.read(AbortSignal.timeout(10_000));

  async function failure(source: HsperfdataSource): Promise<{ code: string; message: string }> {
    const cause = await read(source).then(
      () => expect.fail(`read ${JSON.stringify(source.found)}`),
      (error: JvmSourceError) => error,
    );
    expect(cause.name).toBe('JvmSourceError');
    return { code: cause.code, message: cause.message };
  }

  it('finds the JVM that listens on the upstream’s port and reads it', async () => {
    const jvm = await lab.start(jdk, {
      flags: ['-XX:+UseG1GC', '-Dpassword=hunter2'],
      arguments: ['--password=hunter2'],
    });
    const source = sourceOf({ upstreamHost: '127.0.0.1', upstreamPort: jvm.port });
    const reading = await read(source);
    expect(source.found).toMatchObject({
      pid: jvm.pid,
      nspid: jvm.pid,
      uid: process.geteuid?.(),
      gid: process.getegid?.(),
      rootPath: '',
      tmpPath: '/tmp',
      collector: 'G1',
    });
    expect(source.found?.jdkMajor).toBeGreaterThanOrEqual(17);
    expect(reading.classes.loaded).toBeGreaterThan(300);
    expect(reading.heap.max).toBe(64 * 1_048_576);
    expect(reading.collectors.get('G1 Old Generation')?.count).toBe(0);
    await jvm.tell('gc');
    expect((await read(source)).collectors.get('G1 Old Generation')?.count).toBe(1);
    const everything = JSON.stringify([source.found, [...reading.pools], [...reading.collectors], reading]);
    expect(everything).not.toContain('hunter2');
  });

  it('asks to choose when two application servers run', async () => {
    const one = await startShown({ arguments: ['start'] });
    const two = await startShown({ arguments: ['start'] });
    const { code, message } = await failure(labSource());
    expect(code).toBe('D2S_ERR_JVM_AMBIGUOUS');
    expect(message).toContain(`pid ${one.pid} `);
    expect(message).toContain(`pid ${two.pid} `);
    expect(message).toContain('jvm.pid');
    const source = labSource({ pid: two.pid });
    await read(source);
    expect(source.found?.pid).toBe(two.pid);
  });

  it('reports that a killed JVM has ended although its file remains, and finds the next one', async () => {
    const killed = await startShown({ arguments: ['start'] });
    const source = labSource({ upstreamHost: '127.0.0.1', upstreamPort: killed.port });
    await read(source);
    await killed.end('SIGKILL');
    expect(existsSync(killed.path)).toBe(true);
    for (let times = 0; times < 2; times += 1) {
      const { code, message } = await failure(source);
      expect(code).toBe('D2S_ERR_JVM_GONE');
      expect(message).toContain(`pid ${killed.pid}`);
      expect(message).toContain('SIGKILL');
      expect(source.found).toBeUndefined();
    }
    const next = await startShown({ port: killed.port, arguments: ['start'] });
    await read(source);
    expect(source.found?.pid).toBe(next.pid);
  });

  it('does not mistake a killed JVM’s file for a running one’s when the port is unknown', async () => {
    const killed = await startShown({ arguments: ['start'] });
    const source = labSource({ upstreamHost: 'app.example.com', upstreamPort: 80 });
    await read(source);
    await killed.end('SIGKILL');
    expect((await failure(source)).code).toBe('D2S_ERR_JVM_GONE');
    expect((await failure(source)).code).toBe('D2S_ERR_JVM_GONE');
  });

  it('reports that a JVM is stopped, and reads it again when it continues', async () => {
    const jvm = await startShown({ arguments: ['start'] });
    const source = labSource({ upstreamHost: '127.0.0.1', upstreamPort: jvm.port });
    await read(source);
    jvm.child.kill('SIGSTOP');
    await untilState(jvm.pid, 'T');
    const { code, message } = await failure(source);
    expect(code).toBe('D2S_ERR_JVM_GONE');
    expect(message).toContain(`kill -CONT ${jvm.pid}`);
    jvm.child.kill('SIGCONT');
    await untilState(jvm.pid, 'S');
    await read(source);
    expect(source.found?.pid).toBe(jvm.pid);
  });

  it('switches to a restarted JVM in one reading', async () => {
    const first = await startShown();
    const source = labSource({ upstreamHost: '127.0.0.1', upstreamPort: first.port });
    await read(source);
    const before = source.found;
    await first.end('SIGTERM');
    const second = await startShown({ port: first.port });
    await read(source);
    expect(source.found?.pid).toBe(second.pid);
    expect(source.found?.startedEpochMs).not.toBe(before?.startedEpochMs);
  });

  it('switches to the JVM that has taken the port of a running one', async () => {
    const first = await startShown();
    const source = labSource({ upstreamHost: '127.0.0.1', upstreamPort: first.port });
    await read(source);
    await first.tell('close');
    await read(source);
    expect(source.found?.pid).toBe(first.pid);
    const second = await startShown({ port: first.port });
    await read(source);
    expect(source.found?.pid).toBe(second.pid);
  });

  it('reads a JVM without visible processes through a shared /tmp, and notices its end', async () => {
    const jvm = await startShown({ arguments: ['start'] });
    lab.hideProcess(jvm);
    const source = labSource({ upstreamHost: '127.0.0.1', upstreamPort: jvm.port });
    await read(source);
    expect(source.found).toMatchObject({ pid: undefined, nspid: jvm.pid, rootPath: '', tmpPath: lab.tmpPath });
    await jvm.end('SIGKILL');
    expect((await failure(source)).code).toBe('D2S_ERR_JVM_GONE');
  });

  it('reports what to change for a JVM that writes no counters', async () => {
    for (const flag of ['-XX:-UsePerfData', '-XX:+PerfDisableSharedMem']) {
      const jvm = await lab.start(jdk, { flags: [flag] });
      lab.showProcess(jvm);
      const { code, message } = await failure(labSource({ upstreamHost: '127.0.0.1', upstreamPort: jvm.port }));
      expect(code).toBe('D2S_ERR_JVM_NOT_FOUND');
      expect(message).toContain(`pid ${jvm.pid} has no counters file`);
      expect(message).toContain(flag);
    }
  });

  describe.runIf(isRoot)('as root', () => {
    const NOBODY = 65_534;

    it('reads a JVM in a mount and pid namespace of its own', async () => {
      const wrapper = ['unshare', '--mount', '--pid', '--fork', '--kill-child', ...privateTmp(classes)];
      const jvm = await lab.start(jdk, { wrapper });
      const source = sourceOf({ upstreamHost: 'localhost', upstreamPort: jvm.port });
      await read(source);
      const { pid } = source.found ?? {};
      expect(pid).toBeGreaterThan(jvm.pid);
      expect(source.found).toMatchObject({ nspid: 1, rootPath: `/proc/${pid}/root`, tmpPath: `/proc/${pid}/root/tmp` });
      await jvm.end('SIGKILL');
      await untilGone(`/proc/${pid}/root/tmp`);
      expect((await failure(source)).code).toBe('D2S_ERR_JVM_GONE');
    });

    it('names the user to run as for another user’s JVM, and reads it as that user', async () => {
      const jvm = await lab.start(jdk, { uid: NOBODY });
      lab.showProcess(jvm);
      const options = { upstreamHost: '127.0.0.1', upstreamPort: jvm.port };
      const { code, message } = await asUser(1, 1, () => failure(sourceOf(options)));
      expect(code).toBe('D2S_ERR_JVM_ACCESS');
      expect(message).toContain(`user id ${NOBODY}`);
      expect(message).toContain(`runAsUser: ${NOBODY}`);
      const source = sourceOf(options);
      await asUser(NOBODY, NOBODY, () => read(source));
      expect(source.found).toMatchObject({ pid: jvm.pid, uid: NOBODY, gid: NOBODY });
    });

    it('names the group to run as for a JVM with its own /tmp and another group', async () => {
      const ids = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
      const jvm = await lab.start(jdk, { wrapper: ['unshare', '--mount', ...privateTmp(classes), 'setpriv', ...ids] });
      const options = { upstreamHost: '127.0.0.1', upstreamPort: jvm.port };
      const { code, message } = await asUser(NOBODY, 1, () => failure(sourceOf(options)));
      expect(code).toBe('D2S_ERR_JVM_ACCESS');
      expect(message).toContain(`runAsGroup: ${NOBODY}`);
      const source = sourceOf(options);
      await asUser(NOBODY, NOBODY, () => read(source));
      expect(source.found?.rootPath).toBe(`/proc/${jvm.pid}/root`);
    });

    it('names the capability that hides the /tmp of a JVM, as in Debian’s unit', async () => {
      const ids = [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
      const capability = ['--inh-caps=+net_bind_service', '--ambient-caps=+net_bind_service'];
      const jvm = await lab.start(jdk, {
        wrapper: ['unshare', '--mount', ...privateTmp(classes), 'setpriv', ...ids, ...capability],
      });
      const source = sourceOf({ upstreamHost: '127.0.0.1', upstreamPort: jvm.port });
      const { code, message } = await asUser(NOBODY, NOBODY, () => failure(source));
      expect(code).toBe('D2S_ERR_JVM_ACCESS');
      expect(message).toContain('AmbientCapabilities=CAP_NET_BIND_SERVICE');
      expect(message).toContain('JoinsNamespaceOf=');
    });
  });
});

/** Runs the rest with a /tmp of its own that holds nothing but the classes. */
function privateTmp(classes: string): string[] {
  const steps = [
    'mount --bind "$1" /mnt',
    'mount -t tmpfs -o mode=1777 none /tmp',
    'mkdir "$1"',
    'mount --bind /mnt "$1"',
    'shift',
    'exec "$@"',
  ];
  return ['sh', '-c', steps.join(' && '), 'sh', classes];
}

async function untilGone(path: string): Promise<void> {
  const deadline = performance.now() + 5000;
  while (existsSync(path)) {
    if (performance.now() > deadline) throw new Error(`${path} is still there`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Until the kernel has done what a signal asked for. */
async function untilState(pid: number, state: string): Promise<void> {
  const deadline = performance.now() + 5000;
  while (!new RegExp(`^State:\\s+${state}`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'))) {
    if (performance.now() > deadline) throw new Error(`pid ${pid} did not come to state ${state}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
