/** What is opened is closed, whatever the end; listeners and timers go with the reading that needed them. */
import { getEventListeners } from 'node:events';
import { rmSync, writeFileSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { askJvm } from '../../../../src/jvm/attach/attach-client.ts';
import { AttachOverlay, type AttachOverlayOptions } from '../../../../src/jvm/attach/attach-overlay.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/visible-jvm.ts';
import { FakeJvm, NO_READING } from '../fake-jvm.ts';

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

let jvm: FakeJvm;

beforeEach(() => {
  jvm = new FakeJvm();
  opened.length = 0;
});
afterEach(() => jvm.remove());

function overlayOf(options: Partial<AttachOverlayOptions> = {}): AttachOverlay {
  return new AttachOverlay({ mayOpen: true, system: jvm.system(), openTimeoutMs: 30, timeoutMs: 5_000, ...options });
}

function removeFolders(): void {
  for (const path of [jvm.cwd, jvm.tmpPath]) rmSync(path, { recursive: true });
}

/** How it goes, and what is told of it. */
const ENDS: readonly [string, () => unknown, RegExp, Partial<VisibleJvm>?][] = [
  ['everything is answered', () => jvm.listen(), /^none$/],
  ['the socket has to be opened', () => jvm.obey(), /^none$/],
  ['the socket is not opened', () => undefined, /not tried again/],
  ['the signal would kill', () => jvm.become({ caught: '0' }), /would kill/],
  ['a marker is there already', () => writeFileSync(jvm.markerPath, ''), /already/],
  ['no marker can be made', removeFolders, /neither/],
  ['the socket is another’s', () => jvm.listen(jvm.socketPath, 0o666), /open to other users/],
  ['the JVM is dead', async () => [await jvm.listen(), await jvm.die()], /Nothing listens/],
  ['the process is another', () => jvm.listen(), /no longer the JVM/, { startTicks: 1 }],
];

it.each(ENDS)('closes every descriptor when %s', async (_, prepare, reason, more) => {
  await prepare();
  const overlay = overlayOf();
  const target = { ...jvm.target, ...more };
  await overlay.apply(NO_READING, target, NEVER);
  expect(overlay.reason ?? 'none').toMatch(reason);
  await overlay.isAlive(target, NEVER);
  await overlay.close();
  expect(opened.length).toBeGreaterThan(0);
  expect(opened.filter(({ fd }) => fd !== -1)).toEqual([]);
});

it('leaves neither a listener nor a timer after a reading or a question', async () => {
  await jvm.listen();
  const { signal } = new AbortController();
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const overlay = overlayOf({ timeoutMs: 60_000 });
  const before = timers();
  expect((await overlay.apply(NO_READING, jvm.target, signal)).memory).toBe('live');
  expect(await overlay.isAlive(jvm.target, signal)).toBe(true);
  await askJvm(jvm.socketPath, 'VM.flags', signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  // Not toBe: a timer of vitest may have ended meanwhile.
  expect(timers()).toBeLessThanOrEqual(before);
});

it('ends with the reading that it overlays', async () => {
  const outer = new AbortController();
  jvm.answer = () => void outer.abort();
  await jvm.listen();
  const overlay = overlayOf({ timeoutMs: 60_000 });
  expect(await overlay.apply(NO_READING, jvm.target, outer.signal)).toBe(NO_READING);
  expect(overlay.reason).toContain('in time');
});

it('removes the marker on close, even while the JVM is stopped', async () => {
  jvm.onSignal = () => jvm.become({ state: 'T' });
  const overlay = overlayOf({ timeoutMs: 50, openTimeoutMs: 60_000 });
  await overlay.apply(NO_READING, jvm.target, NEVER);
  expect(overlay.reason).toContain('has not done so yet');
  expect(jvm.markers()).toHaveLength(1);
  const closed = overlay.close();
  expect(jvm.markers()).toEqual([]);
  await closed;
});
