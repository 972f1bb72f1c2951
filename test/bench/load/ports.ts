import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 2;
const LISTEN_TIMEOUT_MS = 15_000;

export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => server.listening || once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as net.AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Waits until somebody accepts connections, by default on a port; throws when `hasEnded` returns true, or after 15 s. */
export async function untilListening(at: number | net.NetConnectOpts, hasEnded: () => boolean): Promise<void> {
  const address = typeof at === 'number' ? { port: at, host: '127.0.0.1' } : at;
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
