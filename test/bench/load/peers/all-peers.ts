/** In the order of the tables. */
import { NGINX, NGINX_LUA } from './nginx.ts';
import { GATEWAY_SIDECAR, HTTP_PROXY, RAW_RELAY, SIDECAR, UNDICI_PROXY, UNMEASURED_SIDECAR } from './node-peers.ts';
import type { Peer } from './peer.ts';
import { CADDY, HAPROXY } from './plain-proxies.ts';

export const ALL_PEERS: readonly Peer[] = [
  RAW_RELAY,
  NGINX,
  NGINX_LUA,
  HAPROXY,
  SIDECAR,
  UNMEASURED_SIDECAR,
  GATEWAY_SIDECAR,
  UNDICI_PROXY,
  CADDY,
  HTTP_PROXY,
];
