import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const HOST = '127.0.0.1';
const POLL_MS = 2;
const LISTEN_TIMEOUT_MS = 15_000;

const reserved = new Set<number>();
/** Accepts the connections that reserve ports. */
let reserving: Promise<net.Server> | undefined;

/**
 * Ports of 127.0.0.1 without a listener. Until this process ends, no other program is given one of them when it asks for
 * any free port: each is the local end of a connection. A program that asks for the port by its number can listen.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listenAnywhere()));
  return Promise.all(
    servers.map(async (server) => {
      const port = portOf(server);
      await once(server.close(), 'close');
      await reservePort(port);
      return port;
    }),
  );
}

/** Keeps a port on which nobody listens from being given away until this process ends. */
export async function reservePort(port: number): Promise<void> {
  if (reserved.has(port)) return;
  reserved.add(port);
  reserving ??= listenAnywhere();
  const holder = net.connect({ host: HOST, port: portOf(await reserving), localPort: port });
  await once(holder.unref(), 'connect');
}

async function listenAnywhere(): Promise<net.Server> {
  const server = net.createServer((socket) => void socket.unref().on('error', () => undefined));
  await once(server.listen(0, HOST).unref(), 'listening');
  return server;
}

const portOf = (server: net.Server): number => (server.address() as net.AddressInfo).port;

/** Waits until somebody accepts connections, by default on a port; throws when `hasEnded` returns true, or after 15 s. */
export async function untilListening(at: number | net.NetConnectOpts, hasEnded: () => boolean): Promise<void> {
  const address = typeof at === 'number' ? { port: at, host: HOST } : at;
  const deadline = performance.now() + LISTEN_TIMEOUT_MS;
  while (!(await canConnect(address))) {
    if (hasEnded()) throw new Error('ended before it listened');
    if (performance.now() > deadline) throw new Error(`does not listen after ${LISTEN_TIMEOUT_MS} ms`);
    await sleep(POLL_MS);
  }
}

function canConnect(address: net.NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(address);
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
