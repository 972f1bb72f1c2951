import { NGINX, NGINX_LUA, NGINX_TLS } from './nginx.ts';
import {
  HTTP_PROXY,
  OTHER_BUILD,
  RAW_RELAY,
  SIDECAR,
  TLS_OTHER_BUILD,
  TLS_SIDECAR,
  UNDICI_PROXY,
  UNMEASURED_SIDECAR,
} from './node-peers.ts';
import type { Peer } from './peer.ts';
import { CADDY, HAPROXY, HAPROXY_TLS } from './plain-proxies.ts';

/** In the order of tables and rounds: the sidecar's closest rivals are next to it, since the machine changes within seconds. */
export const ALL_PEERS: readonly Peer[] = [
  NGINX,
  HAPROXY,
  NGINX_LUA,
  RAW_RELAY,
  SIDECAR,
  ...OTHER_BUILD,
  UNMEASURED_SIDECAR,
  UNDICI_PROXY,
  CADDY,
  HTTP_PROXY,
];

/** Those that speak TLS 1.3 to clients, with the cipher that OpenSSL prefers, and plain HTTP to the upstream. */
export const TLS_PEERS: readonly Peer[] = [NGINX_TLS, HAPROXY_TLS, TLS_SIDECAR, ...TLS_OTHER_BUILD];
