/** The event loop is blocked for longer than a time limit, while the other side has met the limit in time. */
import { once } from 'node:events';
import net from 'node:net';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { FaultHarness, GET, OK } from './fault-stand.ts';

const LIMIT_MS = 150;

/** Both ends, on an event loop of their own: listens, reports each head, and sends on either side on command. */
const ENDS = `
const net = require('node:net');
const { parentPort } = require('node:worker_threads');
let upstream, client;
const server = net.createServer((socket) => {
  upstream = socket;
  socket.on('error', () => {});
  socket.on('data', () => parentPort.postMessage({ came: true }));
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage({ port: server.address().port }));
parentPort.on('message', ({ answer, connect, send }) => {
  if (answer !== undefined) upstream.write(answer);
  if (connect !== undefined) {
    client = net.connect(connect, '127.0.0.1', () => parentPort.postMessage({ connected: true }));
    client.on('error', () => {});
    client.on('data', (bytes) => parentPort.postMessage({ received: bytes.toString('latin1') }));
  }
  if (send !== undefined) client.write(send);
});
`;

interface Told {
  readonly port?: number;
  readonly came?: boolean;
  readonly connected?: boolean;
  readonly received?: string;
}

let worker: Worker;
let port: number;
let harness: FaultHarness;
let received = '';

beforeEach(async () => {
  received = '';
  worker = new Worker(ENDS, { eval: true });
  worker.on('message', (told: Told) => {
    received += told.received ?? '';
  });
  port = (await told('port')).port as number;
});

afterEach(async () => {
  vi.restoreAllMocks();
  await worker.terminate();
  await harness.close();
});

async function told(what: keyof Told): Promise<Told> {
  for (;;) {
    const [message] = (await once(worker, 'message')) as [Told];
    if (message[what] !== undefined) return message;
  }
}

async function start(dataPath: Config['dataPath'], more: (base: Config) => Partial<Config>): Promise<void> {
  harness = await FaultHarness.start({
    dataPath,
    config: (base) => {
      const changed = more(base);
      return { ...changed, upstream: { ...base.upstream, ...changed.upstream, port } };
    },
  });
  const connected = told('connected');
  worker.postMessage({ connect: harness.stand.port });
  await connected;
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe.each(['auto', 'gateway'] as const)('dataPath %s: a blocked event loop', (dataPath) => {
  it('does not time out a connection that was established in time', async () => {
    await start(dataPath, ({ upstream }) => ({ upstream: { ...upstream, connectTimeoutMs: LIMIT_MS } }));
    const { connect } = net.Socket.prototype;
    const connecting = new Promise<void>((resolve) => {
      vi.spyOn(net.Socket.prototype, 'connect').mockImplementationOnce(function (this: net.Socket, ...parameters) {
        // In the turn of the connect call, so that the connection is established when the loop looks again.
        setImmediate(() => {
          block(2 * LIMIT_MS);
          resolve();
        });
        return connect.apply(this, parameters);
      });
    });
    worker.postMessage({ send: GET });
    await connecting;
    worker.postMessage({ answer: OK });
    await expect.poll(() => received).toMatch(/fine|code/);
    expect(received).toBe(OK);
  });
});

it('with dataPath auto a blocked event loop does not time out a head that arrived in time', async () => {
  await start('auto', ({ timeouts }) => ({ timeouts: { ...timeouts, headMs: LIMIT_MS } }));
  const came = told('came');
  worker.postMessage({ send: GET });
  await came;
  worker.postMessage({ answer: OK });
  await expect.poll(() => received).toBe(OK);
  worker.postMessage({ send: GET.slice(0, 20) });
  // The beginning of the head has been read and its time runs: the other side has nothing left to send.
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  worker.postMessage({ send: GET.slice(20) });
  block(2 * LIMIT_MS);
  await told('came');
  worker.postMessage({ answer: OK });
  await expect.poll(() => received).toBe(OK + OK);
});
