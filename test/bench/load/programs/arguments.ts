/** The arguments of the Node programs: `node raw-relay.js <port> <upstream port>`. */
import type net from 'node:net';

const [port, upstream] = process.argv.slice(2).map(Number);

export const HOST = '127.0.0.1';
export const UPSTREAM_PORT = upstream ?? 0;

/** Idle connections stay open for as long as the sidecar's own (`timeouts.idle`), and requests take as long as they want. */
export const HTTP_OPTIONS = { keepAliveTimeout: 300_000, requestTimeout: 0 };

export function listen(server: net.Server): void {
  server.listen({ port, host: HOST, backlog: 4_096 });
}
