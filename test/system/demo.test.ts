import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { SAMPLE_BROWSERS } from '../../src/demo/plant.ts';
import { exitOf, MAIN_PATH, stopProcess } from '../support/sidecar-process.ts';
import { isCurlInstalled } from '../support/tomcat/clients.ts';

interface Demo {
  readonly pid: number;
  readonly output: string;
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** Resolves when the demo has printed its whole guide. */
async function startDemo(env: NodeJS.ProcessEnv = process.env): Promise<Demo> {
  const child = spawn(process.execPath, [MAIN_PATH, 'demo'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = exitOf(child);
  cleanups.push(() => stopProcess(child, exited, 'SIGKILL'));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('/d2/rpc/E.Boiler/ReadState')) resolve();
    });
    exited.then((code) => reject(new Error(`the demo ended with ${code}: ${output}`)), reject);
  });
  return { pid: child.pid as number, output, exited, kill: (signal) => child.kill(signal) };
}

/** An environment without any java. */
const WITHOUT_JAVA = { PATH: '/nonexistent' };

/** The JVM that the demo started. */
function jvmOf(demo: Demo): number {
  const isChild = (pid: string) => {
    try {
      return new RegExp(`\\) \\S ${demo.pid} `).test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    } catch {
      // The process has ended meanwhile.
      return false;
    }
  };
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isChild(name));
  expect(children).toHaveLength(1);
  return Number(children[0]);
}

/** Resolves when the process is gone, or is a zombie whose parent is not ours. */
async function gone(pid: number): Promise<void> {
  const isThere = () => {
    try {
      return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
    } catch {
      return false;
    }
  };
  while (isThere()) await new Promise((resolve) => setImmediate(resolve));
}

/** Every address on a line of its own. */
function addressesOf(demo: Demo): string[] {
  return (demo.output.match(/^ +http:\S+$/gm) ?? []).map((line) => line.trim());
}

function clientUrlOf(demo: Demo): string {
  return /The users call +(\S+)/.exec(demo.output)?.[1] ?? '';
}

async function json(address: string | undefined): Promise<unknown> {
  return (await request(address ?? '', { headers: { 'content-type': 'application/json' } })).body.json();
}

/** Takes a port of 127.0.0.1; it is fine if another program has it. */
async function take(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  cleanups.push(async () => server.close());
  await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => undefined);
}

const hasJava = spawnSync('java', ['-version']).status === 0;

describe('d2-sidecar demo', () => {
  it('prints addresses that all answer, with the calls of its users', async () => {
    const demo = await startDemo();
    const addresses = addressesOf(demo);
    expect(addresses).toHaveLength(hasJava ? 11 : 10);
    for (const address of addresses) {
      const answer = await request(address, { headers: { 'content-type': 'application/json' } });
      await answer.body.dump();
      expect([address, answer.statusCode]).toEqual([address, 200]);
    }
    const sessions = (await json(addresses.find((address) => address.endsWith('/d2/sessions')))) as {
      userName: string | null;
    }[];
    expect(sessions.map((session) => session.userName)).toEqual(
      expect.arrayContaining(['historian', null, ...SAMPLE_BROWSERS.map(({ user }) => user)]),
    );
    const one = (await json(addresses.find((address) => address.endsWith('E.Boiler.ReadState')))) as {
      timers: Record<string, { count: number }>;
    };
    expect(one.timers['rpc.E.Boiler.ReadState']?.count).toBeGreaterThanOrEqual(5);
    const objects = (await json(addresses.find((address) => address.endsWith('/metrics/d2/object')))) as {
      meters: Record<string, { count: number }>;
    };
    expect(objects.meters['object.newValues']?.count).toBeGreaterThan(0);
  });

  it.runIf(isCurlInstalled())('prints curl lines that work as they are', async () => {
    const demo = await startDemo();
    const lines = (demo.output.match(/^ +curl .*$/gm) ?? []).map((line) => line.trim());
    expect(lines).toHaveLength(hasJava ? 13 : 12);
    for (const line of lines) {
      const shell = spawn('sh', ['-c', `${line} -s -o /dev/null -w '%{http_code}'`], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let status = '';
      shell.stdout.setEncoding('utf8').on('data', (text: string) => {
        status += text;
      });
      await once(shell, 'close');
      expect([line, status]).toEqual([line, '200']);
    }
  });

  it.each(['SIGINT', 'SIGTERM'] as const)(
    'stops everything within a second on %s, with exit code 0',
    async (signal) => {
      const demo = await startDemo();
      const clientUrl = clientUrlOf(demo);
      expect((await request(clientUrl)).statusCode).toBe(404);
      const began = performance.now();
      demo.kill(signal);
      expect(await demo.exited).toBe(0);
      expect(performance.now() - began).toBeLessThan(1_000);
      await expect(request(clientUrl)).rejects.toThrow('ECONNREFUSED');
    },
  );

  it('picks free ports when its own are in use, and says so', async () => {
    await take(8081);
    await take(9280);
    const demo = await startDemo();
    expect(demo.output).toMatch(/^Port 8081 .* is taken/m);
    expect(demo.output).toMatch(/^Port 9280 .* is taken/m);
    expect(new URL(clientUrlOf(demo)).port).not.toBe('8081');
    expect(new URL(addressesOf(demo)[0] ?? '').port).not.toBe('9280');
  });

  it.runIf(hasJava)('starts a JVM whose heap the sidecar reads from outside', async () => {
    const demo = await startDemo();
    const address = addressesOf(demo).find((one) => one.endsWith('/metrics/jvm'));
    const { headers, body } = await request(address ?? '', { headers: { 'content-type': 'application/json' } });
    const { gauges } = (await body.json()) as { gauges: Record<string, { value: number }> };
    expect(gauges['jvm.memory.heap.max']?.value).toBe(96 * 1024 * 1024);
    expect(gauges['jvm.memory.heap.used']?.value).toBeGreaterThan(0);
    expect(headers['metrics-source']).toMatch(/^hsperfdata\+attach/);
    const flags = readFileSync(`/proc/${jvmOf(demo)}/cmdline`, 'utf8').split('\0');
    expect(flags.filter((flag) => flag.startsWith('-javaagent'))).toEqual([]);
  });

  it.runIf(hasJava).each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('stops its JVM on %s', async (signal) => {
    const demo = await startDemo();
    const jvm = jvmOf(demo);
    demo.kill(signal);
    await demo.exited;
    await gone(jvm);
  });

  it('says, without java, that there is no JVM to read, and what it would show', async () => {
    const demo = await startDemo(WITHOUT_JAVA);
    expect(demo.output).toContain('No JVM is shown: no java was found, neither in JAVA_HOME nor in PATH.');
    expect(demo.output).toMatch(/^Where java is installed, the demo starts a small JVM/m);
    expect(addressesOf(demo)).toHaveLength(10);
  });
});
