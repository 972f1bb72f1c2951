/** The attach socket of real JVMs, of each release and with each collector that is installed. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ATTACH_COMMANDS, askJvm } from '../../../../src/jvm/attach/attach-client.ts';
import { AttachOverlay } from '../../../../src/jvm/attach/attach-overlay.ts';
import { createAttachSystem } from '../../../../src/jvm/attach/attach-system.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/visible-jvm.ts';
import type { JvmReading, MemoryUsage } from '../../../../src/jvm/jvm-reading.ts';
import { deferTo } from '../../../support/deferred.ts';
import { KIB, MIB } from '../../../support/jvm/attach/samples.ts';
import type { Beans, BeanUsage } from '../../../support/jvm/truth/beans.ts';
import { type Collector, collectorsOf, compileTruth, hasJdk, JVMS, type Jvm, Truth } from '../truth/truth.ts';

const NEVER = new AbortController().signal;
const OPEN = { mayOpen: true, timeoutMs: 1_000 };
const EMPTY: JvmReading = {
  ...{ classes: {}, heap: {}, nonHeap: {}, pools: new Map(), collectors: new Map(), memory: 'after-gc' },
};

const cases = (
  await Promise.all(JVMS.map(async (jvm) => (await collectorsOf(jvm)).map((collector) => ({ jvm, collector }))))
).flat();

let classPath: string;
const defer = deferTo(afterAll);
beforeAll(async () => {
  if (hasJdk) classPath = await compileTruth(defer);
});

function targetOf({ pid }: Truth): VisibleJvm {
  const [uid, gid] = [process.geteuid?.() ?? -1, process.getegid?.() ?? -1];
  return { pid, nspid: pid, uid, gid, rootPath: `/proc/${pid}/root` };
}

/** Without its process, as in another container with the same /tmp. */
const hidden = (truth: Truth) => ({ ...targetOf(truth), pid: undefined, rootPath: '', tmpPath: '/tmp' });
const socketOf = ({ pid }: Truth) => `/tmp/.java_pid${pid}`;

function launch(jvm: Jvm, options: Partial<ConstructorParameters<typeof Truth>[0]> = {}): Truth {
  const truth = new Truth({ jvm, classPath, options: ['-Xmx64m'], ...options });
  onTestFinished(async () => {
    await truth.stop();
    // Nothing else removes it after SIGKILL.
    rmSync(socketOf(truth), { force: true });
  });
  return truth;
}

async function start(...parameters: Parameters<typeof launch>): Promise<Truth> {
  const truth = launch(...parameters);
  await truth.ready();
  return truth;
}

function overlayOf(options: ConstructorParameters<typeof AttachOverlay>[0]): AttachOverlay {
  const overlay = new AttachOverlay(options);
  onTestFinished(() => overlay.close());
  return overlay;
}

const read = (overlay: AttachOverlay, target: VisibleJvm) => overlay.apply(EMPTY, target, NEVER);

async function dumpsOf(truth: Truth): Promise<number> {
  await truth.beans();
  return truth.output.match(/Full thread dump/g)?.length ?? 0;
}

/** Its name in the sidecar, and by how many bytes the used heap may differ from the bean's. */
const COLLECTORS: Readonly<Record<Collector, readonly [name: VisibleJvm['collector'], grain: number]>> = {
  serial: ['Serial', 0],
  parallel: ['Parallel', 0],
  g1: ['G1', 4 * MIB],
  z: ['ZGC', 0],
  'z-generational': ['GenerationalZGC', 0],
  shenandoah: ['Shenandoah', KIB],
  'shenandoah-generational': ['Shenandoah', KIB],
};

describe.each(cases)('JDK $jvm.major, $collector', ({ jvm, collector }) => {
  it('opens its socket within a second and reports what its beans report', async () => {
    const truth = await start(jvm, { collector, options: ['-Xms32m', '-Xmx64m'] });
    const overlay = overlayOf(OPEN);
    const [name, grain] = COLLECTORS[collector];
    const target = { ...targetOf(truth), collector: name };
    await truth.tell('keep 3');
    await truth.beans();
    const first = await read(overlay, target);
    expect([overlay.reason, overlay.signals]).toEqual([undefined, 1]);
    expect(readdirSync(`/proc/${truth.pid}/cwd`)).not.toContain(`.attach_pid${truth.pid}`);
    for (const command of ATTACH_COMMANDS) expect(await askJvm(socketOf(truth), command, NEVER)).not.toBe('');
    const told: Told = [first, await truth.beans(), await read(overlay, target)];
    expect(overlay.signals).toBe(1);
    expectHeap(told, grain);
    expectNonHeap(told);
    expect(first.memory).toBe('live');
  });
});

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
    // Code heaps are reported in whole KiB.
    expectUsage([first.pools.get(name) ?? {}, usage, second.pools.get(name) ?? {}], KIB);
  }
  expectUsage([first.nonHeap, beans.nonHeap, second.nonHeap], 3 * KIB);
}

function expectUsage([before, bean, after]: readonly [MemoryUsage, BeanUsage, MemoryUsage], grain: number): void {
  expect(after).toMatchObject({ init: bean.init, max: bean.max });
  expectBetween(before.committed, bean.committed, after.committed, 0);
  expectBetween(before.used, bean.used, after.used, grain);
}

function expectBetween(before: number | undefined, bean: number, after: number | undefined, grain: number): void {
  expect(before).toBeLessThanOrEqual(bean + grain);
  expect(after).toBeGreaterThanOrEqual(bean - grain);
  // The JVM is almost idle, so the two must be close; otherwise the comparison proves nothing.
  expect((after ?? 0) - (before ?? 0)).toBeLessThan(6 * MIB);
}

describe.each(JVMS)('JDK $major', (jvm) => {
  it('with DisableAttachMechanism on its command line: gets no signal', async () => {
    const truth = await start(jvm, { options: ['-XX:+DisableAttachMechanism'] });
    const overlay = overlayOf({ mayOpen: true });
    expect(await read(overlay, targetOf(truth))).toBe(EMPTY);
    expect(overlay.reason).toContain('-XX:+DisableAttachMechanism');
    expect([overlay.signals, await dumpsOf(truth)]).toEqual([0, 0]);
  });

  it('with DisableAttachMechanism set elsewhere: is signalled once and prints its threads once', async () => {
    const truth = await start(jvm, { env: { JAVA_TOOL_OPTIONS: '-XX:+DisableAttachMechanism' } });
    const overlay = overlayOf({ mayOpen: true, openTimeoutMs: 300, timeoutMs: 2_000 });
    for (let times = 0; times < 10; times += 1) {
      expect(await read(overlay, targetOf(truth))).toBe(EMPTY);
      expect(overlay.reason).toMatch(/not tried again until the JVM is restarted/);
    }
    expect([overlay.signals, await dumpsOf(truth)]).toEqual([1, 1]);
    expect(readdirSync(`/proc/${truth.pid}/cwd`)).not.toContain(`.attach_pid${truth.pid}`);
  });

  it('with -Xrs: gets no signal, opens its socket at its start, and survives', async () => {
    const truth = await start(jvm, { options: ['-Xrs'] });
    const kills: number[] = [];
    const system = createAttachSystem({ kill: (pid) => void kills.push(pid) });
    const overlay = overlayOf({ mayOpen: true, system });
    expect((await read(overlay, targetOf(truth))).memory).toBe('live');
    // Also when something has removed the socket.
    expect(await read(overlay, { ...targetOf(truth), tmpPath: classPath })).toBe(EMPTY);
    expect(overlay.reason).toMatch(/SIGQUIT would kill the JVM/);
    expect([kills, await dumpsOf(truth)]).toEqual([[], 0]);
  });

  it.each(['-XX:-StartAttachListener', '-XX:+StartAttachListener'])(
    'with %s, asked from its first moment on: opens its socket and prints no threads',
    async (option) => {
      for (let times = 0; times < 2; times += 1) {
        const truth = launch(jvm, { options: [option] });
        const overlay = overlayOf({ mayOpen: true, timeoutMs: 100 });
        let memory = '';
        while (memory !== 'live') ({ memory } = await read(overlay, targetOf(truth)));
        await truth.ready();
        expect(await dumpsOf(truth)).toBe(0);
      }
    },
  );

  it('with StartAttachListener: needs neither a signal nor its process to be visible', async () => {
    const truth = await start(jvm, { options: ['-XX:+StartAttachListener'] });
    const overlay = overlayOf({ mayOpen: false });
    expect((await read(overlay, hidden(truth))).memory).toBe('live');
    expect([overlay.reason, overlay.signals, await dumpsOf(truth)]).toEqual([undefined, 0, 0]);
  });

  it('opens its socket again when something has removed it, without printing its threads', async () => {
    const truth = await start(jvm);
    const overlay = overlayOf(OPEN);
    await read(overlay, targetOf(truth));
    rmSync(socketOf(truth));
    expect((await read(overlay, targetOf(truth))).memory).toBe('live');
    expect([overlay.signals, await dumpsOf(truth)]).toEqual([2, 0]);
  });

  it.runIf(process.geteuid?.() === 0)('of another user and group: lets root attach', async () => {
    const ids = { uid: 65_534, gid: 65_534 };
    const truth = await start(jvm, ids);
    const overlay = overlayOf(OPEN);
    const laid = await read(overlay, { ...targetOf(truth), ...ids });
    expect([overlay.reason, laid.memory]).toEqual([undefined, 'live']);
  });

  it('after SIGKILL: the socket that it leaves shows that it is dead', async () => {
    const truth = await start(jvm, { options: ['-XX:+StartAttachListener'] });
    const overlay = overlayOf({ mayOpen: true });
    expect(await overlay.isAlive(hidden(truth), NEVER)).toBe(true);
    await truth.kill('SIGKILL');
    expect(existsSync(socketOf(truth))).toBe(true);
    expect(await overlay.isAlive(hidden(truth), NEVER)).toBe(false);
    expect(await read(overlay, hidden(truth))).toBe(EMPTY);
    expect(overlay.reason).toContain('its JVM has ended');
  });

  it('stopped: gets no signal, delays a reading no longer than its timeout, and is asked again when it continues', async () => {
    const truth = await start(jvm);
    const overlay = overlayOf({ mayOpen: true, timeoutMs: 1_000 });
    await truth.kill('SIGSTOP');
    expect(await read(overlay, targetOf(truth))).toBe(EMPTY);
    expect(overlay.reason).toContain('stopped');
    expect(overlay.signals).toBe(0);
    await truth.kill('SIGCONT');
    expect((await read(overlay, targetOf(truth))).memory).toBe('live');
    expect(await dumpsOf(truth)).toBe(0);
  });

  it.each([
    ['one code cache', '-XX:ReservedCodeCacheSize=20m'],
    ['code heaps that begin with another size', '-XX:InitialCodeCacheSize=8m'],
    ['a limit on its metaspace', '-XX:MaxMetaspaceSize=64m'],
    ['its smallest compiler only', '-XX:TieredStopAtLevel=1'],
    ['no class space', '-XX:-UseCompressedClassPointers'],
    ['the settings of a small machine', '-XX:+NeverActAsServerClassMachine'],
  ])('with %s: reports what its beans report', async (_, option) => {
    const truth = await start(jvm, { options: ['-Xmx64m', option] });
    const overlay = overlayOf(OPEN);
    await truth.beans();
    const target = targetOf(truth);
    const told: Told = [await read(overlay, target), await truth.beans(), await read(overlay, target)];
    expect(overlay.reason).toBeUndefined();
    expectNonHeap(told);
    expectHeap(told, 0);
  });
});
