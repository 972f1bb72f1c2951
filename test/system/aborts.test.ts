import { once } from 'node:events';
import net from 'node:net';
import { expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { playsAll } from '../support/effort.ts';
import { usedBytes } from '../support/garbage.ts';
import { type Stand, startStand } from '../support/wire/stand.ts';

const ABORTS = playsAll ? 5_000 : 1_000;
const AT_ONCE = 50;
/** A closure for each connection is more. */
const BYTES_PER_ABORT = 250;
const MOST_ROUNDS = 5;

let stand: Stand;

/** An upstream that never answers, and tells `arrived` of each request. */
const arrivals = new Map<number, () => void>();
function onConnection(socket: net.Socket): void {
  socket.on('data', (bytes) => arrivals.get(Number(/X-Id: (\d+)/.exec(bytes.toString('latin1'))?.[1]))?.());
  socket.on('end', () => socket.end());
}

async function abort(): Promise<void> {
  let begun = 0;
  const work = async () => {
    while (begun < ABORTS) {
      begun += 1;
      const id = begun;
      const arrival = new Promise<void>((resolve) => void arrivals.set(id, resolve));
      const socket = net.connect(stand.port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      const head = 'POST /smartWeb/api/rest/v0/d2/rpc/E.Demo/Held HTTP/1.1\r\nHost: a';
      socket.write(`${head}\r\nX-Id: ${id}\r\nContent-Length: 2\r\n\r\n[]`);
      await arrival;
      arrivals.delete(id);
      if (id % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await expect.poll(() => stand.sidecar.reporter.open, { timeout: 10_000 }).toBe(0);
  await expect.poll(() => stand.sidecar.dispatcher.openConnections, { timeout: 10_000 }).toBe(0);
  await expect.poll(() => stand.upstreams.every(({ destroyed }) => destroyed), { timeout: 10_000 }).toBe(true);
  (stand.upstreams as net.Socket[]).length = 0;
}

it(`${ABORTS} aborted requests are all accounted for, and leave nothing open and no memory`, {
  timeout: 120_000,
}, async () => {
  stand = await startStand({ onConnection }, untilTestEnds);
  await abort();
  const { exchanges, aborted } = stand.sidecar.recorder.own;
  expect(exchanges).toEqual({ completed: 0, failed: 0, cancelled: ABORTS, denied: 0 });
  expect(aborted.rpc).toBe(ABORTS);
  const { timers, meters } = await stand.read<Record<string, Record<string, { count: number }>>>('metrics/d2/rpc');
  expect([timers?.rpc?.count, meters?.['rpc.errors']?.count]).toEqual([0, 0]);
  // The first rounds fill what grows once: compiled code, pools. A leak grows in every round.
  let growth = Number.POSITIVE_INFINITY;
  for (let round = 0; round < MOST_ROUNDS && growth > ABORTS * BYTES_PER_ABORT; round += 1) {
    const before = await usedBytes();
    await abort();
    growth = (await usedBytes()) - before;
  }
  expect(growth).toBeLessThanOrEqual(ABORTS * BYTES_PER_ABORT);
});
