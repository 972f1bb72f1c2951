/** From the marker to its end: what may happen while it lies there. */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttachSystem } from '../../../../src/jvm/attach/attach-system.ts';
import { AttachOpener } from '../../../../src/jvm/attach/open-attach.ts';
import { FakeJvm, NSPID, PID } from './fake-jvm.ts';

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

describe('AttachOpener, from its marker on', () => {
  it('joins a second caller to the first', async () => {
    obey();
    const opener = openerOf();
    const both = await Promise.all([opener.open(jvm.target), opener.open(jvm.target)]);
    expect(both).toEqual([{ kind: 'open' }, { kind: 'open' }]);
    expect(jvm.signals).toHaveLength(1);
  });

  it('keeps the marker for a JVM that is stopped before it has seen it', async () => {
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

  it('removes the marker on close', async () => {
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

  it.each([
    ['the process', { pending: '0000000000000004' }],
    ['its first thread', { pendingOnThread: '0000000000000004' }],
  ])('keeps the marker while the signal is pending for %s, as in a frozen container', async (_, state) => {
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
  ])('keeps the marker when another user puts %s in the socket’s place', async (_, plant) => {
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

  it('neither uses nor removes a marker that replaced its own', async () => {
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

  it('neither uses nor leaves a marker of another user, as on NFS', async () => {
    // To the system we are another user than the one that files are made with.
    const [uid, gid] = [54_321, 54_322];
    jvm.become({ uid, gid });
    const told = await openerOf({ uid, gid }).open({ ...jvm.target, uid, gid });
    expect(told).toMatchObject({ reason: expect.stringMatching(/directory \(owner changed\) nor in/) });
    expect(jvm.signals).toEqual([]);
    expect(jvm.markers()).toEqual([]);
  });

  it('does not wait for the socket of another process with the same pid', async () => {
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

  it('has removed the marker when close returns', async () => {
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

  it('leaves another program’s marker in place on close', async () => {
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

  it('does nothing after close', async () => {
    const opener = openerOf();
    await opener.close();
    const before = statSync(jvm.cwd, { bigint: true }).mtimeNs;
    expect(await reasonOf(opener)).toContain('stops');
    expect(jvm.signals).toEqual([]);
    expect(statSync(jvm.cwd, { bigint: true }).mtimeNs).toBe(before);
  });

  it.each([1, 2, 3])('does not signal when closed meanwhile (check %i of our own ids)', async (when) => {
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
