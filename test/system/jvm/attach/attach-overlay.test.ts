import { getEventListeners } from 'node:events';
import fs from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { AttachOverlay, type AttachOverlayOptions } from '../../../../src/jvm/attach/attach-overlay.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { MIB } from '../../../support/jvm/attach/samples.ts';
import { NO_READING } from '../../../support/jvm/no-reading.ts';
import { Markers } from '../../secrets/markers.ts';
import { FakeJvm } from '../fake-jvm.ts';

const NEVER = new AbortController().signal;
const BASE: JvmReading = {
  ...NO_READING,
  classes: { loaded: 5 },
  heap: { used: 1, committed: 2, max: 194_641_920 },
  pools: new Map([['Eden Space', { max: 53_739_520 }]]),
};
const isRoot = process.geteuid?.() === 0;

let jvm: FakeJvm;
let overlay: AttachOverlay;

beforeEach(() => {
  jvm = new FakeJvm();
  overlay = overlayOf();
});
afterEach(async () => {
  await overlay.close();
  await expect.poll(() => jvm.files.open, { interval: 1 }).toBe(0);
  await jvm.remove();
});

function overlayOf(options: Partial<AttachOverlayOptions> = {}): AttachOverlay {
  return new AttachOverlay({ mayOpen: false, system: jvm.system(), openTimeoutMs: 30, ...options });
}

function apply(target: Partial<VisibleJvm> = {}, base = BASE, signal = NEVER): Promise<JvmReading> {
  return overlay.apply(base, { ...jvm.target, ...target }, signal);
}

async function expectUntouched(reason: RegExp, target: Partial<VisibleJvm> = {}): Promise<void> {
  expect(await apply(target)).toBe(BASE);
  expect(overlay.isApplied).toBe(false);
  expect(overlay.reason).toMatch(reason);
}

it('AttachOverlay lays what the JVM answers over the reading', async () => {
  await jvm.listen();
  const laid = await apply({ collector: 'Serial', startTicks: 500 });
  expect(laid.heap).toEqual({ init: 48 * MIB, used: 0x2d_83a0 + 0xfd_eec0, committed: 48_758_784, max: 194_641_920 });
  expect(laid.nonHeap).toMatchObject({ init: 3 * 2_555_904, max: -1 });
  expect(laid.memory).toBe('live');
  expect(laid.pools.get('Eden Space')).toMatchObject({ used: 0x2d_83a0, max: 53_739_520 });
  expect([overlay.isApplied, overlay.reason]).toEqual([true, undefined]);
  expect(jvm.signals).toEqual([]);
  expect(jvm.files.opened).toBeGreaterThan(0);
});

it('AttachOverlay sends only the four commands, and asks for the flags once for each start of the JVM', async () => {
  await jvm.listen();
  await apply();
  await apply();
  const commands = jvm.requests.map((request) => request.split('\0')[2]);
  const often = ['GC.heap_info', 'VM.metaspace basic scale=1', 'Compiler.codecache'];
  expect(commands).toEqual(['VM.flags', ...often, ...often]);
  // The next JVM makes a socket of its own.
  await jvm.die();
  fs.rmSync(jvm.socketPath);
  await jvm.listen();
  await apply();
  expect(jvm.requests.filter((request) => request.includes('VM.flags'))).toHaveLength(2);
});

it('AttachOverlay does not ask G1 for its heap when the counters have it', async () => {
  await jvm.listen();
  await apply({ collector: 'G1' });
  expect(jvm.requests.join()).not.toContain('GC.heap_info');
  await apply({ collector: 'G1' }, { ...BASE, heap: {} });
  expect(jvm.requests.join()).toContain('GC.heap_info');
});

it('AttachOverlay leaves out the values of an answer that it cannot read', async () => {
  const { answer } = jvm;
  jvm.answer = (command) => (command === 'Compiler.codecache' ? '-1\nUnknown diagnostic command' : answer(command));
  await jvm.listen();
  expect(await apply()).toMatchObject({ memory: 'live', nonHeap: {} });
  expect(overlay.isApplied).toBe(true);
  expect(overlay.reason).toContain('Compiler.codecache cannot be read');
});

it.each<[string, (secret: string) => string]>([
  ['an error of a command', (secret) => `1\njava.lang.SecurityException: ${secret}`],
  ['another protocol', (secret) => `${secret}\n${secret}`],
  ['a right answer that cannot be read', (secret) => `0\n${secret} total 1K, used ${secret}`],
  ['flags with a password in them', (secret) => `0\n-XX:OnError=${secret} -XX:+UseSerialGC -Dpassword=${secret}`],
])('AttachOverlay tells no secret of %s', async (place, answer) => {
  const markers = new Markers();
  const secret = markers.at(place);
  jvm.become({ cmdline: ['java', `-Dpassword=${markers.at('command line')}`, 'Main'] });
  jvm.answer = () => answer(secret);
  await jvm.listen();
  const laid = await apply({}, NO_READING);
  expect(overlay.reason).toMatch(/\w/);
  expect(jvm.requests.length).toBeGreaterThan(0);
  expect(markers.leaksIn(`${overlay.reason} ${JSON.stringify({ ...laid, pools: [...laid.pools] })}`)).toEqual([]);
});

it('AttachOverlay waits for the socket no longer than a reading may take, and uses it later', async () => {
  overlay = overlayOf({ mayOpen: true, timeoutMs: 250, openTimeoutMs: 60_000 });
  await expectUntouched(/has not done so yet/);
  const tookMs: number[] = [];
  for (let times = 0; times < 5; times += 1) {
    const before = performance.now();
    await expectUntouched(/has not done so yet/);
    tookMs.push(performance.now() - before);
  }
  // Only the first waited.
  expect(Math.min(...tookMs)).toBeLessThan(250);
  expect(jvm.signals).toHaveLength(1);
  await jvm.listen();
  expect((await apply()).memory).toBe('live');
});

it('AttachOverlay leaves neither a listener nor a timer after a reading or a question', async () => {
  await jvm.listen();
  overlay = overlayOf({ timeoutMs: 60_000 });
  const { signal } = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  expect((await apply({}, BASE, signal)).memory).toBe('live');
  expect(await overlay.isAlive(jvm.target, signal)).toBe(true);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  // Vitest has timers of its own, which come and go within a second; one of a reading would stay for a minute.
  const deadline = performance.now() + 10_000;
  while (timers() > before && performance.now() < deadline) await setImmediate();
  expect(timers()).toBeLessThanOrEqual(before);
});

it.each<[string, (reading: AbortController) => void, number, RegExp]>([
  ['the JVM does not answer in time', () => undefined, 20, /did not answer/],
  ['the reading that it overlays ends', (reading) => reading.abort(), 60_000, /in time/],
])('AttachOverlay returns the reading unchanged when %s', async (_, onQuestion, timeoutMs, reason) => {
  const reading = new AbortController();
  jvm.answer = () => void onQuestion(reading);
  await jvm.listen();
  overlay = overlayOf({ timeoutMs });
  expect(await apply({}, BASE, reading.signal)).toBe(BASE);
  expect(overlay.reason).toMatch(reason);
});

it.each<[string, () => unknown, RegExp, Partial<VisibleJvm>?]>([
  ['a missing socket without jvm.attach', () => undefined, /set jvm\.attach to true.*-XX:\+StartAttachListener/],
  ['a dead JVM', async () => [await jvm.listen(), await jvm.die()], /Nothing listens/],
  ['a link, even one to the JVM’s own socket', listenBehindLink, /not a socket/],
  ['a socket of another user', listenAsAnother, /belongs to user \d+, not to the JVM’s user 54321/, { uid: 54_321 }],
  ['a socket that others may write to', () => jvm.listen(jvm.socketPath, 0o620), /open to other users/],
  ['a socket with a second name, which may be a link to another program’s', listenWithTwoNames, /another name/],
  ['a process that has been replaced', () => jvm.listen(), /no longer the JVM/, { startTicks: 499 }],
  ['a link out of the JVM’s root', listenOutsideRoot, /./],
])('AttachOverlay neither signals nor asks %s', async (_, prepare, reason, target) => {
  await prepare();
  await expectUntouched(reason, target);
  expect([jvm.signals, jvm.requests]).toEqual([[], []]);
});

it('AttachOverlay does not mix two JVMs: a smaller heap than counted belongs to another JVM', async () => {
  await jvm.listen();
  const withMax = (max: number) => ({ ...BASE, heap: { ...BASE.heap, max } });
  const counted = withMax(192 * MIB + 1);
  expect(await apply({}, counted)).toBe(counted);
  expect(overlay.reason).toContain('belong to different JVMs');
  expect((await apply({}, withMax(192 * MIB))).memory).toBe('live');
});

async function listenBehindLink(): Promise<void> {
  await jvm.listen(`${jvm.socketPath}.real`);
  fs.symlinkSync(`${jvm.socketPath}.real`, jvm.socketPath);
}

async function listenAsAnother(): Promise<void> {
  await jvm.listen();
  // As root, whose sockets are always trusted, give it away first.
  if (isRoot) fs.chownSync(jvm.socketPath, 54_322, 54_322);
}

async function listenWithTwoNames(): Promise<void> {
  await jvm.listen(`${jvm.socketPath}.another`);
  fs.linkSync(`${jvm.socketPath}.another`, jvm.socketPath);
}

async function listenOutsideRoot(): Promise<void> {
  await jvm.listen();
  fs.renameSync(jvm.tmpPath, `${jvm.tmpPath}-elsewhere`);
  fs.symlinkSync(`${jvm.tmpPath}-elsewhere`, jvm.tmpPath);
}

it('AttachOverlay.isAlive distinguishes a listening JVM, a dead one, and a socket that is missing or not the JVM’s', async () => {
  expect(await overlay.isAlive(jvm.target, NEVER)).toBeUndefined();
  fs.writeFileSync(jvm.socketPath, '');
  expect(await overlay.isAlive(jvm.target, NEVER)).toBeUndefined();
  fs.rmSync(jvm.socketPath);
  await jvm.listen();
  expect(await overlay.isAlive(jvm.target, NEVER)).toBe(true);
  expect(jvm.requests).toEqual([]);
  await jvm.die();
  expect(await overlay.isAlive(jvm.target, NEVER)).toBe(false);
});

it('AttachOverlay.isAlive ignores the socket that an earlier JVM left behind', async () => {
  await jvm.listen();
  await jvm.die();
  const madeEpochMs = fs.lstatSync(jvm.socketPath).ctimeMs;
  const started = (startedEpochMs: number) => overlay.isAlive({ ...jvm.target, startedEpochMs }, NEVER);
  // It has its socket from a moment after its start, by a clock that may have been set.
  expect([await started(madeEpochMs + 60_000), await started(madeEpochMs + 1_000)]).toEqual([undefined, false]);
});
