/** Listening sockets that the process is given, as systemd does: real processes, and a shell in the place of systemd. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { MAIN_PATH } from '../../support/sidecar-process.ts';

const SLOW_MS = 1_000;
const RESTARTS = 3;
const CALL = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Run';
const SLOW_CALL = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Slow';

let ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends) end();
  ends = [];
});

async function startUpstream(): Promise<number> {
  const upstream = http.createServer(async (request, response) => {
    request.resume();
    if (request.url === SLOW_CALL) await pause(SLOW_MS);
    response.end('{}');
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  ends.push(
    () => upstream.closeAllConnections(),
    () => upstream.close(),
  );
  return (upstream.address() as AddressInfo).port;
}

/** A socket that listens; `free` lets only the processes that have it accept. */
async function openSocket(host = '127.0.0.1') {
  const server = net.createServer();
  server.listen({ host, port: 0, backlog: 4_096 });
  await once(server, 'listening');
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle;
  ends.push(() => server.close());
  return { fd, port: (server.address() as AddressInfo).port, free: () => server.close() };
}

interface Started {
  readonly shell: ChildProcess;
  /** Standard error and the messages of the log. */
  text(): string;
  /** Until that many starts have logged where they listen; the lines. */
  listening(count: number): Promise<readonly Record<string, string>[]>;
}

/** A shell that starts the sidecar `times` times, and gives it the descriptors from 3 on. */
function start(fds: readonly number[], args: readonly string[], { names = '', pid = '$$', times = 1 } = {}): Started {
  const program = [process.execPath, MAIN_PATH, ...args].map((word) => `'${word}'`).join(' ');
  const once = `export LISTEN_PID=${pid} LISTEN_FDS=${fds.length} LISTEN_FDNAMES='${names}'; exec ${program}`;
  const script = `code=0; for n in ${Array.from({ length: times }, (_, i) => i).join(' ')}; do sh -c "$ONCE" || code=$?; done; exit $code`;
  const shell = spawn('sh', ['-c', script], {
    env: { ...process.env, ONCE: once, D2_SIDECAR_STOP_DELAY: '5s', D2_SIDECAR_STOP_WINDOW: '5s' },
    stdio: ['ignore', 'pipe', 'pipe', ...fds],
  });
  ends.push(() => {
    for (const child of childrenOf(shell)) process.kill(child, 'SIGKILL');
    shell.kill('SIGKILL');
  });
  let text = '';
  let lines: Record<string, string>[] = [];
  let wake = () => {};
  shell.stderr?.on('data', (data: Buffer) => {
    text += data.toString();
  });
  createInterface({ input: shell.stdout as NodeJS.ReadableStream }).on('line', (line) => {
    text += `${line}\n`;
    const parsed = JSON.parse(line) as Record<string, string>;
    if (parsed.msg === 'listening') lines = [...lines, parsed];
    wake();
  });
  shell.once('exit', () => wake());
  const listening = async (count: number) => {
    while (lines.length < count && shell.exitCode === null) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (lines.length < count) throw new Error(text);
    return lines;
  };
  return { shell, text: () => text, listening };
}

function childrenOf({ pid }: ChildProcess): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

async function call(port: number, path = CALL): Promise<number> {
  const request = http.request({ host: '127.0.0.1', port, path, method: 'POST', agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode ?? 0;
}

const flags = (upstream: number, ...more: readonly string[]) => [
  ...['--upstream', `http://127.0.0.1:${upstream}/smartWeb`],
  ...more,
];

describe('sockets that the process is given', () => {
  it('are served instead of those of the configuration, and no restart refuses or fails a call', async () => {
    const upstream = await startUpstream();
    const [traffic, further, monitor] = [await openSocket(), await openSocket(), await openSocket()];
    const fds = [traffic.fd, monitor.fd, further.fd];
    const sidecar = start(fds, flags(upstream), { names: 'd2-sidecar.socket:monitor:other', times: RESTARTS + 1 });
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
      answers.push(call(traffic.port, SLOW_CALL));
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
    const upstream = await startUpstream();
    const monitor = await openSocket();
    const args = flags(upstream, '--listen', '127.0.0.1:0', '--monitor', `0.0.0.0:${monitor.port}`);
    const sidecar = start([monitor.fd], args, { names: 'monitor' });
    monitor.free();
    expect((await sidecar.listening(1))[0]).toMatchObject({ monitor: `127.0.0.1:${monitor.port}` });
    // Somebody who wrote 0.0.0.0 expects to reach it from elsewhere.
    expect(sidecar.text()).toContain(`monitor.host: 0.0.0.0, but the socket from LISTEN_FDS is on 127.0.0.1:`);
  });

  it('are none without LISTEN_PID of this process', async () => {
    const upstream = await startUpstream();
    const { fd, port } = await openSocket();
    const args = flags(upstream, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0');
    const [line] = await start([fd], args, { pid: '1' }).listening(1);
    expect(line?.listen).not.toBe(`127.0.0.1:${port}`);
  });

  it.each([
    ['on another port', '--listen', '127.0.0.1:1', 'listen: got the socket 127.0.0.1:'],
    ['on another address', '--listen', '10.0.0.1:0', 'listen: got the socket 127.0.0.1:'],
    ['on another port for the monitor', '--monitor', '127.0.0.1:1', 'monitor: got the socket 127.0.0.1:'],
  ])('%s than the configuration end the start with 64', async (_, flag, address, message) => {
    const upstream = await startUpstream();
    const { fd } = await openSocket();
    const sidecar = start([fd], flags(upstream, flag, address), { names: flag === '--monitor' ? 'monitor' : '' });
    expect(await once(sidecar.shell, 'close')).toEqual([64, null]);
    expect(sidecar.text()).toContain(message);
  });

  it.each([
    ['a file', () => openSync(MAIN_PATH, 'r')],
    [
      'a connection',
      async () => {
        const { port } = await openSocket();
        const socket = net.connect(port, '127.0.0.1');
        await once(socket, 'connect');
        ends.push(() => socket.destroy());
        return (socket as unknown as { _handle: { fd: number } })._handle.fd;
      },
    ],
  ])('that are %s end the start with 64', async (_, open) => {
    const sidecar = start([await open()], flags(1));
    expect(await once(sidecar.shell, 'close')).toEqual([64, null]);
    expect(sidecar.text()).toContain('descriptor 3 is no listening TCP socket');
  });
});
