/**
 * Calls whose clients pause at random and whose server waits at random: the duration is the server's wait, and the client wait is what the
 * client did. Both are compared with what this process has measured. Large calls have the machine to themselves.
 */
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { jsonOf, startConfigured } from '../support/configured-sidecar.ts';
import { deferTo } from '../support/deferred.ts';
import { playsAll } from '../support/effort.ts';
import { Random } from '../support/fuzz/random.ts';
import { toHead } from '../support/load/heads.ts';
import { basic } from '../support/monitor/access/access-files.ts';
import { listening, portOf } from '../support/net.ts';

const CALLS = playsAll ? 1_000 : 100;
/** Small calls that run at once. */
const LANES = 8;
/** One call in so many is large. */
const LARGE_EVERY = 20;
const SEED = 20_261_126;
const MB = 1_000_000;
/** More than the buffers of all sockets between server and client, so that a client that stops reading stops the server. */
const OVERFLOWING_BYTES = 18 * MB;
const ANNA = basic('anna', 'secret');

const SMALL_KINDS = ['before', 'within', 'both', 'expect', 'none'] as const;
const LARGE_KINDS = ['reads', 'stops', 'within', 'expect'] as const;

interface Plan {
  readonly name: string;
  readonly kind: (typeof SMALL_KINDS | typeof LARGE_KINDS)[number];
  readonly uploadBytes: number;
  readonly downloadBytes: number;
  readonly serverMs: number;
  readonly pauseMs: number;
}

interface Measured {
  serverMs: number;
  clientMs: number;
}

interface SlowestCall {
  readonly name: string;
  readonly duration: number;
  readonly clientWait: number;
  readonly outcome: string;
}

const defer = deferTo(afterAll);
const measured = new Map<string, Measured>();

async function pause(ms: number): Promise<number> {
  const began = performance.now();
  await wait(ms);
  return performance.now() - began;
}

/** Answers `downloadBytes` after a wait that begins with the end of the body; waits as long before a 100. */
function serve(plans: ReadonlyMap<string, Plan>): http.Server {
  const answer = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const name = (request.url ?? '').replace(/^.*\//, '');
    const plan = plans.get(name);
    const times = measured.get(name);
    if (plan === undefined || times === undefined) return void response.writeHead(404).end();
    if (request.headers.expect !== undefined) {
      times.serverMs += await pause(plan.serverMs);
      response.writeContinue();
    }
    await once(request.resume(), 'end');
    times.serverMs += await pause(plan.serverMs);
    response.writeHead(200, { 'content-length': plan.downloadBytes }).end(Buffer.alloc(plan.downloadBytes, 'd'));
  };
  return http.createServer(answer).on('checkContinue', answer);
}

function createPlan(random: Random, nth: number, kind: Plan['kind'], maxBytes: number): Plan {
  const isRead = kind === 'reads' || kind === 'stops';
  return {
    ...{ name: `N${nth}`, kind, serverMs: random.below(300), pauseMs: 50 + random.below(400) },
    uploadBytes: 2 + random.below(isRead ? 1 : maxBytes),
    downloadBytes: isRead ? OVERFLOWING_BYTES + random.below(2 * MB) : 1 + random.below(maxBytes),
  };
}

async function write(socket: net.Socket, bytes: number): Promise<void> {
  if (bytes > 0 && !socket.write(Buffer.alloc(bytes, 'u'))) await once(socket, 'drain');
}

async function play(port: number, { name, kind, uploadBytes, pauseMs, downloadBytes }: Plan): Promise<void> {
  const times: Measured = { serverMs: 0, clientMs: 0 };
  measured.set(name, times);
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const fields = { Authorization: ANNA, 'Content-Type': 'application/json', 'Content-Length': uploadBytes };
  const more = { Connection: 'close', ...(kind === 'expect' && { Expect: '100-continue' }) };
  socket.write(toHead(`POST /smartWeb/api/rest/v0/d2/rpc/E.Pauses/${name}`, { ...fields, ...more }));
  if (kind === 'expect') await once(socket, 'data');
  if (kind === 'before' || kind === 'both' || kind === 'expect') times.clientMs += await pause(pauseMs);
  const half = Math.floor(uploadBytes / 2);
  await write(socket, half);
  if (kind === 'within' || kind === 'both') times.clientMs += await pause(pauseMs);
  await write(socket, uploadBytes - half);
  let received = 0;
  let pauses = kind === 'reads' ? 3 : kind === 'stops' ? 1 : 0;
  socket.on('data', async (bytes: Buffer) => {
    received += bytes.length;
    if (pauses === 0 || received > OVERFLOWING_BYTES / 100) return;
    pauses -= 1;
    socket.pause();
    times.clientMs += await pause(pauseMs);
    socket.resume();
  });
  await once(socket, 'close');
  expect(received).toBeGreaterThan(downloadBytes);
}

it(`the duration of ${CALLS} calls is what the server took, and their client wait what their clients did`, async () => {
  const random = new Random(SEED);
  const small: Plan[] = [];
  const large: Plan[] = [];
  for (let nth = 0; nth < CALLS; nth += 1) {
    if (nth % LARGE_EVERY === 0) large.push(createPlan(random, nth, random.pick(LARGE_KINDS), 20 * MB));
    else small.push(createPlan(random, nth, random.pick(SMALL_KINDS), 20_000));
  }
  const plans = new Map([...small, ...large].map((plan) => [plan.name, plan]));
  const server = serve(plans);
  const port = await listening(server);
  defer(() => server.close());
  const { listen, monitor } = await startConfigured(defer, `http://127.0.0.1:${port}/smartWeb`, {
    ...{ calls: { slowest: CALLS }, jvm: { source: 'none' } },
  });
  const queue = small.values();
  const lane = async () => {
    for (const plan of queue) await play(portOf(listen), plan);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  for (const plan of large) await play(portOf(listen), plan);
  const slowest = await jsonOf<SlowestCall[]>(`http://${monitor}/smartWeb/api/rest/v0/admin/d2/calls/slowest`);
  expect(slowest.map(({ outcome }) => outcome)).toEqual(Array(CALLS).fill('ok'));
  const wrong = slowest.flatMap(({ name, duration, clientWait }) => {
    const method = name.replace('E.Pauses.', '');
    const plan = plans.get(method);
    const times = measured.get(method);
    if (plan === undefined || times === undefined) return [`${name} was never called`];
    const toleranceMs = 20 + 10 * ((plan.uploadBytes + plan.downloadBytes) / MB);
    const check = (what: string, seconds: number, expectedMs: number) =>
      Math.abs(seconds * 1_000 - expectedMs) <= Math.max(toleranceMs, 0.02 * expectedMs)
        ? []
        : [
            `${plan.kind} ${plan.uploadBytes} ${plan.downloadBytes}: ${what} ${(seconds * 1_000).toFixed(1)}, not ${expectedMs.toFixed(1)} ms`,
          ];
    return [...check('duration', duration, times.serverMs), ...check('client wait', clientWait, times.clientMs)];
  });
  expect(wrong).toEqual([]);
}, 180_000);
