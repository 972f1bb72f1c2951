/** Every signal that a process can catch, sent to a real sidecar. */
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { deferTo, untilTestEnds } from '../support/deferred.ts';
import { startApplication, toUnusedPort } from '../support/net.ts';
import { exitOf, flagsFor, MAIN_PATH, type SidecarProcess, startSidecarBefore } from '../support/sidecar-process.ts';

const STRAY = ['SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGVTALRM', 'SIGPROF', 'SIGIO', 'SIGPOLL', 'SIGSTKFLT'] as const;
const SILENT = ['SIGPIPE', 'SIGXFSZ', 'SIGCHLD', 'SIGURG', 'SIGWINCH', 'SIGCONT'] as const;
const DRAINING = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGPWR', 'SIGXCPU'] as const;

/** Answers of requests for `held`, which the test ends. */
const held: ServerResponse[] = [];
const upstream = await startApplication(({ url = '' }, response) => {
  if (url.endsWith('/held')) held.push(response);
  else response.end('hello');
}, deferTo(afterAll));

const start = (env = {}) => startSidecarBefore(upstream.port, env, [], untilTestEnds);

/** The TCP ports on which a process listens, from /proc. */
function listeningPorts(pid: number): readonly number[] {
  const folder = `/proc/${pid}/fd`;
  const inodes = new Set(
    readdirSync(folder).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${fd}`))?.[1] ?? [];
      } catch {
        // Closed meanwhile.
        return [];
      }
    }),
  );
  const rows = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8').split('\n').slice(1));
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
    return state === '0A' && inodes.has(inode) ? Number.parseInt(local.split(':')[1] ?? '', 16) : [];
  });
}

async function fetchText({ listen }: SidecarProcess, path = ''): Promise<string> {
  return await (await fetch(`http://${listen}/smartWeb/${path}`)).text();
}

describe.skipIf(process.platform !== 'linux')('signals', () => {
  it('the other signals change nothing: the sidecar serves, opens no port, and SIGTERM still drains', async () => {
    const one = await start();
    const before = listeningPorts(one.pid);
    expect(before).toHaveLength(2);
    for (const signal of [...STRAY, ...SILENT]) {
      process.kill(one.pid, signal);
      expect([signal, await fetchText(one), listeningPorts(one.pid)]).toEqual([signal, 'hello', before]);
    }
    expect(await one.stop()).toBe(0);
  });

  it.each(DRAINING)('%s drains: a running call ends, and the exit code is 0', async (signal) => {
    const one = await start();
    const answer = fetchText(one, 'held');
    await vi.waitFor(() => expect(held).toHaveLength(1));
    process.kill(one.pid, signal);
    await vi.waitFor(() => expect(one.logs.map(({ msg }) => msg)).toContain('stop requested'));
    held.pop()?.end('late');
    expect(await answer).toBe('late');
    expect(await one.exited).toBe(0);
    expect(one.logs.find(({ msg }) => msg === 'stop requested')).toMatchObject({ reason: signal });
  });

  it('a process that was suspended serves again after SIGCONT, and a thousand stray signals write one line to the log', async () => {
    const one = await start();
    process.kill(one.pid, 'SIGTSTP');
    process.kill(one.pid, 'SIGCONT');
    for (let sent = 0; sent < 1_000; sent += 1) process.kill(one.pid, 'SIGUSR1');
    expect(await fetchText(one)).toBe('hello');
    expect(await one.stop()).toBe(0);
    const lines = one.logs.filter(({ signal }) => signal === 'SIGUSR1');
    expect(lines).toMatchObject([{ level: 'warn', msg: expect.stringContaining('ignored a signal') }]);
  });

  it('SIGUSR1 at any moment of the start leaves no debugger open', async () => {
    const port = await toUnusedPort();
    const args = [`--inspect-port=${port}`, MAIN_PATH, ...flagsFor(upstream.port)];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, D2_SIDECAR_JVM_SOURCE: 'none' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    untilTestEnds(() => child.kill('SIGKILL'));
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const { pid = 0 } = child;
    // Node resets all signals when it begins: before that, SIGUSR1 ends the process.
    await vi.waitFor(() => expect(catchesIt(pid)).toBe(true), { timeout: 10_000, interval: 1 });
    while (!output.includes('"listening"')) {
      process.kill(pid, 'SIGUSR1');
      await wait(1);
    }
    // Node may open it again for an early signal, and then it is closed again.
    const isOpen = () => listeningPorts(pid).includes(port);
    await vi.waitFor(() => expect([isOpen(), listeningPorts(pid).length]).toEqual([false, 2]), {
      timeout: 10_000,
      interval: 20,
    });
    child.kill('SIGTERM');
    expect(await exitOf(child)).toBe(0);
  });

  it('an open debugger that was asked for is a warning at the start', async () => {
    const one = await start({ NODE_OPTIONS: '--inspect=127.0.0.1:0' });
    expect(one.logs).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining("Node's debugger is open") }),
    );
  });
});

/** Whether the process has a handler of SIGUSR1. */
function catchesIt(pid: number): boolean {
  const [, mask = '0'] = /^SigCgt:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return ((BigInt(`0x${mask}`) >> 9n) & 1n) === 1n;
}
