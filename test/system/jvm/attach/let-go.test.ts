/** What is opened is closed, whatever the end; listeners and timers go with the reading that needed them. */
import { getEventListeners } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { askJvm } from '../../../../src/jvm/attach/attach-client.ts';
import { AttachOverlay, type AttachOverlayOptions } from '../../../../src/jvm/attach/attach-overlay.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/visible-jvm.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-reading.ts';
import { FakeJvm, NSPID } from './fake-jvm.ts';

/** Kept from the garbage collector, which would close what was forgotten, and hide it. */
const opened: FileHandle[] = [];

const { open } = fs;
fs.open = async (...args) => {
  const handle = await open(...args);
  opened.push(handle);
  return handle;
};
syncBuiltinESMExports();
afterAll(() => {
  fs.open = open;
  syncBuiltinESMExports();
});

const NEVER = new AbortController().signal;
const EMPTY: JvmReading = {
  classes: {},
  heap: {},
  nonHeap: {},
  pools: new Map(),
  collectors: new Map(),
  memory: 'after-gc',
};

let jvm: FakeJvm;

beforeEach(() => {
  jvm = new FakeJvm();
  opened.length = 0;
});
afterEach(() => jvm.remove());

function overlayOf(options: Partial<AttachOverlayOptions> = {}): AttachOverlay {
  return new AttachOverlay({ mayOpen: true, system: jvm.system(), openTimeoutMs: 30, timeoutMs: 5_000, ...options });
}

const marker = () => join(jvm.cwd, `.attach_pid${NSPID}`);

/** How it goes, and what is told of it. */
const ENDS: readonly [string, () => unknown, RegExp | undefined, Partial<VisibleJvm>][] = [
  ['everything is answered', () => jvm.listen(), undefined, {}],
  ['the socket has to be opened', obey, undefined, {}],
  ['the socket is not opened', () => undefined, /not tried again/, {}],
  ['the signal would kill', () => jvm.become({ caught: '0' }), /would kill/, {}],
  ['a marker is there already', () => writeFileSync(marker(), ''), /already/, {}],
  [
    'no marker can be made',
    () => [jvm.cwd, jvm.tmpPath].map((path) => rmSync(path, { recursive: true })),
    /neither/,
    {},
  ],
  ['the socket is another’s', () => jvm.listen(jvm.socketPath, 0o666), /open to other users/, {}],
  ['the JVM is dead', async () => [await jvm.listen(), await jvm.die()], /Nothing listens/, {}],
  ['the process is another', () => jvm.listen(), /no longer the JVM/, { startTicks: 1 }],
];

function obey(): void {
  jvm.onSignal = () => void jvm.listen();
}

it.each(ENDS)('closes every descriptor when %s', async (_, prepare, reason, target) => {
  await prepare();
  const overlay = overlayOf();
  await overlay.apply(EMPTY, { ...jvm.target, ...target }, NEVER);
  if (reason === undefined) expect(overlay.reason).toBeUndefined();
  else expect(overlay.reason).toMatch(reason);
  await overlay.isAlive({ ...jvm.target, ...target }, NEVER);
  await overlay.close();
  expect(opened.length).toBeGreaterThan(0);
  expect(opened.filter(({ fd }) => fd !== -1)).toEqual([]);
});

it('leaves neither a listener nor a timer after a reading', async () => {
  await jvm.listen();
  const outer = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const overlay = overlayOf({ timeoutMs: 60_000 });
  const before = timers();
  expect((await overlay.apply(EMPTY, jvm.target, outer.signal)).memory).toBe('live');
  expect(await overlay.isAlive(jvm.target, outer.signal)).toBe(true);
  expect(getEventListeners(outer.signal, 'abort')).toEqual([]);
  // Not toBe: a timer of vitest may have ended meanwhile.
  expect(timers()).toBeLessThanOrEqual(before);
});

it('leaves no listener after a question', async () => {
  await jvm.listen();
  const { signal } = new AbortController();
  await askJvm(jvm.socketPath, 'VM.flags', signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('ends with the reading that it overlays', async () => {
  const outer = new AbortController();
  jvm.answer = () => void outer.abort();
  await jvm.listen();
  const overlay = overlayOf({ timeoutMs: 60_000 });
  expect(await overlay.apply(EMPTY, jvm.target, outer.signal)).toBe(EMPTY);
  expect(overlay.reason).toContain('in time');
});

it('removes the marker on close, even while the JVM is stopped', async () => {
  jvm.onSignal = () => jvm.become({ state: 'T' });
  const overlay = overlayOf({ timeoutMs: 50, openTimeoutMs: 60_000 });
  await overlay.apply(EMPTY, jvm.target, NEVER);
  expect(overlay.reason).toContain('has not done so yet');
  expect(jvm.markers()).toHaveLength(1);
  const closed = overlay.close();
  expect(jvm.markers()).toEqual([]);
  await closed;
});
