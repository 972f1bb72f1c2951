/**
 * Calls whose clients pause, and whose server waits, on real sockets, with a clock that moves only then: the duration is
 * exactly the server's wait, and the client wait exactly what the client did. The first byte comes after both, before the answer is read.
 */
import { once } from 'node:events';
import type net from 'node:net';
import { expect, it } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { untilTestEnds } from '../support/deferred.ts';
import { startStand } from '../support/wire/stand.ts';

const MB = 1_000_000;
/** Turns of the event loop, which sidecar, server and client share, in which nothing moved. */
const STILL_TURNS = 100;

/** `reading`: pauses of a client that does not read meanwhile. `continueMs`: how long the server takes for a 100. */
interface Pauses {
  readonly continueMs?: number;
  readonly reading?: readonly number[];
}

const CALLS: [what: string, uploadBytes: number, sending: readonly [number, number], pauses: Pauses][] = [
  ['does not pause', 2, [0, 0], {}],
  ['pauses after the head, and in the middle of a small body', 20_000, [1_700, 300], {}],
  ['sends its body after a 100', 20_000, [10, 20], { continueMs: 900 }],
  ['pauses in a large body', 20 * MB, [0, 2_900], {}],
  ['stops reading, once or again', 2, [0, 0], { reading: [700, 1, 2_500] }],
  ['does all of this', 5 * MB, [1, 1_000], { continueMs: 50, reading: [3_000, 20] }],
];
const SERVER_MS = 1_234;

/** Zero means that there is no moment. */
const clock = new ManualClock({ startNs: 1_000_000_000 });

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** With turns in which the sidecar learns that its bytes were taken. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
  for (let turns = 0; turns < 5; turns += 1) await turn();
}

/** Until the server cannot write any more, since the client does not read. */
async function untilBlocked(server: net.Socket): Promise<void> {
  for (let still = 0, last = -1; still < STILL_TURNS; still += 1) {
    if (server.writableLength !== last) still = 0;
    last = server.writableLength;
    await turn();
  }
  expect(server.writableLength).toBeGreaterThan(0);
}

it.each(CALLS)(
  'the duration of a call whose client %s is what the server took, and its client wait what the client did',
  async (_what, uploadBytes, [afterHead, inBody], { continueMs, reading = [] }) => {
    const stand = await startStand({ clock }, untilTestEnds);
    const expectLine = continueMs === undefined ? '' : 'Expect: 100-continue\r\n';
    const fields = `Host: a\r\nAuthorization: Basic YTpi\r\nContent-Length: ${uploadBytes}\r\n${expectLine}Connection: close\r\n`;
    const connecting = stand.nextUpstream();
    const { socket: client } = await stand.connect();
    client.write(`POST /smartWeb/api/rest/v0/d2/rpc/E.Pauses/Call HTTP/1.1\r\n${fields}\r\n`);
    const server = await connecting;
    let head = '';
    server.on('data', (bytes: Buffer) => {
      if (!head.includes('\r\n\r\n')) head += bytes.toString('latin1');
    });
    await until(() => head.includes('\r\n\r\n'));
    const headBytes = server.bytesRead;
    if (continueMs !== undefined) {
      clock.advanceMs(continueMs);
      server.write('HTTP/1.1 100 Continue\r\n\r\n');
      await once(client, 'data');
    }
    const half = uploadBytes / 2;
    clock.advanceMs(afterHead);
    client.write(Buffer.alloc(half, 'u'));
    await until(() => server.bytesRead === headBytes + half);
    clock.advanceMs(inBody);
    client.write(Buffer.alloc(half, 'u'));
    await until(() => server.bytesRead === headBytes + uploadBytes);
    clock.advanceMs(SERVER_MS);
    let taken = 0;
    client.on('data', (bytes: Buffer) => (taken += bytes.length));
    // More than the buffers of all sockets between server and client, so that a client that stops reading stops the server.
    const downloadBytes = 18 * MB;
    server.write(`HTTP/1.1 200 OK\r\nContent-Length: ${downloadBytes}\r\nConnection: close\r\n\r\n`);
    if (reading.length > 0) client.pause();
    server.end(Buffer.alloc(downloadBytes, 'd'));
    for (const [nth, pauseMs] of reading.entries()) {
      await untilBlocked(server);
      clock.advanceMs(pauseMs);
      client.resume();
      const wanted = taken + (nth + 1) * 100_000;
      while (taken < wanted) await turn();
      if (nth < reading.length - 1) client.pause();
    }
    if (!client.destroyed) await once(client.resume(), 'end');
    expect(taken).toBeGreaterThan(downloadBytes);
    client.destroy();
    const serverS = (SERVER_MS + (continueMs ?? 0)) / 1e3;
    const sendingS = (afterHead + inBody) / 1e3;
    const clientWait = sendingS + reading.reduce((sum, ms) => sum + ms, 0) / 1e3;
    const [call] = await stand.read<Record<string, unknown>[]>('d2/calls/slowest');
    expect(call).toMatchObject({
      outcome: 'ok',
      duration: expect.closeTo(serverS, 6),
      clientWait: expect.closeTo(clientWait, 6),
      firstByte: expect.closeTo(serverS + sendingS, 6),
    });
  },
);
