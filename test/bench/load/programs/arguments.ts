/** The arguments of the Node programs: `node raw-relay.js <port> <upstream port>`. */
export function readPorts(): { readonly port: number; readonly upstreamPort: number } {
  const [port, upstreamPort] = process.argv.slice(2).map(Number);
  return { port: port ?? 0, upstreamPort: upstreamPort ?? 0 };
}

export const HOST = '127.0.0.1';

/** Like the sidecar's own (`timeouts.idle`), so that idle connections stay open in every peer. */
export const IDLE_TIMEOUT_MS = 300_000;
export const BACKLOG = 4_096;
