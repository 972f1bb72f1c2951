/** Listening sockets that the process is given, as systemd does: real processes, and a shell in the place of systemd. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { collect } from '../../support/install/run.ts';
import { restCall, startApplication } from '../../support/net.ts';
import { flagsFor, MAIN_PATH } from '../../support/sidecar-process.ts';

const SLOW_MS = 1_000;
const RESTARTS = 3;
const START = { timeout: 30_000, interval: 10 };

const defer = deferTo(afterEach);

/** A socket that listens; `free` lets only the processes that have it accept. */
async function openSocket() {
  const server = net.createServer();
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4_096 });
  await once(server, 'listening');
  const free = () => server.close();
  defer(free);
  return { fd: descriptorOf(server), port: (server.address() as AddressInfo).port, free };
}

const descriptorOf = (handle: object) => (handle as { _handle: { fd: number } })._handle.fd;

/** A shell that starts the sidecar `times` times, and gives it the descriptors from 3 on. */
function start(fds: readonly number[], args: readonly string[], { names = '', pid = '$$', times = 1 } = {}) {
  const program = [process.execPath, MAIN_PATH, ...args].map((word) => `'${word}'`).join(' ');
  const once = `export LISTEN_PID=${pid} LISTEN_FDS=${fds.length} LISTEN_FDNAMES='${names}'; exec ${program}`;
  const script = `code=0; for n in ${Array.from({ length: times }, (_, i) => i).join(' ')}; do sh -c "$ONCE" || code=$?; done; exit $code`;
  const shell = spawn('sh', ['-c', script], {
    env: { ...process.env, ONCE: once, D2_SIDECAR_STOP_DELAY: '5s', D2_SIDECAR_STOP_WINDOW: '5s' },
    stdio: ['ignore', 'pipe', 'pipe', ...fds],
  });
  defer(() => {
    for (const child of childrenOf(shell)) process.kill(child, 'SIGKILL');
    shell.kill('SIGKILL');
  });
  const [stdout, stderr] = [collect(shell.stdout), collect(shell.stderr)];
  const text = () => stderr() + stdout();
  const lines = () => {
    const logged = stdout().split('\n').slice(0, -1);
    return logged.map((line) => JSON.parse(line) as Record<string, string>).filter(({ msg }) => msg === 'listening');
  };
  /** Until that many starts have logged where they listen; the lines. */
  const listening = async (count: number) => {
    await vi.waitUntil(() => lines().length >= count || shell.exitCode !== null, START);
    if (lines().length < count) throw new Error(text());
    return lines();
  };
  return { shell, text, listening };
}

function childrenOf({ pid }: ChildProcess): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const call = async (port: number, name = 'Run') => (await restCall(port, `rpc/E.Demo/${name}`)).status;

const flags = (upstream: number, ...more: readonly string[]) => [
  ...['--upstream', `http://127.0.0.1:${upstream}/smartWeb`],
  ...more,
];

describe('sockets that the process is given', () => {
  it('are served instead of those of the configuration, and no restart refuses or fails a call', async () => {
    const upstream = await startApplication(
      ({ url = '' }, response) => void setTimeout(() => response.end('{}'), url.includes('Slow') ? SLOW_MS : 0),
    );
    defer(upstream.close);
    const [traffic, further, monitor] = [await openSocket(), await openSocket(), await openSocket()];
    const fds = [traffic.fd, monitor.fd, further.fd];
    const options = { names: 'd2-sidecar.socket:monitor:other', times: RESTARTS + 1 };
    const sidecar = start(fds, flags(upstream.port), options);
    for (const socket of [traffic, further, monitor]) socket.free();
    const [first] = await sidecar.listening(1);
    expect(first).toMatchObject({ listen: `127.0.0.1:${traffic.port}`, monitor: `127.0.0.1:${monitor.port}` });
    expect(await call(further.port)).toBe(200);
    const answers: Promise<number>[] = [];
    let isOn = true;
    const clients = async () => {
      for (; isOn; await pause(5)) answers.push(call(traffic.port));
    };
    const done = clients();
    for (let restart = 1; restart <= RESTARTS; restart += 1) {
      answers.push(call(traffic.port, 'Slow'));
      await pause(50);
      for (const pid of childrenOf(sidecar.shell)) process.kill(pid, 'SIGTERM');
      await sidecar.listening(restart + 1);
    }
    isOn = false;
    await done;
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]));
    expect(answers.length).toBeGreaterThan(RESTARTS * 10);
  }, 60_000);

  it('decide whether the monitoring port can be reached from other machines', async () => {
    const monitor = await openSocket();
    const args = flags(1, '--listen', '127.0.0.1:0', '--monitor', `0.0.0.0:${monitor.port}`);
    const sidecar = start([monitor.fd], args, { names: 'monitor' });
    monitor.free();
    expect((await sidecar.listening(1))[0]).toMatchObject({ monitor: `127.0.0.1:${monitor.port}` });
    // Somebody who wrote 0.0.0.0 expects to reach it from elsewhere.
    expect(sidecar.text()).toContain(`monitor.host: 0.0.0.0, but the socket from LISTEN_FDS is on 127.0.0.1:`);
  });

  it('are none without LISTEN_PID of this process', async () => {
    const { fd, port } = await openSocket();
    const [line] = await start([fd], flagsFor(1), { pid: '1' }).listening(1);
    expect(line?.listen).not.toBe(`127.0.0.1:${port}`);
  });

  it.each<[string, string, () => number | Promise<number>, ...flags: string[]]>([
    ['on another port than the configuration', 'listen: got the socket 127.0.0.1:', own, '--listen', '127.0.0.1:1'],
    ['on another port for the monitor', 'monitor: got the socket 127.0.0.1:', own, '--monitor', '127.0.0.1:1'],
    ['that are a file', 'descriptor 3 is no listening TCP socket', () => openSync(MAIN_PATH, 'r')],
  ])('%s end the start with 64', async (_, message, open, ...more) => {
    const names = more.includes('--monitor') ? 'monitor' : '';
    const sidecar = start([await open()], flags(1, ...more), { names });
    expect(await once(sidecar.shell, 'close')).toEqual([64, null]);
    expect(sidecar.text()).toContain(message);
  });
});

async function own(): Promise<number> {
  return (await openSocket()).fd;
}
