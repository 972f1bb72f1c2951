import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { exitOf, MAIN_PATH, stopProcess } from './sidecar-process.ts';
import { isCurlInstalled } from './tomcat/clients.ts';

interface Demo {
  readonly output: string;
  readonly exited: Promise<number>;
  kill(signal: NodeJS.Signals): void;
}

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

/** Resolves when the demo has printed its guide to the end. */
async function startDemo(): Promise<Demo> {
  const child = spawn(process.execPath, [MAIN_PATH, 'demo'], { stdio: ['ignore', 'pipe', 'inherit'] });
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
  return { output, exited, kill: (signal) => child.kill(signal) };
}

/** Every address that stands alone on its line. */
function addressesOf(demo: Demo): string[] {
  return (demo.output.match(/^ +http:\S+$/gm) ?? []).map((line) => line.trim());
}

function clientUrlOf(demo: Demo): string {
  return /The users call +(\S+)/.exec(demo.output)?.[1] ?? '';
}

async function json(address: string | undefined): Promise<unknown> {
  return (await request(address ?? '', { headers: { 'content-type': 'application/json' } })).body.json();
}

/** Takes a port of 127.0.0.1; somebody else having it serves as well. */
async function take(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  cleanups.push(async () => server.close());
  await Promise.race([once(server, 'listening'), once(server, 'error')]).catch(() => undefined);
}

describe('d2-sidecar demo', () => {
  it('prints addresses that all answer, with what the users did', async () => {
    const demo = await startDemo();
    const addresses = addressesOf(demo);
    expect(addresses).toHaveLength(10);
    for (const address of addresses) {
      const answer = await request(address, { headers: { 'content-type': 'application/json' } });
      await answer.body.dump();
      expect([address, answer.statusCode]).toEqual([address, 200]);
    }
    const sessions = (await json(addresses.find((address) => address.endsWith('/d2/sessions')))) as {
      userName: string | null;
    }[];
    expect(sessions.map((session) => session.userName)).toEqual(expect.arrayContaining(['historian', null]));
    const one = (await json(addresses.find((address) => address.endsWith('E.Boiler.ReadState')))) as {
      timers: Record<string, { count: number }>;
    };
    expect(one.timers['rpc.E.Boiler.ReadState']?.count).toBeGreaterThanOrEqual(5);
  });

  it.runIf(isCurlInstalled())('prints curl lines that work as they are', async () => {
    const demo = await startDemo();
    const lines = (demo.output.match(/^ +curl .*$/gm) ?? []).map((line) => line.trim());
    expect(lines).toHaveLength(12);
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

  it.each(['SIGINT', 'SIGTERM'] as const)('ends all of it within a second on %s, with exit code 0', async (signal) => {
    const demo = await startDemo();
    const clientUrl = clientUrlOf(demo);
    expect((await request(clientUrl)).statusCode).toBe(404);
    const began = performance.now();
    demo.kill(signal);
    expect(await demo.exited).toBe(0);
    expect(performance.now() - began).toBeLessThan(1_000);
    await expect(request(clientUrl)).rejects.toThrow('ECONNREFUSED');
  });

  it('takes free ports where its own are taken, and says so', async () => {
    await take(8081);
    await take(9280);
    const demo = await startDemo();
    expect(demo.output).toMatch(/^Port 8081 .* is taken/m);
    expect(demo.output).toMatch(/^Port 9280 .* is taken/m);
    expect(new URL(clientUrlOf(demo)).port).not.toBe('8081');
    expect(new URL(addressesOf(demo)[0] ?? '').port).not.toBe('9280');
  });
});
