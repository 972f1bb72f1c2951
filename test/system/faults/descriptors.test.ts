/** A real process that has few file descriptors, or none. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connectionsFor } from '../../../src/proxy/listener/descriptor-watch.ts';
import { deferTo } from '../../support/deferred.ts';
import { samplesOf } from '../../support/monitor/prometheus/samples.ts';
import { type Application, portOf, send, startApplication } from '../../support/net.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts';
import { RPC, RPC_PATH } from './fault-stand.ts';

const defer = deferTo(afterEach);
let upstream: Application;
let sidecar: SidecarProcess;
const sockets: net.Socket[] = [];

beforeEach(async () => {
  upstream = await startApplication((_request, response) => response.end('fine'), defer);
  upstream.server.keepAliveTimeout = 60_000;
});

async function start(command: readonly string[] = []): Promise<void> {
  // Reading the JVM opens and closes files all the time.
  const env = { D2_SIDECAR_JVM_SOURCE: 'none' };
  // prlimit execs the program that it starts.
  sidecar = await startSidecarProcess(flagsFor(upstream.port), env, [...command, process.execPath]);
  defer(() => sidecar.stop('SIGKILL'));
}

function agent(): http.Agent {
  const kept = new http.Agent({ keepAlive: true, maxSockets: 1 });
  defer(() => kept.destroy());
  return kept;
}

const post = (by: http.Agent) => send(portOf(sidecar.listen), RPC_PATH, { agent: by, method: 'POST' });

async function samples(by: http.Agent): Promise<Map<string, number>> {
  return samplesOf((await send(portOf(sidecar.monitor), '/metrics', { agent: by })).body);
}

/** The status that a new connection receives, or 0 when it is closed without a byte; the connection stays open. */
async function knock(): Promise<number> {
  const socket = net.connect(portOf(sidecar.listen), '127.0.0.1');
  sockets.push(socket);
  defer(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.write(RPC);
  return await new Promise<number>((resolve) => {
    socket.once('close', () => resolve(0));
    socket.once('data', (bytes: Buffer) => resolve(Number(bytes.toString('latin1').split(' ')[1])));
  });
}

function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

it('a process with a low limit of open files accepts as many clients as it has descriptors for, refuses the others, and still answers its monitoring port', async () => {
  const openFiles = 128;
  const connections = connectionsFor(openFiles);
  await start(['prlimit', `--nofile=${openFiles}:${openFiles}`]);
  const warning = sidecar.logs.find(({ openFiles: told }) => told !== undefined);
  expect(warning).toMatchObject({ level: 'warn', openFiles, connections, needed: 20_000 });
  for (let count = 0; count < connections; count += 1) expect(await knock()).toBe(200);
  expect(await knock()).toBe(0);
  const monitor = agent();
  const full = await samples(monitor);
  expect(full.get('d2_sidecar_connections')).toBe(connections);
  expect(full.get('d2_sidecar_connections_refused_total')).toBe(1);
  expect(full.get('d2_sidecar_descriptor_shortages_total')).toBe(0);
  for (const socket of sockets.splice(0)) socket.destroy();
  await expect.poll(() => knock()).toBe(200);
});

it('a process without a free file descriptor answers 503 on open connections, idles, logs it, and recovers once descriptors are free', async () => {
  await start();
  const [monitor, served, fresh] = [agent(), agent(), agent()];
  expect((await samples(monitor)).get('d2_sidecar_exchanges_open')).toBe(0);
  // One with a connection to the upstream, and one without.
  expect(await post(served)).toMatchObject({ status: 200 });
  const idle = net.connect(portOf(sidecar.listen), '127.0.0.1');
  defer(() => idle.destroy());
  await expect.poll(async () => (await samples(monitor)).get('d2_sidecar_connections')).toBe(2);
  fresh.createConnection = () => idle;

  let failed = 0;
  setLimit(sidecar.pid, lowestLimit(sidecar.pid));
  try {
    // Some descriptors may have been returned since.
    let answered = 0;
    for (let status = await knock(); status !== 0; status = await knock()) {
      if (status === 503) answered += 1;
    }
    expect(await post(served)).toMatchObject({ status: 200, body: 'fine' });
    const refused = await post(fresh);
    expect(refused.status).toBe(503);
    const problem = { status: 503, error: 'connection_limit_reached', code: 'D2S_ERR_UPSTREAM_RESOURCES' };
    expect(JSON.parse(refused.body)).toMatchObject(problem);
    failed = answered + 1;
    const shortages = async () => (await samples(monitor)).get('d2_sidecar_descriptor_shortages_total') ?? 0;
    await expect.poll(shortages, { timeout: 5_000 }).toBeGreaterThan(0);
    const [beganMs, beganCpuMs] = [performance.now(), cpuMs(sidecar.pid)];
    const before = await shortages();
    await expect.poll(shortages, { interval: 250, timeout: 10_000 }).toBeGreaterThan(before + 1);
    // The process must not spin meanwhile, despite new connections.
    expect(await knock()).toBe(0);
    // The upstream was not called.
    expect((await samples(monitor)).get('d2_upstream_reachable')).toBe(1);
    expect(cpuMs(sidecar.pid) - beganCpuMs).toBeLessThan((performance.now() - beganMs) * 0.5);
  } finally {
    setLimit(sidecar.pid, 1_000);
  }
  expect(await post(agent())).toMatchObject({ status: 200 });
  const told = await samples(monitor);
  expect(told.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_RESOURCES"}')).toBe(failed);
  expect(told.get('d2_calls_unanswered_total{kind="rpc"}')).toBe(failed);
  await expect.poll(() => sidecar.logs.filter(({ shortages }) => shortages !== undefined)).toHaveLength(2);
  expect(sidecar.logs.filter(({ code }) => code === 'EMFILE')).toHaveLength(1);
  const blamed = { code: 'D2S_ERR_UPSTREAM_RESOURCES' };
  expect(sidecar.logs.find(({ reason }) => reason === 'EMFILE')).toMatchObject(blamed);
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
