import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SAMPLE_BROWSERS } from '../../src/demo/plant.ts';
import { hasProgram } from '../support/programs.ts';
import { startProgram } from './secrets/programs.ts';

type Demo = Awaited<ReturnType<typeof startDemo>>;

/** Resolves when the demo has printed its whole guide. `addresses`: all that are alone on their line. */
async function startDemo(env: Readonly<Record<string, string>> = {}) {
  const { child, stdout, until, exited } = startProgram(['demo'], env);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  await until(/\/d2\/rpc\/E\.Boiler\/ReadState/);
  const output = stdout();
  const clientUrl = /The users call +(\S+)/.exec(output)?.[1] ?? '';
  return { pid: child.pid as number, output, exited, addresses: linesOf(output, 'http:'), clientUrl };
}

/** Lines that begin so, without their indentation. */
function linesOf(output: string, begin: string): string[] {
  return (output.match(new RegExp(`^ +${begin}.*$`, 'gm')) ?? []).map((line) => line.trim());
}

/** The line of a process in /proc; empty when it has ended meanwhile. */
function statOf(pid: string | number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

/** The JVM that the demo started. */
function jvmOf(demo: Demo): number {
  const isChild = (pid: string) => /^\d+$/.test(pid) && new RegExp(`\\) \\S ${demo.pid} `).test(statOf(pid));
  const children = readdirSync('/proc').filter(isChild);
  expect(children).toHaveLength(1);
  return Number(children[0]);
}

/** Resolves when the process is gone, or is a zombie whose parent is not ours. */
async function gone(pid: number): Promise<void> {
  const isThere = () => statOf(pid) !== '' && !statOf(pid).includes(') Z ');
  while (isThere()) await new Promise((resolve) => setImmediate(resolve));
}

/** What an address of the demo that ends so answers. */
async function read<Read>({ addresses }: Demo, end: string): Promise<Read> {
  const address = addresses.find((one) => one.endsWith(end)) ?? '';
  return (await (await fetch(address, { headers: { 'content-type': 'application/json' } })).json()) as Read;
}

/** Takes a port of 127.0.0.1; it is fine if another program has it. */
async function take(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => undefined);
}

type Counts = Readonly<Record<string, { readonly count: number }>>;

const run = promisify(execFile);
const hasJava = hasProgram('java');

describe('d2-sidecar demo', () => {
  it('prints addresses and curl lines that all work as they are, with the calls of its users and its JVM', async () => {
    const demo = await startDemo();
    expect(demo.addresses).toHaveLength(hasJava ? 11 : 10);
    for (const address of demo.addresses) {
      const answer = await fetch(address, { headers: { 'content-type': 'application/json' } });
      await answer.arrayBuffer();
      expect([address, answer.status]).toEqual([address, 200]);
    }
    const lines = linesOf(demo.output, 'curl ');
    expect(lines).toHaveLength(hasJava ? 13 : 12);
    for (const line of hasProgram('curl') ? lines : []) {
      const { stdout } = await run('sh', ['-c', `${line} -s -o /dev/null -w '%{http_code}'`]);
      expect([line, stdout]).toEqual([line, '200']);
    }
    const sessions = await read<{ userName: string | null }[]>(demo, '/d2/sessions');
    const users = ['historian', null, ...SAMPLE_BROWSERS.map(({ user }) => user)];
    expect(sessions.map(({ userName }) => userName)).toEqual(expect.arrayContaining(users));
    const { timers } = await read<{ timers: Counts }>(demo, 'E.Boiler.ReadState');
    expect(timers['rpc.E.Boiler.ReadState']?.count).toBeGreaterThanOrEqual(5);
    const { meters } = await read<{ meters: Counts }>(demo, '/metrics/d2/object');
    expect(meters['object.newValues']?.count).toBeGreaterThan(0);
    if (!hasJava) return;
    // Its JVM is read from outside.
    const { gauges } = await read<{ gauges: Record<string, { value: number }> }>(demo, '/metrics/jvm');
    expect(gauges['jvm.memory.heap.max']?.value).toBe(96 * 1024 * 1024);
    expect(gauges['jvm.memory.heap.used']?.value).toBeGreaterThan(0);
    const address = demo.addresses.find((one) => one.endsWith('/metrics/jvm')) ?? '';
    expect((await fetch(address)).headers.get('metrics-source')).toMatch(/^hsperfdata\+attach/);
    expect(readFileSync(`/proc/${jvmOf(demo)}/cmdline`, 'utf8')).not.toContain('-javaagent');
  });

  it.each(['SIGINT', 'SIGKILL'] as const)('stops with its JVM on %s', async (signal) => {
    const demo = await startDemo();
    const jvm = hasJava ? jvmOf(demo) : undefined;
    expect((await request(demo.clientUrl)).statusCode).toBe(404);
    process.kill(demo.pid, signal);
    expect(await demo.exited).toBe(signal === 'SIGKILL' ? 128 : 0);
    if (jvm !== undefined) await gone(jvm);
    await expect(request(demo.clientUrl)).rejects.toThrow('ECONNREFUSED');
  });

  it('picks free ports when its own are in use, and shows no JVM without java; it says so', async () => {
    await take(8081);
    await take(9280);
    const demo = await startDemo({ PATH: '/nonexistent', JAVA_HOME: '' });
    expect(demo.output).toMatch(/^Port 8081 .* is taken/m);
    expect(demo.output).toMatch(/^Port 9280 .* is taken/m);
    expect(new URL(demo.clientUrl).port).not.toBe('8081');
    expect(new URL(demo.addresses[0] ?? '').port).not.toBe('9280');
    expect(demo.output).toContain('No JVM is shown: no java was found, neither in JAVA_HOME nor in PATH.');
    expect(demo.output).toMatch(/^Where java is installed, the demo starts a small JVM/m);
    expect(demo.addresses).toHaveLength(10);
  });
});
