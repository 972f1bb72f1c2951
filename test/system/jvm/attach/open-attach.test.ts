/** Which process is asked for its attach socket, and how often. */
import { lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AttachOpener } from '../../../../src/jvm/attach/open-attach.ts';
import type { AttachSystem } from '../../../../src/jvm/attach/process-state.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { FakeJvm, type FakeJvmState, PID } from '../fake-jvm.ts';

const DISABLED = '-XX:+DisableAttachMechanism';
const isRoot = process.geteuid?.() === 0;

let jvm: FakeJvm;
let opener: AttachOpener;

beforeEach(() => {
  jvm = new FakeJvm();
  opener = openerOf();
});
afterEach(async () => {
  await expect.poll(() => jvm.files.open, { interval: 1 }).toBe(0);
  await jvm.remove();
});

function openerOf(replaced: Partial<AttachSystem> = {}): AttachOpener {
  return new AttachOpener(jvm.system(replaced), 30);
}

async function open(target: Partial<VisibleJvm> = {}): Promise<string> {
  return (await opener.open({ ...jvm.target, ...target })) ?? 'open';
}

interface Refused {
  readonly state?: FakeJvmState;
  readonly prepare?: () => void;
  readonly target?: Partial<VisibleJvm>;
  /** What is ours. */
  readonly system?: Partial<AttachSystem>;
}

const maps = (...libraries: readonly string[]) =>
  libraries.map((path) => `7f0-7f8 r-xp 0 fe:00 12    ${path}\n`).join('');
const remove = (...paths: readonly string[]) => {
  for (const path of paths) rmSync(path, { recursive: true });
};
const ownStatus = (text: string): Refused => ({
  prepare: () => writeFileSync(join(jvm.procPath, 'self/status'), text),
});
const setOtherMap = () => jvm.setUserNamespace(PID, undefined, '0 100000 65536\n');
const NO_PLACE = /neither in the JVM’s working directory \(ENOENT\) nor .*\/tmp \(ENOENT\)/;
const linkTmpElsewhere = () => {
  remove(jvm.cwd, jvm.tmpPath);
  mkdirSync(join(jvm.directory, 'elsewhere'));
  symlinkSync(join(jvm.directory, 'elsewhere'), jvm.tmpPath);
};

const isOther = { state: { uid: 54_321 }, target: { uid: 54_321 } };

const REFUSED: readonly (readonly [what: string, reason: RegExp, refused: Refused])[] = [
  ['without a handler for SIGQUIT', /SIGQUIT would kill the JVM.*-Xrs/, { state: { caught: '2000000181005ccb' } }],
  ['that is stopped', /stopped/, { state: { state: 'T' } }],
  ['that is gone', /ended/, { prepare: () => jvm.end() }],
  ['that is not visible', /-XX:\+StartAttachListener/, { target: { pid: undefined } }],
  ['of another user', /not the JVM that was found/, { state: { uid: 54_321 } }],
  ['that started at another time', /not the JVM that was found/, { target: { startTicks: 499 } }],
  ['without libjvm.so', /does not run HotSpot/, { state: { maps: maps('/usr/sbin/nginx') } }],
  ['whose mappings are closed, of another name', /not run HotSpot/, { state: { maps: undefined, comm: 'nginx' } }],
  ['that is OpenJ9', /not run HotSpot/, { state: { maps: maps('/j9/lib/libjvm.so', '/j9/lib/libj9vm29.so') } }],
  ['without HotSpot’s thread', /handler that is not the JVM’s/, { state: { threads: ['java', 'Signal Dispatcx'] } }],
  ['that says that it cannot be attached to', /remove it/, { state: { cmdline: ['java', DISABLED] } }],
  ['that would refuse our user', /own user and group/, { ...isOther, system: { uid: 65_000, gid: 1 } }],
  ['without a place for the marker', NO_PLACE, { prepare: () => remove(jvm.cwd, jvm.tmpPath) }],
  ['whose /tmp is a link out of its root', /can be created neither/, { prepare: linkTmpElsewhere }],
  ['with a file in the marker’s place', /already/, { prepare: () => writeFileSync(jvm.markerPath, 'kept') }],
  ['with a file in the socket’s place', /else occupies the path/, { prepare: () => writeFileSync(jvm.socketPath, '') }],
  // Our own /proc may count processes differently: the number may be another process's.
  ['in a /proc of an outer namespace', /another pid namespace/, ownStatus(`NSpid:\t${process.pid}\t${process.pid}\n`)],
  ['in a /proc that does not tell', /another pid namespace/, ownStatus('Name:\tnode\n')],
];

// The user of this test owns the markers: the check is only whether root is root.
const REFUSED_BY_ROOT: typeof REFUSED = [
  ['in another user namespace by its name', /user namespace/, { prepare: () => jvm.setUserNamespace(PID, 'user:[2]') }],
  ['in another user namespace by its map, where only that may be read', /user namespace/, { prepare: setOtherMap }],
];

const ACCEPTED: Readonly<Record<string, FakeJvmState>> = {
  'whose mappings are closed to us, by its name': { maps: undefined },
  'whose JDK has been updated below it': { maps: maps('/opt/libjvm.so (deleted)') },
  'whose last word is that it can be attached to': { cmdline: [DISABLED, DISABLED.replace('+', '-')] },
};

describe('AttachOpener', () => {
  it('puts a marker into the working directory that only its owner can write to, signals once, and removes it', async () => {
    let mode = 0;
    jvm.onSignal = () => {
      mode = lstatSync(jvm.markerPath).mode & 0o777;
      void jvm.listen();
    };
    expect(await open()).toBe('open');
    expect(mode).toBe(0o600);
    expect(jvm.signals).toEqual([{ pid: PID, markers: ['cwd/.attach_pid7'] }]);
    expect(jvm.markers()).toEqual([]);
  });

  it.each([...REFUSED, ...(isRoot ? REFUSED_BY_ROOT : [])])(
    'does not touch a process %s',
    async (_, reason, refused) => {
      const { state = {}, prepare = () => undefined, target, system } = refused;
      jvm.become(state);
      prepare();
      const before = jvm.markers();
      opener = openerOf(system);
      const told = await open(target);
      expect(told).toMatch(reason);
      // Command lines hold passwords.
      expect(told).not.toContain('secret');
      expect(jvm.signals).toEqual([]);
      expect(jvm.markers()).toEqual(before);
    },
  );

  it.each(Object.entries(ACCEPTED))('signals a JVM %s', async (_, state) => {
    jvm.obey();
    // Then the same id maps must do.
    jvm.setUserNamespace(PID, undefined);
    jvm.become(state);
    expect(await open({ startTicks: 500 })).toBe('open');
    expect(jvm.signals).toHaveLength(1);
  });

  it('does not signal once the socket exists, since the JVM would print its threads', async () => {
    await jvm.listen();
    expect(await open()).toBe('open');
    expect(jvm.signals).toEqual([]);
  });

  it('never asks a JVM twice that does not open its socket', async () => {
    const first = await open();
    expect(first).toMatch(/DisableAttachMechanism.*dump of its threads/);
    for (let times = 0; times < 20; times += 1) expect(await open()).toBe(first);
    expect(jvm.signals).toHaveLength(1);
    expect(jvm.markers()).toEqual([]);
  });

  it('asks again for a socket that was removed, up to a bound', async () => {
    jvm.obey();
    for (let times = 0; times < 30; times += 1) {
      await open();
      rmSync(jvm.socketPath, { force: true });
    }
    expect(jvm.signals).toHaveLength(16);
    expect(await open()).toContain('see what cleans /tmp');
  });

  it('does not signal a JVM that is to open its socket and has just started, but an older one', async () => {
    const state = { threads: ['Signal Dispatch', 'Attach Listener'] };
    jvm.obey();
    // 9.5 s before the machine's 1000.5th second, and then a second earlier.
    jvm.become({ ...state, startTicks: 99_100 });
    expect(await open()).toContain('about to open');
    expect(jvm.signals).toEqual([]);
    jvm.become({ ...state, startTicks: 99_000 });
    expect(await openerOf().open(jvm.target)).toBeUndefined();
  });
});
