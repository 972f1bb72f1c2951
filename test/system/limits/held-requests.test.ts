/** What a request that waits for its answer keeps: not its head, and all of it is in `kept_bytes`. */
import type net from 'node:net';
import { expect, it, vi } from 'vitest';
import { untilTestEnds } from '../../support/deferred.ts';
import { usedBytes } from '../../support/garbage.ts';
import { turns } from '../../support/wire/split-writer.ts';
import { startStand } from '../../support/wire/stand.ts';
import { SWITCHING } from '../faults/fault-stand.ts';

const REQUESTS = 200;
const PAD = 'x'.repeat(55_000);
/** Both sockets, their peers in this process, and the observation; a head would come on top. */
const MAX_BYTES = 24_000;
const BASE = '/smartWeb/api/rest/v0';
const user = Buffer.from(`${PAD.slice(0, 40_000)}:secret`).toString('base64');

const requestOf = (line = '', fields = '', body = '') =>
  Buffer.from(`${line} HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n${body}`, 'latin1');

const KINDS: readonly (readonly [what: string, line: string, fields: string, body?: string])[] = [
  ['a call', `POST ${BASE}/d2/rpc/E.Demo/Test`, `X-Pad: ${PAD}`],
  ['a call with a long name', `POST ${BASE}/d2/rpc/E.Demo/${PAD}`, 'X-Pad: x'],
  ['a call of a long user', `POST ${BASE}/d2/rpc/E.Demo/Test`, `Authorization: Basic ${user}`],
  ['a page with a long path', `GET /${PAD}`, 'X-Pad: x'],
  ['Comet with a long type', 'POST /smartWeb/api/cometd', `Content-Type: ${PAD}\r\nContent-Length: 2`, '[]'],
  ['Comet with a long callback', `GET /smartWeb/api/cometd?message=%5B%5D&jsonp=${PAD}`, 'X-Pad: x'],
];

it.each(KINDS)('a held request keeps what it needs, not its head: %s', async (_, line, fields, body) => {
  /** Counts the heads that have come and keeps nothing. */
  let heads = 0;
  const onConnection = (socket: net.Socket): void => {
    let last = Buffer.alloc(0);
    socket.on('data', (bytes: Buffer) => {
      const joined = Buffer.concat([last, bytes]);
      if (joined.includes('\r\n\r\n')) heads += 1;
      last = Buffer.from(joined.subarray(-3));
    });
  };
  const stand = await startStand({ onConnection }, untilTestEnds);
  const request = requestOf(line, fields, body);
  const hold = async (count: number) => {
    for (let i = 0; i < count; i += 1) stand.client().socket.write(request);
    const wanted = heads + count;
    while (heads < wanted) await turns(1);
    await turns(3);
  };
  // Everything that is created once.
  await hold(5);
  const before = await usedBytes();
  await hold(REQUESTS);
  const { running, bodies } = stand.sidecar.recorder.memory.used;
  // The query of a Comet request is a body.
  expect(((await usedBytes()) - before - bodies) / REQUESTS).toBeLessThan(MAX_BYTES);
  expect(running).toBeGreaterThanOrEqual(1_024 * REQUESTS);
  expect(running).toBeLessThanOrEqual(4_096 * (REQUESTS + 5));
  await stand.close();
  await vi.waitFor(() => expect(stand.sidecar.recorder.memory.used.running).toBe(0));
});

const UPLOADS = 20;
const PIECES = 50_000;
const CHUNKS = '1\r\nx\r\n'.repeat(PIECES);
/** Two reads of 64 kB, and the objects of a connection. One object for each chunk would be 4 MB and more. */
const UPLOAD_BYTES = 150_000;
/** All sockets of both ends; on Node 26 up to 43 kB. A head of 55 kB would come on top. */
const WEBSOCKET_BYTES = 50_000;

it.each([
  ['an upload in absolute form', 'POST http://a/x', 'Transfer-Encoding: chunked', CHUNKS, UPLOAD_BYTES],
  ['an open WebSocket', 'GET /ws', `Connection: Upgrade\r\nUpgrade: websocket\r\nX-Pad: ${PAD}`, '', WEBSOCKET_BYTES],
])('%s keeps little, however many chunks or fields it has', async (_, line, fields, body, maxBytes) => {
  const onConnection = (socket: net.Socket): void => {
    socket.once('data', () => {
      if (body === '') socket.write(SWITCHING);
      else socket.pause();
    });
  };
  const stand = await startStand({ onConnection }, untilTestEnds);
  const request = requestOf(line, fields, body);
  const send = async (count: number) => {
    for (let i = 0; i < count; i += 1) stand.client().socket.write(request);
    await turns(300);
  };
  // As many as are measured: what is created once, such as free buffers, depends on their number.
  await send(UPLOADS);
  const before = await usedBytes();
  await send(UPLOADS);
  expect(((await usedBytes()) - before) / UPLOADS).toBeLessThan(maxBytes);
});
