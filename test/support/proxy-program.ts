/** nginx and HAProxy of Debian's packages, each in a process of its own, with everything in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitOf, stopProcess } from './sidecar-process.ts';

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 20;
const NGINX_TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface ProxySetup {
  /** Directives inside nginx' `http {}`, or everything of HAProxy's after `defaults`. */
  readonly config: (folder: string) => string;
  /** Where it listens once it is ready. */
  readonly address: (folder: string) => net.NetConnectOpts;
  /** Called before it starts; its result is closed after its end. */
  readonly before?: (folder: string) => Promise<HttpServer>;
}

export async function startProxyProgram(program: 'nginx' | 'haproxy', setup: ProxySetup) {
  const folder = await mkdtemp(join(tmpdir(), `d2s-${program}-`));
  const behind = await setup.before?.(folder);
  const config = join(folder, 'config');
  const args =
    program === 'nginx' ? ['-p', folder, '-c', config, '-e', join(folder, 'error.log')] : ['-db', '-f', config];
  await writeFile(config, (program === 'nginx' ? toNginx : toHaproxy)(folder, setup.config(folder)));
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = exitOf(child);
  const stop = async () => {
    await stopProcess(child, exited, 'SIGTERM');
    behind?.close();
    behind?.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await listening(child, setup.address(folder));
    return { stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

function toNginx(folder: string, http: string): string {
  return `daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${NGINX_TEMPORARY.map((what) => `${what}_temp_path ${folder}/${what};`).join('\n  ')}
${http}
}
`;
}

function toHaproxy(_: string, sections: string): string {
  return `defaults
  timeout connect 5s
  timeout client 20s
  timeout server 20s
${sections}
`;
}

async function listening(child: ChildProcess, address: net.NetConnectOpts): Promise<void> {
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  for (let waitedMs = 0; waitedMs < START_TIMEOUT_MS; waitedMs += POLL_MS) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    if (await canConnect(address)) return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`${child.spawnfile} does not listen:\n${log}`);
}

function canConnect(address: net.NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(address, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
