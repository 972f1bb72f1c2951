import { once } from 'node:events';
import net from 'node:net';
import { expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { residentBytes } from '../support/load/proc.ts';
import { listening, portOf } from '../support/net.ts';
import { flagsFor, startSidecarProcess } from '../support/sidecar-process.ts';

const GIGABYTE = 1024 ** 3;
const PIECE = Buffer.alloc(256 * 1024, 'd2');
/**
 * The sidecar holds at most what its socket buffers hold, some 100 KB. The rest is garbage between two collections: V8 lets
 * about 64 MB of buffers accumulate before it collects, however much passes.
 */
const MAX_GROWTH_BYTES = 100 * 1024 * 1024;

/** Writes `bytes` bytes as fast as the other side accepts them. */
async function pour(socket: net.Socket, bytes: number): Promise<void> {
  for (let left = bytes; left > 0; left -= PIECE.length) {
    if (!socket.write(PIECE.subarray(0, Math.min(left, PIECE.length)))) await once(socket, 'drain');
  }
}

/** Reads until `bytes` bytes have arrived. */
async function drink(socket: net.Socket, bytes: number): Promise<void> {
  let read = 0;
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    read += (piece as Buffer).length;
    if (read >= bytes) return;
  }
  throw new Error(`only ${read} of ${bytes} bytes have come`);
}

/** A sidecar process in the middle of one exchange, whose heads have passed. */
async function exchange(request: string, response: string) {
  const server = net.createServer();
  const port = await listening(server);
  const sidecar = await startSidecarProcess(flagsFor(port));
  const client = net.connect(portOf(sidecar.listen), '127.0.0.1');
  const coming = once(server, 'connection');
  client.write(request);
  const [upstream] = (await coming) as [net.Socket];
  upstream.write(response);
  untilTestEnds(async () => {
    for (const socket of [client, upstream]) socket.destroy();
    server.close();
    await sidecar.stop();
  });
  await once(client, 'readable');
  await once(upstream, 'readable');
  client.read();
  upstream.read();
  return { client, upstream, sidecar };
}

/** Largest growth of the process during `work`. */
async function growthDuring(pid: number, work: Promise<unknown>): Promise<number> {
  const resident = () => residentBytes(pid) ?? 0;
  const before = resident();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, resident());
  }, 20);
  await work;
  clearInterval(timer);
  return most - before;
}

const LENGTH = `Content-Length: ${GIGABYTE}`;

it.each([
  ['response', 'GET /big HTTP/1.1\r\nHost: a\r\n\r\n', `HTTP/1.1 200 OK\r\n${LENGTH}\r\n\r\n`],
  ['request', `POST /big HTTP/1.1\r\nHost: a\r\n${LENGTH}\r\n\r\n`, 'HTTP/1.1 102 Processing\r\n\r\n'],
])('a %s of 1 GB passes in constant memory', { timeout: 120_000 }, async (what, request, response) => {
  const { client, upstream, sidecar } = await exchange(request, response);
  const [from, to] = what === 'request' ? [client, upstream] : [upstream, client];
  const growth = await growthDuring(sidecar.pid, Promise.all([pour(from, GIGABYTE), drink(to, GIGABYTE)]));
  expect(growth).toBeLessThan(MAX_GROWTH_BYTES);
});
