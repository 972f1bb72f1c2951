/**
 * Real servers behind the sidecar: Node in this process; Tomcat, nginx and haproxy from Debian's packages, each in
 * a process of its own with everything in a temporary folder. nginx and haproxy have a recording server behind them.
 */
import { spawnSync } from 'node:child_process';
import type net from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProxyProgram } from '../proxy-program.ts';
import { startTomcat } from '../tomcat/tomcat.ts';
import { EARLY_PATH, startRecordingServer } from './recording-server.ts';

export interface RealServer {
  readonly address: net.NetConnectOpts;
  stop(): Promise<void>;
}

export function isInstalled(program: string): boolean {
  return spawnSync(program, ['-v']).error === undefined;
}

export async function startNode(): Promise<RealServer> {
  const server = await startRecordingServer({ port: 0, host: '127.0.0.1' });
  const stop = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { address: { port: (server.address() as net.AddressInfo).port, host: '127.0.0.1' }, stop };
}

export async function startTomcatServer(): Promise<RealServer> {
  const webapp = fileURLToPath(new URL('./tomcat-webapp', import.meta.url));
  const tomcat = await startTomcat({ webapp, context: 'ROOT' });
  return { address: { port: tomcat.port, host: '127.0.0.1' }, stop: () => tomcat.stop() };
}

export const startNginx = () => startProxy('nginx', nginxConfig);
export const startHaproxy = () => startProxy('haproxy', haproxyConfig);

async function startProxy(program: 'nginx' | 'haproxy', config: (folder: string) => string): Promise<RealServer> {
  let address: net.NetConnectOpts = { path: '' };
  const { stop } = await startProxyProgram(program, {
    config,
    address: (folder) => {
      address = { path: join(folder, 'front') };
      return address;
    },
    before: async (folder) => await startRecordingServer({ path: join(folder, 'backend') }),
  });
  return { address, stop };
}

/** Sockets in the folder instead of ports, which another program could take. */
function nginxConfig(folder: string): string {
  return `  server {
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
  }`;
}

function haproxyConfig(folder: string): string {
  return `  mode http
frontend front
  bind unix@${folder}/front
  http-request return status 200 content-type text/plain string early hdr X-Seen "%[method] %[path] -" if { path ${EARLY_PATH} }
  default_backend back
backend back
  server recording unix@${folder}/backend
`;
}
