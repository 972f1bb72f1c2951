import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttachSystem } from '../../../src/jvm/attach/attach-target.ts';
import { AttachOpener } from '../../../src/jvm/attach/open-attach.ts';
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
  it('puts the marker into the working directory, signals once, and takes the marker away', async () => {
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

  it('makes a marker of its own that only its owner can write to', async () => {
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
  ])('neither signals nor touches anything where %s is in the marker’s place', async (_, occupy) => {
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
    ['whose signals are told in an unknown way', { caught: 'all' }, /ended/],
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
  ])('does not signal a JVM that would not let our %s attach', async (_, own) => {
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

  it('does not signal when the socket has come meanwhile: a JVM that has it would print its threads', async () => {
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

  it('asks the next JVM again, even one with the same pid', async () => {
    const opener = openerOf();
    await opener.open(jvm.target);
    jvm.become({ startTicks: 900 });
    obey();
    expect(await opener.open(jvm.target)).toEqual({ kind: 'open' });
    expect(jvm.signals).toHaveLength(2);
  });

  it('asks again for a socket that was opened and removed, but not for ever', async () => {
    obey();
    const opener = openerOf();
    for (let times = 0; times < 30; times += 1) {
      await opener.open(jvm.target);
      rmSync(jvm.socketPath, { force: true });
    }
    expect(jvm.signals).toHaveLength(16);
    expect(await reasonOf(opener)).toContain('see what cleans /tmp');
  });

  it('does not ask again where it may not signal', async () => {
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

  it('joins a second caller to the first', async () => {
    obey();
    const opener = openerOf();
    const both = await Promise.all([opener.open(jvm.target), opener.open(jvm.target)]);
    expect(both).toEqual([{ kind: 'open' }, { kind: 'open' }]);
    expect(jvm.signals).toHaveLength(1);
  });

  it('leaves the marker for a JVM that is stopped before it has seen it', async () => {
    jvm.onSignal = () => {
      jvm.become({ state: 'T' });
      // Far beyond the timeout it goes on, and finds the marker.
      setTimeout(() => {
        if (jvm.markers().length === 1) void jvm.listen();
        jvm.become({ state: 'S' });
      }, 150);
    };
    expect(await openerOf({}, 20).open(jvm.target)).toEqual({ kind: 'open' });
  });

  it('ends its wait with the JVM', async () => {
    jvm.onSignal = () => jvm.end();
    expect(await reasonOf(openerOf({}, 60_000))).toContain('ended');
    expect(jvm.markers()).toEqual([]);
  });

  it('takes the marker away when it is closed', async () => {
    const opener = openerOf({}, 60_000);
    const signalled = new Promise<void>((resolve) => {
      jvm.onSignal = resolve;
    });
    const opening = opener.open(jvm.target);
    await signalled;
    expect(jvm.markers()).toHaveLength(1);
    await opener.close();
    expect(jvm.markers()).toEqual([]);
    expect(await opening).toMatchObject({ kind: 'closed' });
  });

  it('waits for the thread that takes SIGQUIT, which a JVM that starts has later than the handler', async () => {
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

  it('does not signal another process than the one that was found', async () => {
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

    it('a JVM is signalled where the maps are the same and no more may be read', async () => {
      obey();
      jvm.setUserNamespace(PID, undefined);
      expect(await openerOf().open(jvm.target)).toEqual({ kind: 'open' });
    });
  });

  it.each([
    ['the process', { pending: '0000000000000004' }],
    ['its first thread', { pendingOnThread: '0000000000000004' }],
  ])('leaves the marker while the signal waits for %s, as in a frozen container', async (_, state) => {
    jvm.onSignal = () => {
      jvm.become(state);
      setTimeout(() => {
        if (jvm.markers().length === 1) void jvm.listen();
        jvm.become({});
      }, 150);
    };
    expect(await openerOf({}, 20).open(jvm.target)).toEqual({ kind: 'open' });
  });

  it.each([
    ['a file', () => writeFileSync(jvm.socketPath, '')],
    ['a socket that is open to others', () => void jvm.listen(jvm.socketPath, 0o666)],
  ])('leaves the marker although somebody puts %s into the socket’s place', async (_, plant) => {
    let markers: readonly string[] = [];
    jvm.onSignal = () => {
      plant();
      setTimeout(() => {
        markers = jvm.markers();
        rmSync(jvm.socketPath);
        void jvm.listen();
      }, 50);
    };
    expect(await openerOf({}, 5_000).open(jvm.target)).toEqual({ kind: 'open' });
    expect(markers).toHaveLength(1);
  });

  it('does not signal when something else has the socket’s name', async () => {
    writeFileSync(jvm.socketPath, '');
    expect(await reasonOf(openerOf())).toContain('something else has the name');
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  /** Runs `act` when the opener takes its last look at the process, between the marker and the signal. */
  function whenMarked(act: () => void): AttachSystem {
    const system = jvm.system();
    let hasActed = false;
    return {
      ...system,
      get procPath() {
        if (!hasActed && jvm.markers().length > 0) {
          hasActed = true;
          act();
        }
        return jvm.procPath;
      },
    };
  }

  it('does not signal when the marker has been removed at once', async () => {
    const path = join(jvm.cwd, `.attach_pid${NSPID}`);
    const opener = new AttachOpener({ system: whenMarked(() => rmSync(path)), openTimeoutMs: 30 });
    expect(await reasonOf(opener)).toContain('removed the marker');
    expect(jvm.signals).toEqual([]);
  });

  it('neither signals with nor removes a marker that another has put in place of its own', async () => {
    const path = join(jvm.cwd, `.attach_pid${NSPID}`);
    const replace = () => {
      // Before the first is removed, so that it is not given the same inode.
      writeFileSync(`${path}.other`, 'kept');
      renameSync(`${path}.other`, path);
    };
    expect(await reasonOf(new AttachOpener({ system: whenMarked(replace), openTimeoutMs: 30 }))).toContain('removed');
    expect(jvm.signals).toEqual([]);
    expect(readFileSync(path, 'utf8')).toBe('kept');
  });

  it.each([
    ['has stopped', { state: 'T' }, /stopped/],
    ['has lost its handler by exec', { caught: '0' }, /SIGQUIT would kill/],
    ['runs as another user', { uid: 54_321 }, /not the JVM that was found/],
  ])('does not signal a process that %s while the marker was made', async (_, state, reason) => {
    const opener = new AttachOpener({ system: whenMarked(() => jvm.become(state)), openTimeoutMs: 30 });
    expect(await reasonOf(opener)).toMatch(reason);
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  it('does not signal with a marker that is not its own user’s, as on NFS, and leaves none', async () => {
    // To the system we are another user than the one that files are made with.
    const [uid, gid] = [54_321, 54_322];
    jvm.become({ uid, gid });
    const told = await openerOf({ uid, gid }).open({ ...jvm.target, uid, gid });
    expect(told).toMatchObject({ reason: expect.stringMatching(/directory \(owner changed\) nor in/) });
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  it('does not wait for the socket of whatever takes over the pid', async () => {
    jvm.onSignal = () => jvm.become({ startTicks: 501 });
    expect(await reasonOf(openerOf({}, 60_000))).toContain('ended');
    expect(jvm.markers()).toEqual([]);
  });

  it('ends its wait when only a zombie is left', async () => {
    jvm.onSignal = () => jvm.become({ state: 'Z' });
    expect(await reasonOf(openerOf({}, 60_000))).toContain('ended');
  });

  it('does not take one JVM’s answer for another’s', async () => {
    const opener = openerOf({}, 60_000);
    const signalled = new Promise<void>((resolve) => {
      jvm.onSignal = resolve;
    });
    const first = opener.open(jvm.target);
    expect(opener.isOpening(jvm.target)).toBe(true);
    await signalled;
    const another = { ...jvm.target, pid: PID + 1 };
    expect(opener.isOpening(another)).toBe(false);
    expect(await opener.open(another)).toMatchObject({
      reason: `process ${PID} is still being asked for its attach socket`,
    });
    await opener.close();
    expect((await first).kind).toBe('closed');
    expect(opener.isOpening(jvm.target)).toBe(false);
  });

  it('has no marker any more when close returns: the process may end right behind it', async () => {
    const opener = openerOf({}, 60_000);
    const signalled = new Promise<void>((resolve) => {
      jvm.onSignal = resolve;
    });
    void opener.open(jvm.target);
    await signalled;
    const closed = opener.close();
    expect(jvm.markers()).toEqual([]);
    await closed;
  });

  it('leaves a marker of another’s in place when it is closed', async () => {
    const path = join(jvm.cwd, `.attach_pid${NSPID}`);
    const opener = openerOf({}, 60_000);
    const signalled = new Promise<void>((resolve) => {
      jvm.onSignal = resolve;
    });
    void opener.open(jvm.target);
    await signalled;
    writeFileSync(`${path}.other`, 'kept');
    renameSync(`${path}.other`, path);
    await opener.close();
    expect(readFileSync(path, 'utf8')).toBe('kept');
  });

  it('remembers 64 JVMs that it has asked, or not, and then forgets the oldest', async () => {
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

  it('does nothing once it is closed', async () => {
    const opener = openerOf();
    await opener.close();
    const before = statSync(jvm.cwd, { bigint: true }).mtimeNs;
    expect(await reasonOf(opener)).toContain('stops');
    expect(jvm.signals).toEqual([]);
    expect(statSync(jvm.cwd, { bigint: true }).mtimeNs).toBe(before);
  });

  it.each([1, 2, 3])('does not signal when it is closed in between (look %i at our own ids)', async (when) => {
    let looks = 0;
    const system = jvm.system();
    const closing: AttachSystem = {
      ...system,
      get uid() {
        looks += 1;
        if (looks === when) void opener.close();
        return system.uid;
      },
    };
    const opener = new AttachOpener({ system: closing, openTimeoutMs: 30 });
    expect(await reasonOf(opener)).toContain('stops');
    expect(looks).toBeGreaterThanOrEqual(when);
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });
});
