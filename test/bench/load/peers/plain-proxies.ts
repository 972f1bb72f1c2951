import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Command } from '../processes.ts';
import { certificateIn, findFile, type Peer, type Spot } from './peer.ts';

export const HAPROXY: Peer = {
  name: 'haproxy',
  title: 'haproxy',
  packages: ['haproxy'],
  command: (spot) => haproxyCommand(spot, ''),
};

export const HAPROXY_TLS: Peer = {
  ...HAPROXY,
  command: (spot) => {
    const { certFile, keyFile } = certificateIn(spot.folder);
    const bothFile = path.join(spot.folder, 'both.pem');
    writeFileSync(bothFile, readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'));
    return haproxyCommand(spot, `ssl crt ${bothFile} ssl-min-ver TLSv1.3`);
  },
};

/** `tls`: options of `bind` for TLS. */
function haproxyCommand({ port, upstreamPort, folder }: Spot, tls: string): Command {
  const file = path.join(folder, 'haproxy.cfg');
  writeFileSync(
    file,
    `
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
  bind 127.0.0.1:${port} backlog 4096 ${tls}
  http-request set-header X-Forwarded-Proto ${tls === '' ? 'http' : 'https'}
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  default_backend servers
backend servers
  server upstream 127.0.0.1:${upstreamPort}
`,
  );
  return { file: findFile('haproxy') ?? 'haproxy', args: ['-db', '-f', file] };
}

export const CADDY: Peer = {
  name: 'caddy',
  title: 'caddy with metrics',
  packages: ['caddy'],
  command: ({ port, monitorPort, upstreamPort, folder }) => {
    const file = path.join(folder, 'Caddyfile');
    writeFileSync(
      file,
      `
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
`,
    );
    const env = { HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    return { file: findFile('caddy') ?? 'caddy', args: ['run', '--config', file, '--adapter', 'caddyfile'], env };
  },
};
