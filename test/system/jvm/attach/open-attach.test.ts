import { lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttachSystem } from '../../../../src/jvm/attach/attach-system.ts';
import { AttachOpener } from '../../../../src/jvm/attach/open-attach.ts';
import { FakeJvm, type FakeState, NSPID, PID } from './fake-jvm.ts';

let jvm: FakeJvm;

beforeEach(() => {
  jvm = new FakeJvm();
});
afterEach(() => jvm.remove());

function openerOf(replaced: Partial<AttachSystem> = {}, openTimeoutMs = 30): AttachOpener {
  return new AttachOpener({ system: jvm.system(replaced), openTimeoutMs });
}

/** The JVM does as it is asked. */
function obey(): void {
  jvm.onSignal = () => void jvm.listen();
}

async function reasonOf(opener: AttachOpener): Promise<string> {
  const result = await opener.open(jvm.target);
  return result.kind === 'closed' ? result.reason : result.kind;
}

describe('AttachOpener', () => {
  it('puts the marker into the working directory, signals once, and removes the marker', async () => {
    obey();
    const opener = openerOf();
    expect(await opener.open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals).toEqual([{ pid: PID, markers: [`cwd/.attach_pid${NSPID}`] }]);
    expect(jvm.markers()).toEqual([]);
    expect(opener.signals).toBe(1);
  });

  it('puts the marker into /tmp where the working directory cannot be written to', async () => {
    obey();
    rmSync(jvm.cwd, { recursive: true });
    expect(await openerOf().open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals[0]?.markers).toEqual([`root/tmp/.attach_pid${NSPID}`]);
    mkdirSync(jvm.cwd);
    expect(jvm.markers()).toEqual([]);
  });

  it('creates a marker that only its owner can write to', async () => {
    let mode = 0;
    jvm.onSignal = () => {
      mode = lstatSync(join(jvm.cwd, `.attach_pid${NSPID}`)).mode & 0o777;
      void jvm.listen();
    };
    await openerOf().open(jvm.target);
    expect(mode).toBe(0o600);
  });

  it('does not signal without a marker', async () => {
    rmSync(jvm.cwd, { recursive: true });
    rmSync(jvm.tmpPath, { recursive: true });
    expect(await reasonOf(openerOf())).toMatch(
      /neither in the JVM’s working directory \(ENOENT\) nor .*\/tmp \(ENOENT\)/,
    );
    expect(jvm.signals).toEqual([]);
    mkdirSync(jvm.cwd);
    mkdirSync(jvm.tmpPath);
  });

  it.each([
    ['a file', (path: string) => writeFileSync(path, 'kept')],
    ['a link', (path: string) => symlinkSync('/nowhere', path)],
  ])('neither signals nor changes anything if %s is in the marker’s place', async (_, occupy) => {
    const path = join(jvm.cwd, `.attach_pid${NSPID}`);
    occupy(path);
    expect(await reasonOf(openerOf())).toContain('already');
    expect(jvm.signals).toEqual([]);
    expect(lstatSync(path).isDirectory()).toBe(false);
  });

  it('does not follow a link out of the JVM’s root to another /tmp', async () => {
    rmSync(jvm.cwd, { recursive: true });
    rmSync(jvm.tmpPath, { recursive: true });
    mkdirSync(join(jvm.directory, 'elsewhere'));
    symlinkSync(join(jvm.directory, 'elsewhere'), jvm.tmpPath);
    expect(await reasonOf(openerOf())).toContain('can be made neither');
    expect(jvm.signals).toEqual([]);
    mkdirSync(jvm.cwd);
  });

  it.each<[string, FakeState, RegExp]>([
    ['without a handler for SIGQUIT', { caught: '2000000181005ccb' }, /SIGQUIT would kill the JVM.*-Xrs/],
    ['that catches no signal', { caught: '0000000000000000' }, /SIGQUIT would kill/],
    ['that is stopped', { state: 'T' }, /stopped/],
    ['that is traced', { state: 't' }, /stopped/],
    ['that has ended', { state: 'Z' }, /ended/],
    ['of another user', { uid: 54_321 }, /not the JVM that was found/],
    ['in another pid namespace than was said', { nspid: 8 }, /not the JVM that was found/],
    ['without libjvm.so', { maps: '7f0-7f8 r-xp 0 fe:00 12    /usr/sbin/nginx\n' }, /does not run HotSpot/],
    [
      'whose mappings are closed to us and whose name is another',
      { maps: undefined, comm: 'nginx' },
      /not run HotSpot/,
    ],
    [
      'that is OpenJ9',
      { maps: '7f0 /j9/lib/default/libjvm.so\n7f1 /j9/lib/default/libj9vm29.so\n' },
      /not run HotSpot/,
    ],
    [
      'that has no thread of HotSpot’s for it',
      { threads: ['java', 'Signal Dispatcx'] },
      /handler that is not the JVM’s/,
    ],
    ['that says that it cannot be attached to', { cmdline: ['java', '-XX:+DisableAttachMechanism'] }, /remove it/],
    ['whose signal mask has an unknown form', { caught: 'all' }, /would kill/],
  ])('does not signal a process %s', async (_, state, reason) => {
    jvm.become(state);
    const told = await reasonOf(openerOf());
    expect(told).toMatch(reason);
    // Command lines hold passwords.
    expect(told).not.toContain('secret');
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  it.each<[string, FakeState]>([
    ['whose mappings are closed to us, by its name', { maps: undefined }],
    ['whose JDK has been updated below it', { maps: '7f0-7f8 r-xp 0 fe:00 12   /opt/libjvm.so (deleted)\n' }],
    [
      'whose last word is that it can be attached to',
      { cmdline: ['-XX:+DisableAttachMechanism', '-XX:-DisableAttachMechanism'] },
    ],
  ])('signals a JVM %s', async (_, state) => {
    obey();
    jvm.become(state);
    expect(await openerOf().open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals).toHaveLength(1);
  });

  it('does not signal a JVM that is gone or not visible', async () => {
    const unseen = await openerOf().open({ ...jvm.target, pid: undefined });
    expect(unseen).toMatchObject({ kind: 'closed', reason: expect.stringContaining('-XX:+StartAttachListener') });
    jvm.end();
    expect(await reasonOf(openerOf())).toContain('ended');
    expect(jvm.signals).toEqual([]);
  });

  it.each([
    ['user', { uid: 54_321 }],
    ['group', { uid: 54_321, gid: 54_322 }],
  ])('does not signal a JVM that would refuse our %s', async (_, own) => {
    // Ours are others than the JVM's.
    jvm.become({ uid: own.uid, ...('gid' in own ? {} : { gid: 1 }) });
    const target = { ...jvm.target, uid: own.uid };
    const opener = openerOf({ uid: 'gid' in own ? own.uid : 65_000, gid: 'gid' in own ? own.gid : 1 });
    expect(await opener.open(target)).toMatchObject({ reason: expect.stringMatching(/own user and group/) });
    expect(jvm.signals).toEqual([]);
  });

  it('does not signal a process that has taken over the pid while the marker was made', async () => {
    let looks = 0;
    // The second look, right before the signal, finds another.
    const system = jvm.system();
    const changing: AttachSystem = {
      ...system,
      get procPath() {
        looks += 1;
        if (looks === 4) jvm.become({ startTicks: 501 });
        return jvm.procPath;
      },
    };
    const result = await new AttachOpener({ system: changing, openTimeoutMs: 30 }).open(jvm.target);
    expect(looks).toBeGreaterThanOrEqual(4);
    expect(result).toMatchObject({ kind: 'closed', reason: expect.stringContaining('ended') });
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  it('does not signal once the socket exists, since the JVM would print its threads', async () => {
    await jvm.listen();
    expect(await openerOf().open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals).toEqual([]);
  });

  it('never asks a JVM twice that does not open its socket', async () => {
    const opener = openerOf();
    const first = await reasonOf(opener);
    expect(first).toMatch(/DisableAttachMechanism.*dump of its threads/);
    for (let times = 0; times < 20; times += 1) expect(await reasonOf(opener)).toBe(first);
    expect(jvm.signals).toHaveLength(1);
    expect(jvm.markers()).toEqual([]);
  });

  it('asks a restarted JVM, even one with the same pid', async () => {
    const opener = openerOf();
    await opener.open(jvm.target);
    jvm.become({ startTicks: 900 });
    obey();
    expect(await opener.open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals).toHaveLength(2);
  });

  it('asks again for a socket that was removed, up to a bound', async () => {
    obey();
    const opener = openerOf();
    for (let times = 0; times < 30; times += 1) {
      await opener.open(jvm.target);
      rmSync(jvm.socketPath, { force: true });
    }
    expect(jvm.signals).toHaveLength(16);
    expect(await reasonOf(opener)).toContain('see what cleans /tmp');
  });

  it('does not ask again after a refused signal', async () => {
    const opener = openerOf({
      kill: (pid) => {
        jvm.signals.push({ pid, markers: [] });
        throw Object.assign(new Error('no'), { code: 'EPERM' });
      },
    });
    expect(await reasonOf(opener)).toContain('EPERM');
    expect(await reasonOf(opener)).toContain('EPERM');
    expect(jvm.signals).toHaveLength(1);
    expect(opener.signals).toBe(0);
    expect(jvm.markers()).toEqual([]);
  });

  it('waits for the thread that handles SIGQUIT, which starts after the handler', async () => {
    obey();
    const opener = openerOf();
    jvm.become({ threads: ['java'] });
    await opener.open(jvm.target);
    expect(jvm.signals).toEqual([]);
    jvm.become({});
    expect(await opener.open(jvm.target)).toEqual({ kind: 'open' });
  });

  it.each<[string, FakeState]>([
    ['is told to', { cmdline: ['java', '-XX:+StartAttachListener'] }],
    ['has the thread for it', { threads: ['Signal Dispatch', 'Attach Listener'] }],
  ])(
    'does not signal a JVM that %s open its socket and has just started, but one that has lost it',
    async (_, state) => {
      obey();
      // 9.5 s before the machine's 1000.5th second, and then a second earlier.
      jvm.become({ ...state, startTicks: 99_100 });
      expect(await reasonOf(openerOf())).toContain('about to open');
      expect(jvm.signals).toEqual([]);
      jvm.become({ ...state, startTicks: 99_000 });
      expect(await openerOf().open(jvm.target)).toEqual({ kind: 'open' });
    },
  );

  it('asks a young JVM again at once if its opened socket was removed', async () => {
    obey();
    const opener = openerOf();
    jvm.become({ startTicks: 99_100 });
    await opener.open(jvm.target);
    rmSync(jvm.socketPath);
    jvm.become({ startTicks: 99_100, threads: ['Signal Dispatch', 'Attach Listener'] });
    expect(await opener.open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals).toHaveLength(2);
  });

  it('signals no other process than the one that was found', async () => {
    const target = { ...jvm.target, startTicks: 499 };
    expect(await openerOf().open(target)).toMatchObject({
      reason: expect.stringContaining('not the JVM that was found'),
    });
    expect(jvm.signals).toEqual([]);
    obey();
    expect(await openerOf().open({ ...target, startTicks: 500 })).toEqual({ kind: 'open' });
  });

  it.each([
    ['is that of an outer namespace', `NSpid:\t${process.pid}\t${process.pid}\n`],
    ['counts us differently', `NSpid:\t${process.pid + 1}\n`],
    ['does not tell', 'Name:\tnode\n'],
  ])('does not signal where /proc %s: the number may be another process’s', async (_, status) => {
    writeFileSync(join(jvm.procPath, 'self/status'), status);
    expect(await reasonOf(openerOf())).toContain('other numbers');
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  describe('in another user namespace', () => {
    // The owner of its markers is who runs this test; what is asked is only whether root is root.
    const isRoot = process.geteuid?.() === 0;
    it.runIf(isRoot).each<[string, string | undefined, string | undefined]>([
      ['by its name', 'user:[2]', undefined],
      ['by its map where only that may be read', undefined, '0 100000 65536\n'],
    ])('a JVM is not signalled by root, who is nobody there: %s', async (_, name, map) => {
      jvm.setUserNamespace(PID, name, map);
      expect(await reasonOf(openerOf())).toContain('user namespace');
      expect(jvm.signals).toEqual([]);
      expect(jvm.markers()).toEqual([]);
    });

    it('signals a JVM with the same id maps if no more can be read', async () => {
      obey();
      jvm.setUserNamespace(PID, undefined);
      expect(await openerOf().open(jvm.target)).toEqual({ kind: 'open' });
    });
  });

  it('remembers 64 JVMs, then forgets the oldest', async () => {
    const opener = openerOf();
    await opener.open(jvm.target);
    for (let next = 1; next < 64; next += 1) {
      jvm.become({ startTicks: 500 + next, caught: '0' });
      await opener.open(jvm.target);
    }
    jvm.become({});
    await opener.open(jvm.target);
    expect(jvm.signals).toHaveLength(1);
    jvm.become({ startTicks: 1000, caught: '0' });
    await opener.open(jvm.target);
    jvm.become({});
    await opener.open(jvm.target);
    expect(jvm.signals).toHaveLength(2);
  });
});
