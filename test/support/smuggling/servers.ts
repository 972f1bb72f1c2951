/**
 * Real servers behind the sidecar: Node in this process; Tomcat, nginx and haproxy from Debian's packages, each in
 * a process of its own with everything in a temporary folder. nginx and haproxy have a recording server behind them.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { exitOf, stopProcess } from '../sidecar-process.ts';
import { startTomcat } from '../tomcat/tomcat.ts';
import { EARLY_PATH, startRecordingServer } from './recording-server.ts';

export interface RealServer {
  readonly address: net.NetConnectOpts;
  stop(): Promise<void>;
}

const START_TIMEOUT_MS = 10_000;
const POLL_MS = 20;

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v']).error === undefined;
}

export async function startNode(): Promise<RealServer> {
  const server = await startRecordingServer({ port: 0, host: '127.0.0.1' });
  const { port } = server.address() as net.AddressInfo;
  return { address: { port, host: '127.0.0.1' }, stop: async () => closeServer(server) };
}

export async function startTomcatServer(): Promise<RealServer> {
  const webapp = fileURLToPath(new URL('./tomcat-webapp', import.meta.url));
  const tomcat = await startTomcat({ webapp, context: 'ROOT' });
  return { address: { port: tomcat.port, host: '127.0.0.1' }, stop: () => tomcat.stop() };
}

export function startNginx(): Promise<RealServer> {
  return startProxy('nginx', (folder) => ({
    config: nginxConfig(folder),
    args: ['-p', folder, '-c', join(folder, 'config'), '-e', join(folder, 'error.log')],
  }));
}

export function startHaproxy(): Promise<RealServer> {
  return startProxy('haproxy', (folder) => ({
    config: haproxyConfig(folder),
    args: ['-db', '-f', join(folder, 'config')],
  }));
}

async function startProxy(
  program: string,
  set: (folder: string) => { readonly config: string; readonly args: readonly string[] },
): Promise<RealServer> {
  const folder = await mkdtemp(join(tmpdir(), `d2s-${program}-`));
  const backend = await startRecordingServer({ path: join(folder, 'backend') });
  const { config, args } = set(folder);
  await writeFile(join(folder, 'config'), config);
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  const exited = exitOf(child);
  const stop = async () => {
    await stopProcess(child, exited, 'SIGTERM');
    closeServer(backend);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const address = { path: join(folder, 'front') };
    await listening(child, address);
    return { address, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** Sockets in the folder instead of ports, which another program could take. */
function nginxConfig(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `daemon off;
master_process off;
pid ${folder}/pid;
error_log ${folder}/error.log;
events {}
http {
  access_log off;
  ${temporary.map((what) => `${what}_temp_path ${folder}/${what};`).join('\n  ')}
  server {
    listen unix:${folder}/front;
    location = ${EARLY_PATH} {
      add_header X-Seen "$request_method $request_uri -" always;
      return 200 "early";
    }
    location / {
      proxy_pass http://unix:${folder}/backend;
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Connection "";
      proxy_ignore_client_abort on;
    }
  }
}
`;
}

function haproxyConfig(folder: string): string {
  return `defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
frontend front
  bind unix@${folder}/front
  http-request return status 200 content-type text/plain string early hdr X-Seen "%[method] %[path] -" if { path ${EARLY_PATH} }
  default_backend back
backend back
  server recording unix@${folder}/backend
`;
}

async function listening(child: ChildProcess, address: net.IpcNetConnectOpts): Promise<void> {
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

function canConnect(address: net.IpcNetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(address, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

function closeServer(server: http.Server): void {
  server.close();
  server.closeAllConnections();
}
