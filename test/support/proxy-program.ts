/** nginx and HAProxy of Debian's packages, each in a process of its own, with everything in a temporary folder. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import type net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untilListening } from '../bench/load/ports.ts';
import { hasEnded } from '../bench/load/processes.ts';
import { exitOf, stopProcess } from './sidecar-process.ts';

const NGINX_TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

export interface ProxyProgram {
  stop(): Promise<void>;
}

export interface ProxySetup {
  /** Directives inside nginx' `http {}`, or everything of HAProxy's after `defaults`. */
  readonly config: (folder: string) => string;
  /** Where it listens once it is ready. */
  readonly address: (folder: string) => net.NetConnectOpts;
  /** Called before it starts; its result is closed after its end. */
  readonly before?: (folder: string) => Promise<HttpServer>;
}

export async function startProxyProgram(program: 'nginx' | 'haproxy', setup: ProxySetup): Promise<ProxyProgram> {
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
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  try {
    await untilListening(setup.address(folder), () => hasEnded(child));
    return { stop };
  } catch (cause) {
    await stop();
    throw new Error(`${program}: ${(cause as Error).message}:\n${log}`, { cause });
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
