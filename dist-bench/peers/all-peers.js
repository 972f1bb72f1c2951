/** In the order of the tables. */
import { NGINX, NGINX_LUA } from './nginx.js';
import { GATEWAY_SIDECAR, HTTP_PROXY, RAW_RELAY, SIDECAR, UNDICI_PROXY, UNMEASURED_SIDECAR } from './node-peers.js';
import { CADDY, HAPROXY } from './plain-proxies.js';
export const ALL_PEERS = [
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
