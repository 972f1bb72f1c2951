/** All peers; nginx as a plain proxy, with Lua that counts what the sidecar counts, and as the upstream of all; haproxy and caddy. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ANSWER_1M, SMALL_ANSWER } from '../answers.ts';
import { SOURCE_FOLDER } from '../folders.ts';
import type { Command } from '../processes.ts';
import * as node from './node-peers.ts';
import { certificateIn, findFile, type Peer, type Spot } from './peer.ts';

const MODULES = '/usr/lib/nginx/modules';
const LUA_MODULES = ['ndk_http_module.so', 'ngx_http_lua_module.so'].map((file) => path.join(MODULES, file));

/** Unlimited keep-alive both ways, streaming instead of files on disk, and the fields that the sidecar adds. */
const PROXY = `
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_request_buffering off;
    proxy_max_temp_file_size 0;
    proxy_read_timeout 600s;
    proxy_pass http://upstream_server;`;

const NGINX: Peer = {
  name: 'nginx',
  title: 'nginx',
  packages: ['nginx'],
  command: (spot) => nginxCommand(spot.folder, createProxy(spot, '')),
};

const NGINX_TLS: Peer = {
  ...NGINX,
  command: (spot) => {
    const { certFile, keyFile } = certificateIn(spot.folder);
    const tls = `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ssl_protocols TLSv1.3;`;
    return nginxCommand(spot.folder, createProxy(spot, '', tls));
  },
};

const NGINX_LUA: Peer = {
  name: 'nginx-lua',
  title: 'nginx + Lua that counts',
  packages: ['nginx', 'libnginx-mod-http-lua'],
  needs: ['nginx', ...LUA_MODULES],
  isMeasuring: true,
  command: (spot) => {
    const http = `
  lua_package_path "${SOURCE_FOLDER}/peers/?.lua;;";
  init_worker_by_lua_block { record = require("nginx-record") }
  server {
    listen 127.0.0.1:${spot.monitorPort};
    location / { content_by_lua_block { record.tell() } }
  }
  ${createProxy(spot, 'log_by_lua_block { record.count() }')}`;
    return nginxCommand(spot.folder, http, LUA_MODULES.map((file) => `load_module ${file};`).join('\n'));
  },
  countCalls: async ({ monitorPort }) => {
    const text = await (await fetch(`http://127.0.0.1:${monitorPort}/`)).text();
    return Number(/^calls (\d+)$/m.exec(text)?.[1]);
  },
};

/** The upstream: the small answer to everything, and files for large ones. */
export function nginxUpstream({ port, folder }: Spot): Command {
  writeFileSync(path.join(folder, 'answer-1m'), ANSWER_1M);
  const server = `
  default_type application/json;
  server {
    listen 127.0.0.1:${port} backlog=4096;
    root ${folder};
    location / { return 200 '${SMALL_ANSWER}'; }
    location ~ Answer1M { try_files /answer-1m =404; }
  }`;
  return nginxCommand(folder, server);
}

/** As most sites have it: HTTP/1.0 to what stands behind it, with a connection for each request. */
export function nginxFront({ port, upstreamPort, folder }: Spot): Command {
  const server = `
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / { proxy_pass http://127.0.0.1:${upstreamPort}; }
  }`;
  return nginxCommand(folder, server);
}

/** `tls`: the directives of a server with TLS. */
function createProxy({ port, upstreamPort }: Spot, location: string, tls = ''): string {
  return `
  upstream upstream_server {
    server 127.0.0.1:${upstreamPort};
    keepalive 256;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096${tls === '' ? '' : ' ssl'};
    ${tls}
    client_max_body_size 0;
    location / { ${location} ${PROXY} }
  }`;
}

function nginxCommand(folder: string, http: string, modules = ''): Command {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const text = `
${modules}
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid ${folder}/nginx.pid;
error_log stderr error;
events { worker_connections 16384; }
http {
  access_log off;
  sendfile on;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  ${http}
}
`;
  return withFile('nginx', path.join(folder, 'nginx.conf'), text, '-p', folder, '-e', 'stderr', '-c');
}

const HAPROXY: Peer = {
  name: 'haproxy',
  title: 'haproxy',
  packages: ['haproxy'],
  command: ({ port, upstreamPort, folder }) => {
    const text = `
global
  nbthread 1
  maxconn 8000
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  http-reuse always
  option forwardfor
frontend clients
  bind 127.0.0.1:${port} backlog 4096
  http-request set-header X-Forwarded-Proto http
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  default_backend servers
backend servers
  server upstream 127.0.0.1:${upstreamPort}
`;
    return withFile('haproxy', path.join(folder, 'haproxy.cfg'), text, '-db', '-f');
  },
};

const CADDY: Peer = {
  name: 'caddy',
  title: 'caddy with metrics',
  packages: ['caddy'],
  command: ({ port, monitorPort, upstreamPort, folder }) => {
    const text = `
{
  admin 127.0.0.1:${monitorPort}
  auto_https off
  servers {
    metrics
  }
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy 127.0.0.1:${upstreamPort}
}
`;
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    const command = withFile(
      'caddy',
      path.join(folder, 'Caddyfile'),
      text,
      'run',
      '--adapter',
      'caddyfile',
      '--config',
    );
    return { ...command, env };
  },
};

/** A program whose last argument is the file of its configuration. */
function withFile(program: string, file: string, text: string, ...args: readonly string[]): Command {
  writeFileSync(file, text);
  return { file: findFile(program) ?? program, args: [...args, file] };
}

/** In the order of tables and rounds: the sidecar's closest rivals are next to it, since the machine changes within seconds. */
export const ALL_PEERS: readonly Peer[] = [
  ...[NGINX, HAPROXY, NGINX_LUA, node.RAW_RELAY, node.SIDECAR, ...node.OTHER_BUILD],
  ...[node.UNMEASURED_SIDECAR, node.UNDICI_PROXY, CADDY, node.HTTP_PROXY],
];

/** Those that speak TLS 1.3 to clients, with the cipher that OpenSSL prefers, and plain HTTP to the upstream. */
export const TLS_PEERS: readonly Peer[] = [NGINX_TLS, node.TLS_SIDECAR, ...node.OTHER_TLS_BUILD];
