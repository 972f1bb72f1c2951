/**
 * Calls whose clients pause at random and whose server waits at random, on real sockets, with a clock that moves only then: the duration is
 * exactly the server's wait, and the client wait exactly what the client did. The first byte comes after both, before the answer is read.
 */
import { once } from 'node:events';
import type net from 'node:net';
import { expect, it } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { untilTestEnds } from '../support/deferred.ts';
import { playsAll } from '../support/effort.ts';
import { Random } from '../support/fuzz/random.ts';
import { type Stand, type StandOptions, startStand } from '../support/wire/stand.ts';

const CALLS = playsAll ? 1_000 : 200;
const LARGE_EVERY = 20;
const SEED = 20_261_126;
const MB = 1_000_000;
/** More than the buffers of all sockets between server and client, so that a client that stops reading stops the server. */
const OVERFLOWING_BYTES = 18 * MB;
/** Turns of the event loop, which sidecar, server and client share, in which nothing moved. */
const STILL_TURNS = 100;

interface Plan {
  readonly name: string;
  readonly uploadBytes: number;
  readonly downloadBytes: number;
  readonly serverMs: number;
  /** The client sends its body after a 100, for which the server takes this long. */
  readonly continueMs: number | undefined;
  /** Pauses after the head, and in the middle of the body. */
  readonly sendingPausesMs: readonly [number, number];
  /** Pauses of a client that does not read meanwhile. */
  readonly readingPausesMs: readonly number[];
}

type SlowestCall = Readonly<Record<'duration' | 'clientWait' | 'firstByte', number>> & {
  name: string;
  outcome: string;
};

/** Zero means that there is no moment. */
const clock = new ManualClock({ startNs: 1_000_000_000 });

function createPlan(random: Random, nth: number): Plan {
  const isLarge = nth % LARGE_EVERY === 0;
  const reads = isLarge ? random.below(4) : 0;
  const pause = () => (random.chance(0.5) ? 1 + random.below(3_000) : 0);
  const bytes = () => 1 + random.below(isLarge ? 20 * MB : 20_000);
  return {
    name: `N${nth}`,
    uploadBytes: 1 + bytes(),
    downloadBytes: reads > 0 ? OVERFLOWING_BYTES + random.below(2 * MB) : bytes(),
    serverMs: random.below(3_000),
    continueMs: random.chance(0.2) ? random.below(1_000) : undefined,
    sendingPausesMs: [pause(), pause()],
    readingPausesMs: Array.from({ length: reads }, () => 1 + random.below(3_000)),
  };
}

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

async function play(stand: Stand, plan: Plan): Promise<void> {
  const { name, uploadBytes, downloadBytes, serverMs, continueMs, sendingPausesMs, readingPausesMs } = plan;
  const expectLine = continueMs === undefined ? '' : 'Expect: 100-continue\r\n';
  const fields = `Host: a\r\nAuthorization: Basic YTpi\r\nContent-Length: ${uploadBytes}\r\n${expectLine}Connection: close\r\n`;
  const connecting = stand.nextUpstream();
  const { socket: client } = await stand.connect();
  client.write(`POST /smartWeb/api/rest/v0/d2/rpc/E.Pauses/${name} HTTP/1.1\r\n${fields}\r\n`);
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
  const half = Math.floor(uploadBytes / 2);
  clock.advanceMs(sendingPausesMs[0]);
  client.write(Buffer.alloc(half, 'u'));
  await until(() => server.bytesRead === headBytes + half);
  clock.advanceMs(sendingPausesMs[1]);
  client.write(Buffer.alloc(uploadBytes - half, 'u'));
  await until(() => server.bytesRead === headBytes + uploadBytes);
  clock.advanceMs(serverMs);
  let taken = 0;
  client.on('data', (bytes: Buffer) => {
    taken += bytes.length;
  });
  server.write(`HTTP/1.1 200 OK\r\nContent-Length: ${downloadBytes}\r\nConnection: close\r\n\r\n`);
  if (readingPausesMs.length > 0) client.pause();
  server.end(Buffer.alloc(downloadBytes, 'd'));
  for (const [nth, pauseMs] of readingPausesMs.entries()) {
    await untilBlocked(server);
    clock.advanceMs(pauseMs);
    client.resume();
    const wanted = taken + (nth + 1) * 100_000;
    while (taken < wanted) await turn();
    if (nth < readingPausesMs.length - 1) client.pause();
  }
  if (!client.destroyed) await once(client.resume(), 'end');
  expect(taken).toBeGreaterThan(downloadBytes);
  client.destroy();
}

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

it(`the duration of ${CALLS} calls is what the server took, and their client wait what their clients did`, async () => {
  const config: StandOptions['config'] = ({ calls }) => ({ calls: { ...calls, slowest: CALLS } });
  const stand = await startStand({ clock, config }, untilTestEnds);
  const random = new Random(SEED);
  const plans = Array.from({ length: CALLS }, (_, nth) => createPlan(random, nth));
  for (const plan of plans) await play(stand, plan);
  const slowest = await stand.read<SlowestCall[]>('d2/calls/slowest');
  const shown = new Map(slowest.map((call) => [call.name, call]));
  const wrong = plans.flatMap(({ name, serverMs, continueMs = 0, sendingPausesMs, readingPausesMs, ...bytes }) => {
    const { duration = 0, clientWait = 0, firstByte = 0, outcome } = shown.get(`E.Pauses.${name}`) ?? {};
    const counted = [outcome, ...[duration, clientWait, firstByte].map((seconds) => Math.round(seconds * 1e6) / 1e3)];
    const [serverSum, sendingSum] = [serverMs + continueMs, sum(sendingPausesMs)];
    const wanted = ['ok', serverSum, sendingSum + sum(readingPausesMs), serverSum + sendingSum];
    return counted.join() === wanted.join() ? [] : [{ ...bytes, continueMs, readingPausesMs, counted, wanted }];
  });
  expect(wrong).toEqual([]);
}, 180_000);
