/** The attach socket of real JVMs, of each release and with each collector that is installed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ATTACH_COMMANDS, askJvm } from '../../../../src/jvm/attach/attach-client.ts';
import { AttachOverlay } from '../../../../src/jvm/attach/attach-overlay.ts';
import { createAttachSystem } from '../../../../src/jvm/attach/attach-system.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/visible-jvm.ts';
import type { JvmReading, MemoryUsage } from '../../../../src/jvm/jvm-reading.ts';
import { KIB, MIB } from '../../../support/jvm/attach/samples.ts';
import type { Beans, BeanUsage } from '../../../support/jvm/truth/beans.ts';
import { isAvailable } from '../../../support/programs.ts';
import {
  type Collector,
  collectorsOf,
  compileTruth,
  installedJvms,
  isCompilerInstalled,
  type Jvm,
  startTruth,
} from '../truth/truth.ts';

const NEVER = new AbortController().signal;
const OPEN_MS = 1_000;
const EMPTY: JvmReading = {
  classes: {},
  heap: {},
  nonHeap: {},
  pools: new Map(),
  collectors: new Map(),
  memory: 'after-gc',
};

const isInstalled = isAvailable('a JDK', process.platform === 'linux' && isCompilerInstalled());
const jvms = isInstalled ? installedJvms() : [];
const cases = (
  await Promise.all(jvms.map(async (jvm) => (await collectorsOf(jvm)).map((collector) => ({ jvm, collector }))))
).flat();

let classPath = '';
let removeClasses: () => void = () => undefined;

beforeAll(async () => {
  if (!isInstalled) return;
  ({ classPath, remove: removeClasses } = await compileTruth());
  // For the JVM of another user.
  chmodSync(classPath, 0o755);
});
afterAll(() => removeClasses());

function targetOf(pid: number): VisibleJvm {
  const [uid, gid] = [process.geteuid?.() ?? -1, process.getegid?.() ?? -1];
  return { pid, nspid: pid, uid, gid, rootPath: `/proc/${pid}/root` };
}

function socketOf(pid: number): string {
  return `/tmp/.java_pid${pid}`;
}

const COLLECTORS = {
  serial: 'Serial',
  parallel: 'Parallel',
  g1: 'G1',
  z: 'ZGC',
  'z-generational': 'GenerationalZGC',
  shenandoah: 'Shenandoah',
  'shenandoah-generational': 'Shenandoah',
} as const satisfies Record<Collector, VisibleJvm['collector']>;

/** The heap's used may be coarser than the bean's: by so many bytes. */
const GRAIN: Readonly<Record<Collector, number>> = {
  serial: 0,
  parallel: 0,
  g1: 4 * MIB,
  z: 0,
  'z-generational': 0,
  shenandoah: KIB,
  'shenandoah-generational': KIB,
};

describe.each(cases)('JDK $jvm.major, $collector', ({ jvm, collector }) => {
  it('opens its socket within a second and reports what its beans report', async () => {
    const truth = await startTruth({ jvm, collector, classPath, options: ['-Xms32m', '-Xmx64m'] });
    const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: OPEN_MS });
    try {
      const target = { ...targetOf(truth.pid), collector: COLLECTORS[collector] };
      await truth.keep(3);
      await truth.beans();
      const first = await overlay.apply(EMPTY, target, NEVER);
      expect(overlay.reason).toBeUndefined();
      expect(overlay.signals).toBe(1);
      expect(readdirSync(`/proc/${truth.pid}/cwd`)).not.toContain(`.attach_pid${truth.pid}`);
      for (const command of ATTACH_COMMANDS) {
        expect(await askJvm(socketOf(truth.pid), command, NEVER)).not.toBe('');
      }
      const beans = await truth.beans();
      const second = await overlay.apply(EMPTY, target, NEVER);
      expect(overlay.signals).toBe(1);
      expectHeap([first, beans, second], GRAIN[collector]);
      expectNonHeap([first, beans, second]);
      expect(first.memory).toBe('live');
    } finally {
      await overlay.close();
      await truth.stop();
    }
  });
});

/** The bean spoke between the two: so did what it told. */
type Told = readonly [JvmReading, Beans, JvmReading];

function expectHeap([first, beans, second]: Told, grain: number): void {
  expect(second.heap).toMatchObject({ init: beans.heap.init, committed: beans.heap.committed });
  if (second.heap.max !== undefined) expect(second.heap.max).toBe(beans.heap.max);
  expectBetween(first.heap.used, beans.heap.used, second.heap.used, grain);
  for (const [name, { type, usage }] of Object.entries(beans.pools)) {
    const [before, after] = [first.pools.get(name), second.pools.get(name)];
    if (type !== 'HEAP' || before === undefined) continue;
    expect(after?.committed, name).toBe(usage.committed);
    expectBetween(before.used, usage.used, after?.used, grain);
  }
}

function expectNonHeap([first, beans, second]: Told): void {
  const nonHeapPools = Object.entries(beans.pools).filter(([, { type }]) => type === 'NON_HEAP');
  expect(nonHeapPools.length).toBeGreaterThan(1);
  for (const [name, { usage }] of nonHeapPools) {
    const [before, after] = [first.pools.get(name) ?? {}, second.pools.get(name) ?? {}];
    expect(after, name).toMatchObject({ init: usage.init, max: usage.max });
    // Code heaps are told in whole KiB.
    expectBetween(before.used, usage.used, after.used, KIB);
    expectBetween(before.committed, usage.committed, after.committed, 0);
  }
  expectSum([first.nonHeap, beans.nonHeap, second.nonHeap]);
}

function expectSum([before, bean, after]: readonly [MemoryUsage, BeanUsage, MemoryUsage]): void {
  expect(after).toMatchObject({ init: bean.init, max: bean.max });
  expectBetween(before.committed, bean.committed, after.committed, 0);
  expectBetween(before.used, bean.used, after.used, 3 * KIB);
}

function expectBetween(before: number | undefined, bean: number, after: number | undefined, grain: number): void {
  expect(before).toBeLessThanOrEqual(bean + grain);
  expect(after).toBeGreaterThanOrEqual(bean - grain);
  // A JVM that does next to nothing: the two are not far apart, or this says nothing.
  expect((after ?? 0) - (before ?? 0)).toBeLessThan(6 * MIB);
}

interface Program {
  readonly pid: number;
  readonly child: ChildProcess;
  /** What it printed on its standard output. */
  output(): string;
}

/** Also of a `start` that has not resolved yet. */
let lastStarted: ChildProcess | undefined;

/** Truth with its output as it is, as a dump of threads is no answer. */
async function start(jvm: Jvm, options: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Program> {
  const env = { ...process.env, JAVA_TOOL_OPTIONS: undefined, JDK_JAVA_OPTIONS: undefined, ...environment };
  const java = join(jvm.home, 'bin/java');
  const child = spawn(java, ['-XX:+UseSerialGC', '-Xmx64m', ...options, '-cp', classPath, 'Truth', '0'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env,
  });
  lastStarted = child;
  onTestFinished(async () => {
    child.stdin?.end();
    await exited(child);
    // Nobody else removes it after SIGKILL.
    rmSync(socketOf(child.pid as number), { force: true });
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const program = { pid: child.pid as number, child, output: () => output };
  await printed(program, /"port".*\n/, 0);
  return program;
}

/** Its next answer, behind all that it printed before. */
async function answerOf(program: Program): Promise<string> {
  const from = program.output().length;
  program.child.stdin?.write('beans\n');
  await printed(program, /"heap".*\n/, from);
  return program.output();
}

async function printed({ child, output }: Program, what: RegExp, from: number): Promise<void> {
  const ended = once(child, 'exit').then(() => true);
  while (!what.test(output().slice(from))) {
    const hasEnded = await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), ended]);
    if (hasEnded === true) throw new Error(`the JVM has ended: ${output()}`);
  }
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

function dumpsIn(output: string): number {
  return output.match(/Full thread dump/g)?.length ?? 0;
}

describe.each(jvms)('JDK $major', (jvm) => {
  it('with DisableAttachMechanism on its command line: gets no signal', async () => {
    const program = await start(jvm, ['-XX:+DisableAttachMechanism']);
    const overlay = new AttachOverlay({ mayOpen: true });
    expect(await overlay.apply(EMPTY, targetOf(program.pid), NEVER)).toBe(EMPTY);
    expect(overlay.reason).toContain('-XX:+DisableAttachMechanism');
    expect(overlay.signals).toBe(0);
    expect(dumpsIn(await answerOf(program))).toBe(0);
  });

  it('with DisableAttachMechanism set elsewhere: is signalled once and prints its threads once', async () => {
    const program = await start(jvm, [], { JAVA_TOOL_OPTIONS: '-XX:+DisableAttachMechanism' });
    const overlay = new AttachOverlay({ mayOpen: true, openTimeoutMs: 300, timeoutMs: 2_000 });
    for (let times = 0; times < 10; times += 1) {
      expect(await overlay.apply(EMPTY, targetOf(program.pid), NEVER)).toBe(EMPTY);
      expect(overlay.reason).toMatch(/not tried again until the JVM is restarted/);
    }
    expect(overlay.signals).toBe(1);
    expect(dumpsIn(await answerOf(program))).toBe(1);
    expect(readdirSync(`/proc/${program.pid}/cwd`)).not.toContain(`.attach_pid${program.pid}`);
  });

  it('with -Xrs: gets no signal, opens its socket at its start, and survives', async () => {
    const program = await start(jvm, ['-Xrs']);
    const kills: number[] = [];
    const overlay = new AttachOverlay({
      mayOpen: true,
      system: createAttachSystem({ kill: (pid) => void kills.push(pid) }),
    });
    expect((await overlay.apply(EMPTY, targetOf(program.pid), NEVER)).memory).toBe('live');
    // Also when something has removed the socket.
    const withoutTmp = { ...targetOf(program.pid), tmpPath: classPath };
    expect(await overlay.apply(EMPTY, withoutTmp, NEVER)).toBe(EMPTY);
    expect(overlay.reason).toMatch(/SIGQUIT would kill the JVM/);
    expect(kills).toEqual([]);
    expect(await answerOf(program)).toContain('"heap"');
  });

  it.each([
    ['as usual', '-XX:-StartAttachListener'],
    ['with StartAttachListener', '-XX:+StartAttachListener'],
  ])('started %s, and asked from its first moment on: opens its socket and prints no threads', async (_, option) => {
    for (let times = 0; times < 2; times += 1) {
      const program = start(jvm, [option]);
      const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: 100 });
      const pid = lastStarted?.pid as number;
      let memory = '';
      while (memory !== 'live') ({ memory } = await overlay.apply(EMPTY, targetOf(pid), NEVER));
      expect(dumpsIn(await answerOf(await program))).toBe(0);
      await overlay.close();
    }
  });

  it('with StartAttachListener: needs neither a signal nor its process to be visible', async () => {
    const program = await start(jvm, ['-XX:+StartAttachListener']);
    const overlay = new AttachOverlay({ mayOpen: false });
    const target = { ...targetOf(program.pid), pid: undefined, rootPath: '', tmpPath: '/tmp' };
    expect((await overlay.apply(EMPTY, target, NEVER)).memory).toBe('live');
    expect(overlay.reason).toBeUndefined();
    expect(overlay.signals).toBe(0);
    expect(dumpsIn(await answerOf(program))).toBe(0);
  });

  it('opens its socket again when something has removed it, without printing its threads', async () => {
    const program = await start(jvm, []);
    const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: OPEN_MS });
    await overlay.apply(EMPTY, targetOf(program.pid), NEVER);
    rmSync(socketOf(program.pid));
    expect((await overlay.apply(EMPTY, targetOf(program.pid), NEVER)).memory).toBe('live');
    expect(overlay.signals).toBe(2);
    expect(dumpsIn(await answerOf(program))).toBe(0);
  });

  it.runIf(process.geteuid?.() === 0)('of another user and group: lets root attach', async () => {
    const [uid, gid] = [65_534, 65_534];
    const truth = await startTruth({ jvm, collector: 'serial', classPath, uid, gid });
    const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: OPEN_MS });
    try {
      const laid = await overlay.apply(EMPTY, { ...targetOf(truth.pid), uid, gid }, NEVER);
      expect(overlay.reason).toBeUndefined();
      expect(laid.memory).toBe('live');
    } finally {
      await overlay.close();
      await truth.stop();
    }
  });

  it('after SIGKILL: the socket that it leaves shows that it is dead', async () => {
    const program = await start(jvm, ['-XX:+StartAttachListener']);
    const overlay = new AttachOverlay({ mayOpen: true });
    const target = { ...targetOf(program.pid), pid: undefined, rootPath: '', tmpPath: '/tmp' };
    expect(await overlay.isAlive(target, NEVER)).toBe(true);
    program.child.kill('SIGKILL');
    await exited(program.child);
    expect(existsSync(socketOf(program.pid))).toBe(true);
    expect(await overlay.isAlive(target, NEVER)).toBe(false);
    expect(await overlay.apply(EMPTY, target, NEVER)).toBe(EMPTY);
    expect(overlay.reason).toContain('its JVM has ended');
  });

  it('stopped: gets no signal, delays a reading no longer than its timeout, and is asked again when it continues', async () => {
    const program = await start(jvm, []);
    const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: 1_000 });
    program.child.kill('SIGSTOP');
    await stateOf(program.pid, 'T');
    expect(await overlay.apply(EMPTY, targetOf(program.pid), NEVER)).toBe(EMPTY);
    expect(overlay.reason).toContain('stopped');
    expect(overlay.signals).toBe(0);
    program.child.kill('SIGCONT');
    await stateOf(program.pid, 'S');
    expect((await overlay.apply(EMPTY, targetOf(program.pid), NEVER)).memory).toBe('live');
    expect(dumpsIn(await answerOf(program))).toBe(0);
  });

  it.each([
    ['one code cache', ['-XX:ReservedCodeCacheSize=20m']],
    ['code heaps that begin with another size', ['-XX:InitialCodeCacheSize=8m']],
    ['a limit on its metaspace', ['-XX:MaxMetaspaceSize=64m']],
    ['its smallest compiler only', ['-XX:TieredStopAtLevel=1']],
    ['no class space', ['-XX:-UseCompressedClassPointers']],
    ['the settings of a small machine', ['-XX:+NeverActAsServerClassMachine']],
  ])('with %s: reports what its beans report', async (_, options) => {
    const truth = await startTruth({ jvm, collector: 'serial', classPath, options: ['-Xmx64m', ...options] });
    const overlay = new AttachOverlay({ mayOpen: true, timeoutMs: OPEN_MS });
    try {
      const target = targetOf(truth.pid);
      await truth.beans();
      const told: Told = [
        await overlay.apply(EMPTY, target, NEVER),
        await truth.beans(),
        await overlay.apply(EMPTY, target, NEVER),
      ];
      expect(overlay.reason).toBeUndefined();
      expectNonHeap(told);
      expectHeap(told, 0);
    } finally {
      await overlay.close();
      await truth.stop();
    }
  });
});

/** The kernel does it a moment later. */
async function stateOf(pid: number, state: string): Promise<void> {
  while (!new RegExp(`^State:\\s${state}`, 'm').test(readFileSync(`/proc/${pid}/status`, 'utf8'))) await nextTurn();
}
