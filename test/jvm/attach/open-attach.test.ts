import { lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
  jvm.onSignal = () => writeFileSync(jvm.socketPath, '');
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
      writeFileSync(jvm.socketPath, '');
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
    writeFileSync(jvm.socketPath, '');
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
    await Promise.all([opener.open(jvm.target), opener.open(jvm.target)]);
    expect(jvm.signals).toHaveLength(1);
  });

  it('leaves the marker for a JVM that is stopped before it has seen it', async () => {
    jvm.onSignal = () => {
      jvm.become({ state: 'T' });
      // Far beyond the timeout it goes on, and finds the marker.
      setTimeout(() => {
        if (jvm.markers().length === 1) writeFileSync(jvm.socketPath, '');
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
});
