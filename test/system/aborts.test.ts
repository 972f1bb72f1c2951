import { once } from 'node:events';
import net from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { playsAll } from '../support/effort.ts';
import { listening, portOf } from '../support/net.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { openSockets, residentBytes } from './process-figures.ts';
import { type Stand, startStand } from './wire/stand.ts';

const ABORTS = playsAll ? 10_000 : 1_000;
const AT_ONCE = 50;
const MOST_ROUNDS = 5;
const ROUND_GROWTH_BYTES = 5 * 1024 * 1024;

function request(id: number): string {
  return `POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/Held HTTP/1.1\r\nHost: a\r\nX-Id: ${id}\r\nContent-Length: 2\r\n\r\n[]`;
}

const cleanUps: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

/** An upstream that never answers, and emits `request <id>` for each received request. */
async function silentUpstream(): Promise<{ port: number; server: net.Server }> {
  const server = net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => server.emit(`request ${/X-Id: (\d+)/.exec(bytes.toString('latin1'))?.[1]}`));
  });
  // `once` below listens for errors as well, once per client.
  server.setMaxListeners(0);
  cleanUps.push(() => server.close());
  await listening(server);
  return { port: (server.address() as net.AddressInfo).port, server };
}

/** Opens `count` clients that send a request and leave once the upstream has it: half close, half reset. */
async function abort(port: number, upstream: net.Server, count: number): Promise<void> {
  let begun = 0;
  const one = async (id: number) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    const arrival = once(upstream, `request ${id}`);
    socket.write(request(id));
    await arrival;
    if (id % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  };
  const worker = async () => {
    while (begun < count) {
      begun += 1;
      await one(begun);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

it.each(['auto', 'gateway'] as const)(
  `${ABORTS} aborted requests are all accounted for and leave nothing open (dataPath %s)`,
  { timeout: 120_000 },
  async (dataPath) => {
    const { port, server } = await silentUpstream();
    const stand: Stand = await startStand({
      config: ({ upstream }) => ({ dataPath, upstream: { ...upstream, port } }),
    });
    cleanUps.push(() => stand.close());
    await abort(stand.port, server, ABORTS);
    const { sidecar } = stand;
    await expect.poll(() => sidecar.openExchanges, { timeout: 10_000 }).toBe(0);
    await expect.poll(() => sidecar.dispatcher.openConnections, { timeout: 10_000 }).toBe(0);
    await expect.poll(() => connectionsOf(server), { timeout: 10_000 }).toBe(0);
    const { exchanges, aborted } = sidecar.recorder.own.read();
    const path = dataPath === 'auto' ? 'relay' : 'gateway';
    expect(exchanges[path]).toEqual({ completed: 0, failed: 0, cancelled: ABORTS, denied: 0 });
    expect(aborted.rpc).toBe(ABORTS);
    const [application] = sidecar.recorder.applications.values();
    const metrics = application?.statistics.rpc.metrics();
    expect([metrics?.timers.get('rpc')?.count, metrics?.meters.get('rpc.errors')?.count]).toEqual([0, 0]);
  },
);

// Tens of thousands of connections: a minute.
it.runIf(playsAll)('10,000 aborted requests leak no socket and no memory', { timeout: 120_000 }, async () => {
  const { port, server } = await silentUpstream();
  const sidecar: SidecarProcess = await startSidecarProcess(flagsFor(port));
  cleanUps.push(() => sidecar.stop());
  const listen = portOf(sidecar.listen);
  const socketsBefore = openSockets(sidecar.pid);
  // The first rounds fill what grows once: compiled code, pools, the heap's generations. A leak grows in every round: by over
  // 100 MB if connections were kept, by over 5 MB for one closure per connection.
  let growth = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MOST_ROUNDS && growth >= ROUND_GROWTH_BYTES; round += 1) {
    const before = residentBytes(sidecar.pid);
    await abort(listen, server, 10_000);
    growth = residentBytes(sidecar.pid) - before;
  }
  expect(growth).toBeLessThan(ROUND_GROWTH_BYTES);
  await expect.poll(() => openSockets(sidecar.pid), { timeout: 10_000 }).toBe(socketsBefore);
});

function connectionsOf(server: net.Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  );
}
