import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Lets the server listen on a free port of 127.0.0.1; resolves with the port. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** The port of `host:port`. */
export function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
