/** From the marker to its end: what may happen while it lies there. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AttachOpener } from '../../../../src/jvm/attach/open-attach.ts';
import type { AttachSystem } from '../../../../src/jvm/attach/process-state.ts';
import { FakeJvm, PID } from '../fake-jvm.ts';

/** Longer than any of these tests. */
const LONG_MS = 60_000;
const PENDING = '0000000000000004';

let jvm: FakeJvm;

beforeEach(() => {
  jvm = new FakeJvm();
});
afterEach(() => jvm.remove());

function openerOf(openTimeoutMs = 30, system = jvm.system()): AttachOpener {
  return new AttachOpener(system, openTimeoutMs);
}

async function reasonOf(opener: AttachOpener): Promise<string> {
  return (await opener.open(jvm.target)) ?? 'open';
}

/** Runs `onLook` before the opener takes a look at the value. */
function watched(key: 'procPath' | 'uid', onLook: () => void): AttachSystem {
  const system = jvm.system();
  const get = () => {
    onLook();
    return system[key];
  };
  return Object.defineProperty({ ...system }, key, { get });
}

/** Runs `act` when the opener takes its last look at the process, between the marker and the signal. */
function whenMarked(act: () => void): AttachSystem {
  let hasActed = false;
  return watched('procPath', () => {
    if (hasActed || jvm.markers().length === 0) return;
    hasActed = true;
    act();
  });
}

/** Another program's marker. Made before ours is removed, so that it is not given the same inode. */
function replaceMarker(): void {
  writeFileSync(`${jvm.markerPath}.other`, 'kept');
  renameSync(`${jvm.markerPath}.other`, jvm.markerPath);
}

function expectUnsignalled(): void {
  expect(jvm.signals).toEqual([]);
  expect(jvm.markers()).toEqual([]);
}

const removeSocket = () => rmSync(jvm.socketPath);

describe('AttachOpener, from its marker on', () => {
  // Far beyond the timeout the JVM goes on, and finds the marker.
  it.each<[string, number, () => void, () => void]>([
    ['is stopped', 20, () => jvm.become({ state: 'T' }), () => jvm.become({})],
    ['has it pending, as in a frozen container', 20, () => jvm.become({ pending: PENDING }), () => jvm.become({})],
    ['has a socket open to others there', 5_000, () => void jvm.listen(jvm.socketPath, 0o666), removeSocket],
  ])('keeps the marker for a JVM that, before it has seen the signal, %s', async (_, timeoutMs, hinder, release) => {
    let markers: readonly string[] = [];
    jvm.onSignal = () => {
      hinder();
      setTimeout(() => {
        markers = jvm.markers();
        release();
        void jvm.listen();
      }, 150);
    };
    expect(await openerOf(timeoutMs).open(jvm.target)).toBeUndefined();
    expect(markers).toHaveLength(1);
  });

  it.each<[string, () => void]>([
    ['ends', () => jvm.end()],
    ['leaves its pid to another process', () => jvm.become({ startTicks: 501 })],
  ])('ends its wait and removes the marker when the JVM %s', async (_, onSignal) => {
    jvm.onSignal = onSignal;
    expect(await reasonOf(openerOf(LONG_MS))).toContain('ended');
    expect(jvm.markers()).toEqual([]);
  });

  it.each<[string, () => void, RegExp]>([
    ['loses the marker', () => rmSync(jvm.markerPath), /removed the marker/],
    ['stops', () => jvm.become({ state: 'T' }), /stopped/],
    ['loses its handler by exec', () => jvm.become({ caught: '0' }), /SIGQUIT would kill/],
    ['leaves its pid to another process', () => jvm.become({ startTicks: 501 }), /ended/],
  ])('does not signal a process that %s while the marker is made', async (_, act, reason) => {
    expect(await reasonOf(openerOf(30, whenMarked(act)))).toMatch(reason);
    expectUnsignalled();
  });

  it('neither uses nor removes a marker that replaced its own', async () => {
    expect(await reasonOf(openerOf(30, whenMarked(replaceMarker)))).toContain('removed');
    expect(jvm.signals).toEqual([]);
    expect(readFileSync(jvm.markerPath, 'utf8')).toBe('kept');
  });

  it('has removed its marker when close returns, even of a stopped JVM, and takes no answer for that of another', async () => {
    const opener = openerOf(LONG_MS);
    const signalled = jvm.signalled();
    const opening = opener.open(jvm.target);
    await signalled;
    const another = { ...jvm.target, pid: PID + 1 };
    expect([opener.isOpening(jvm.target), opener.isOpening(another)]).toEqual([true, false]);
    expect(await opener.open(another)).toBe(`process ${PID} is still being asked for its attach socket`);
    jvm.become({ state: 'T' });
    expect(jvm.markers()).toHaveLength(1);
    const closed = opener.close();
    expect(jvm.markers()).toEqual([]);
    await closed;
    expect(await opening).toMatch(/not tried again/);
    expect(opener.isOpening(jvm.target)).toBe(false);
  });

  it.each([1, 2, 3])('does not signal when closed meanwhile (check %i of our own ids)', async (when) => {
    let looks = 0;
    const closing = watched('uid', () => {
      looks += 1;
      if (looks === when) void opener.close();
    });
    const opener = openerOf(30, closing);
    expect(await reasonOf(opener)).toContain('is stopping');
    expect(looks).toBeGreaterThanOrEqual(when);
    expectUnsignalled();
  });
});
