/** The attach socket of real JVMs of each installed release. What it reports: collectors.test.ts. */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ATTACH_COMMANDS, askJvm } from '../../../../src/jvm/attach/attach-client.ts';
import { AttachOverlay } from '../../../../src/jvm/attach/attach-overlay.ts';
import { createAttachSystem } from '../../../../src/jvm/attach/process-state.ts';
import type { VisibleJvm } from '../../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { deferTo } from '../../../support/deferred.ts';
import { NO_READING } from '../../../support/jvm/no-reading.ts';
import { compileTruth, hasJdk, JVMS, type Jvm, Truth, type TruthOptions } from '../truth/truth.ts';

const NEVER = new AbortController().signal;
const OPEN = { mayOpen: true, timeoutMs: 1_000 };

/** Every JVM that was signalled. */
let signalled: number[] = [];
const SYSTEM = createAttachSystem({
  kill: (pid, signal) => {
    signalled.push(pid);
    process.kill(pid, signal);
  },
});

let classPath: string;
const deferToEnd = deferTo(afterAll);
const defer = deferTo(afterEach);
beforeAll(async () => {
  if (hasJdk) classPath = await compileTruth(deferToEnd);
});

function targetOf({ pid }: Truth): VisibleJvm {
  const [uid, gid] = [process.geteuid?.() ?? -1, process.getegid?.() ?? -1];
  const rootPath = `/proc/${pid}/root`;
  return { pid, nspid: pid, uid, gid, rootPath, tmpPath: `${rootPath}/tmp`, description: `pid ${pid}` };
}

/** Without its process, as in another container with the same /tmp. */
const hidden = (truth: Truth) => ({ ...targetOf(truth), pid: undefined, rootPath: '', tmpPath: '/tmp' });
const socketOf = ({ pid }: Truth) => `/tmp/.java_pid${pid}`;

const launch = (jvm: Jvm, options: Partial<TruthOptions> = {}) =>
  new Truth(defer, { jvm, classPath, options: ['-Xmx64m'], ...options });

async function start(...parameters: Parameters<typeof launch>): Promise<Truth> {
  const truth = launch(...parameters);
  await truth.ready();
  return truth;
}

function overlayOf(options: ConstructorParameters<typeof AttachOverlay>[0]): AttachOverlay {
  signalled = [];
  const overlay = new AttachOverlay({ system: SYSTEM, ...options });
  defer(() => overlay.close());
  return overlay;
}

const read = (overlay: AttachOverlay, target: VisibleJvm) => overlay.apply(NO_READING, target, NEVER);

async function dumpsOf(truth: Truth): Promise<number> {
  await truth.beans();
  return truth.output.match(/Full thread dump/g)?.length ?? 0;
}

describe.each(JVMS)('JDK $major', (jvm) => {
  it('opens its socket within a second, without a dump of its threads, and knows each command', async () => {
    const truth = await start(jvm);
    const overlay = overlayOf(OPEN);
    for (let times = 0; times < 2; times += 1)
      expect((await read(overlay, targetOf(truth))).memory, overlay.reason).toBe('live');
    expect([overlay.reason, signalled.length, await dumpsOf(truth)]).toEqual([undefined, 1, 0]);
    expect(readdirSync(`/proc/${truth.pid}/cwd`)).not.toContain(`.attach_pid${truth.pid}`);
    for (const command of ATTACH_COMMANDS) expect(await askJvm(socketOf(truth), command, NEVER)).not.toBe('');
    // Something removes it.
    rmSync(socketOf(truth));
    expect((await read(overlay, targetOf(truth))).memory).toBe('live');
    expect([signalled.length, await dumpsOf(truth)]).toEqual([2, 0]);
  });

  it('with DisableAttachMechanism set elsewhere: is signalled once and prints its threads once', async () => {
    const truth = await start(jvm, { env: { JAVA_TOOL_OPTIONS: '-XX:+DisableAttachMechanism' } });
    const overlay = overlayOf({ mayOpen: true, openTimeoutMs: 300, timeoutMs: 2_000 });
    for (let times = 0; times < 10; times += 1) {
      expect(await read(overlay, targetOf(truth))).toBe(NO_READING);
      expect(overlay.reason).toMatch(/not tried again until the JVM is restarted/);
    }
    expect([signalled.length, await dumpsOf(truth)]).toEqual([1, 1]);
    expect(readdirSync(`/proc/${truth.pid}/cwd`)).not.toContain(`.attach_pid${truth.pid}`);
  });

  it('with -Xrs: gets no signal, opens its socket at its start, and survives', async () => {
    const truth = await start(jvm, { options: ['-Xrs'] });
    const overlay = overlayOf({ mayOpen: true });
    expect((await read(overlay, targetOf(truth))).memory).toBe('live');
    // Also when something has removed the socket.
    expect(await read(overlay, { ...targetOf(truth), tmpPath: classPath })).toBe(NO_READING);
    expect(overlay.reason).toMatch(/SIGQUIT would kill the JVM/);
    expect([signalled, await dumpsOf(truth)]).toEqual([[], 0]);
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

  it('with StartAttachListener: needs neither a signal nor a visible process, and is dead after SIGKILL', async () => {
    const truth = await start(jvm, { options: ['-XX:+StartAttachListener'] });
    const overlay = overlayOf({ mayOpen: false });
    expect((await read(overlay, hidden(truth))).memory).toBe('live');
    expect([overlay.reason, signalled.length, await dumpsOf(truth)]).toEqual([undefined, 0, 0]);
    expect(await overlay.isAlive(hidden(truth), NEVER)).toBe(true);
    await truth.kill('SIGKILL');
    // The kernel leaves the socket's file.
    expect(existsSync(socketOf(truth))).toBe(true);
    expect(await overlay.isAlive(hidden(truth), NEVER)).toBe(false);
    expect(await read(overlay, hidden(truth))).toBe(NO_READING);
    expect(overlay.reason).toContain('its JVM has ended');
  });
});
