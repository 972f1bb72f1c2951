/** A real process that has few file descriptors, or none. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DescriptorWatch } from '../../../src/proxy/listener/descriptor-watch.ts';
import { connectionsFor } from '../../../src/proxy/listener/open-files.ts';
import { ManualClock } from '../../support/clock.ts';
import { samplesOf } from '../../support/monitor/prometheus/samples.ts';
import { listening } from '../../support/net.ts';
import { exitOf, type LogLine, MAIN_PATH, stopProcess } from '../../support/sidecar-process.ts';
import { type LoggedLine, recordingLogger } from './fault-stand.ts';

const PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';

interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly logs: readonly LogLine[];
  readonly port: number;
  readonly monitorPort: number;
}

let upstream: http.Server;
let child: ChildProcess | undefined;
const sockets: net.Socket[] = [];
const agents: http.Agent[] = [];

beforeEach(async () => {
  upstream = http.createServer((_request, response) => response.end('fine'));
  upstream.keepAliveTimeout = 60_000;
  await listening(upstream);
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const agent of agents.splice(0)) agent.destroy();
  if (child !== undefined) await stopProcess(child, exitOf(child), 'SIGKILL');
  child = undefined;
  upstream.closeAllConnections();
  upstream.close();
});

async function start(openFiles: number | undefined): Promise<Started> {
  const { port } = upstream.address() as AddressInfo;
  const addresses = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
  const parameters = [MAIN_PATH, '--upstream', `http://127.0.0.1:${port}/smartWeb`, ...addresses];
  const limit = openFiles === undefined ? [] : ['prlimit', `--nofile=${openFiles}:${openFiles}`];
  const [program = '', ...rest] = [...limit, process.execPath, ...parameters];
  // Reading the JVM opens and closes files all the time.
  const env = { ...process.env, D2_SIDECAR_JVM_SOURCE: 'none' };
  const started = spawn(program, rest, { stdio: ['ignore', 'pipe', 'ignore'], env });
  child = started;
  const logs: LogLine[] = [];
  createInterface({ input: started.stdout }).on('line', (line) => logs.push(JSON.parse(line) as LogLine));
  const listening = () => logs.find(({ msg }) => msg === 'listening');
  await expect.poll(listening, { timeout: 15_000 }).toBeDefined();
  return {
    child: started,
    // prlimit execs the program that it starts.
    pid: started.pid as number,
    logs,
    port: portOf(listening()?.listen),
    monitorPort: portOf(listening()?.monitor),
  };
}

function portOf(address: unknown): number {
  return Number(String(address).split(':').at(-1));
}

function agent(): http.Agent {
  const kept = new http.Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(kept);
  return kept;
}

async function post(port: number, by: http.Agent): Promise<{ status: number; text: string }> {
  return await ask({ port, agent: by, method: 'POST', path: PATH });
}

async function samples(port: number, by: http.Agent): Promise<Map<string, number>> {
  return samplesOf((await ask({ port, agent: by, path: '/metrics' })).text);
}

async function ask(options: http.RequestOptions): Promise<{ status: number; text: string }> {
  const request = http.request({ host: '127.0.0.1', ...options }).end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode ?? 0, text };
}

/** The status that a new connection receives, or 0 when it is closed without a byte; the connection stays open. */
async function knock(port: number): Promise<number> {
  const socket = net.connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  socket.write(`POST ${PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`);
  return await new Promise<number>((resolve) => {
    socket.once('close', () => resolve(0));
    socket.once('data', (bytes: Buffer) => resolve(Number(bytes.toString('latin1').split(' ')[1])));
  });
}

function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

describe('a process with a low limit of open files', () => {
  it('accepts as many clients as it has descriptors for, refuses the others, and still answers its monitoring port', async () => {
    const openFiles = 128;
    const connections = connectionsFor(openFiles);
    const sidecar = await start(openFiles);
    const warning = sidecar.logs.find(({ openFiles: told }) => told !== undefined);
    expect(warning).toMatchObject({ level: 'warn', openFiles, connections, needed: 20_000 });
    for (let count = 0; count < connections; count += 1) expect(await knock(sidecar.port)).toBe(200);
    expect(await knock(sidecar.port)).toBe(0);
    const monitor = agent();
    const full = await samples(sidecar.monitorPort, monitor);
    expect(full.get('d2_sidecar_connections')).toBe(connections);
    expect(full.get('d2_sidecar_connections_refused_total')).toBe(1);
    expect(full.get('d2_sidecar_descriptor_shortages_total')).toBe(0);
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(() => knock(sidecar.port)).toBe(200);
  });
});

describe('a process without a free file descriptor', () => {
  it('answers 503 on open connections, idles, logs it, and recovers once descriptors are free', async () => {
    const sidecar = await start(undefined);
    const [monitor, served, fresh] = [agent(), agent(), agent()];
    expect((await samples(sidecar.monitorPort, monitor)).get('d2_sidecar_exchanges_open')).toBe(0);
    // One with a connection to the upstream, and one without.
    expect(await post(sidecar.port, served)).toMatchObject({ status: 200 });
    const idle = net.connect(sidecar.port, '127.0.0.1');
    sockets.push(idle);
    await expect.poll(async () => (await samples(sidecar.monitorPort, monitor)).get('d2_sidecar_connections')).toBe(2);
    fresh.createConnection = () => idle;

    let failed = 0;
    setLimit(sidecar.pid, lowestLimit(sidecar.pid));
    try {
      // Some descriptors may have been returned since.
      let answered = 0;
      for (let status = await knock(sidecar.port); status !== 0; status = await knock(sidecar.port)) {
        if (status === 503) answered += 1;
      }
      expect(await post(sidecar.port, served)).toEqual({ status: 200, text: 'fine' });
      const refused = await post(sidecar.port, fresh);
      expect(refused.status).toBe(503);
      expect(JSON.parse(refused.text)).toMatchObject({
        ...{ status: 503, error: 'connection_limit_reached', code: 'D2S_ERR_UPSTREAM_RESOURCES' },
      });
      failed = answered + 1;
      const shortages = async () =>
        (await samples(sidecar.monitorPort, monitor)).get('d2_sidecar_descriptor_shortages_total') ?? 0;
      await expect.poll(shortages, { timeout: 5_000 }).toBeGreaterThan(0);
      const [beganMs, beganCpuMs] = [performance.now(), cpuMs(sidecar.pid)];
      const before = await shortages();
      await expect.poll(shortages, { interval: 250, timeout: 10_000 }).toBeGreaterThan(before + 1);
      // The process must not spin meanwhile, despite new connections.
      expect(await knock(sidecar.port)).toBe(0);
      // The upstream was not called.
      expect((await samples(sidecar.monitorPort, monitor)).get('d2_upstream_reachable')).toBe(1);
      expect(cpuMs(sidecar.pid) - beganCpuMs).toBeLessThan((performance.now() - beganMs) * 0.5);
    } finally {
      setLimit(sidecar.pid, 1_000);
    }
    expect(await post(sidecar.port, agent())).toMatchObject({ status: 200 });
    const told = await samples(sidecar.monitorPort, monitor);
    expect(told.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_RESOURCES"}')).toBe(failed);
    expect(told.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(failed);
    await expect.poll(() => sidecar.logs.filter(({ shortages }) => shortages !== undefined)).toHaveLength(2);
    expect(sidecar.logs.filter(({ code }) => code === 'EMFILE')).toHaveLength(1);
    expect(sidecar.logs.find(({ reason }) => reason === 'EMFILE')).toMatchObject({
      code: 'D2S_ERR_UPSTREAM_RESOURCES',
    });
  });
});

/**
 * The lowest limit at which a process can still close clients without a descriptor: libuv keeps one in reserve, which it gives
 * up to accept them, and must be able to open again. The first clients take the free descriptors below it.
 */
function lowestLimit(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  const open = readdirSync(folder).map(Number);
  let free = 0;
  while (open.includes(free)) free += 1;
  const kept = open.filter((descriptor) => ['/dev/null', '/'].includes(readlinkSync(`${folder}/${descriptor}`)));
  return Math.max(free, ...kept.map((descriptor) => descriptor + 1));
}

/** The soft limit only, so that it can be raised again without privileges. */
function setLimit(pid: number, openFiles: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${openFiles}:`]);
}

describe('the descriptor watch', () => {
  function watchOf(open: () => number): { watch: DescriptorWatch; clock: ManualClock; logged: LoggedLine[] } {
    const clock = new ManualClock();
    const logged: LoggedLine[] = [];
    return { watch: new DescriptorWatch(clock, recordingLogger(logged), open), clock, logged };
  }
  const failing = (code: string) => () => {
    throw Object.assign(new Error(code), { code });
  };

  it('counts each shortage, and logs at most once in ten seconds', () => {
    const { watch, clock, logged } = watchOf(failing('EMFILE'));
    for (let second = 0; second < 25; second += 1) {
      watch.look();
      clock.advanceS(1);
    }
    expect(watch.shortages).toBe(25);
    expect(logged.map(({ details }) => details)).toEqual([
      { code: 'EMFILE', shortages: 1 },
      { code: 'EMFILE', shortages: 11 },
      { code: 'EMFILE', shortages: 21 },
    ]);
  });

  it('does not count another failure as a shortage', () => {
    const { watch, logged } = watchOf(failing('EACCES'));
    watch.look();
    expect([watch.shortages, logged]).toEqual([0, []]);
  });
});
