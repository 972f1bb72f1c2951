/** Real servers behind the sidecar, with everything in a temporary folder; nginx and haproxy have a recording server behind them. */
import type net from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Defer, temporaryFolder } from '../deferred.ts';
import { hasProgram, isAvailable } from '../programs.ts';
import { startProxyProgram } from '../proxy-program.ts';
import { startTomcat } from '../tomcat/tomcat.ts';
import { EARLY_PATH, startRecordingServer } from './recording-server.ts';

export type StartServer = (defer: Defer) => Promise<net.NetConnectOpts>;

export const hasNginx = () => isAvailable('nginx', hasProgram('nginx'));
export const hasHaproxy = () => isAvailable('haproxy', hasProgram('haproxy'));

export const startNode: StartServer = async (defer) => {
  const server = await startRecordingServer(defer, { port: 0, host: '127.0.0.1' });
  return { port: (server.address() as net.AddressInfo).port, host: '127.0.0.1' };
};

export const startTomcatServer: StartServer = async (defer) => {
  const webapp = fileURLToPath(new URL('./tomcat-webapp', import.meta.url));
  const { port } = await startTomcat(defer, { webapp, context: 'ROOT' });
  return { port, host: '127.0.0.1' };
};

export const startNginx: StartServer = (defer) => startProxy(defer, 'nginx', nginxConfig);
export const startHaproxy: StartServer = (defer) => startProxy(defer, 'haproxy', haproxyConfig);

async function startProxy(defer: Defer, program: 'nginx' | 'haproxy', config: (folder: string) => string) {
  const folder = temporaryFolder(defer);
  await startRecordingServer(defer, { path: join(folder, 'backend') });
  const address = { path: join(folder, 'front') };
  await startProxyProgram(defer, program, config(folder), address);
  return address;
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
