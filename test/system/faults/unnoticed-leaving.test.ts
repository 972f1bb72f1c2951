/** Clients that leave while their data is not read. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { untilStill } from '../../support/wire/still.ts';
import { type FaultStand, GET, SWITCHING, sound, startFaultStand, WEBSOCKET } from './fault-stand.ts';

/** More than all buffers between the two ends hold. */
const UPLOAD_BYTES = 48 * 1024 * 1024;
const PIECE = Buffer.alloc(64 * 1024);
const UPLOAD = `POST /smartWeb/x HTTP/1.1\r\nHost: plant.example\r\nContent-Length: ${UPLOAD_BYTES}\r\n\r\n`;
const IDLE_MS = 500;

const impatient = ({ timeouts }: Config) => ({ timeouts: { ...timeouts, idleMs: IDLE_MS } });

let harness: FaultStand;

async function fill(socket: Socket): Promise<number> {
  let sent = 0;
  const send = () => {
    do sent += PIECE.length;
    while (socket.write(PIECE));
  };
  socket.on('drain', send);
  send();
  return await untilStill(() => sent, IDLE_MS);
}

async function stuckUpload() {
  harness = await startFaultStand({ script: (upstream) => void upstream.pause(), config: impatient });
  const client = harness.client(UPLOAD);
  await once(client.socket, 'connect');
  const sent = await fill(client.socket);
  expect(harness.upstreams.length).toBe(1);
  expect(sent).toBeLessThan(UPLOAD_BYTES);
  expect(harness.sidecar.reporter.open).toBe(1);
  return client;
}

/** Three idle timeouts, by the socket's own timer. */
async function staysSilent(socket: Socket): Promise<void> {
  socket.setTimeout(3 * IDLE_MS);
  await once(socket, 'timeout');
  expect(socket.destroyed).toBe(false);
}

const idleHits = async () => (await harness.samples()).get('d2_sidecar_limit_hits_total{limit="timeouts.idle"}');

describe('a client that uploads to an upstream that does not read', () => {
  it('keeps its connection as long as it stays, and is noticed when it resets it', async () => {
    const { socket } = await stuckUpload();
    await staysSilent(socket);
    expect(harness.sidecar.reporter.open).toBe(1);
    socket.end();
    socket.resetAndDestroy();
    await expect.poll(() => harness.sidecar.reporter.open, { timeout: 5_000 }).toBe(0);
    expect(await idleHits()).toBe(0);
  });

  it('is idle only once the upstream reads', async () => {
    const client = await stuckUpload();
    client.socket.removeAllListeners('drain');
    harness.upstreams[0]?.resume();
    await client.ended();
    expect(await idleHits()).toBe(1);
  });
});

const openTunnels = async () => (await harness.samples()).get('d2_sidecar_upgraded_connections');

it.each(['client', 'upstream'] as const)(
  'a WebSocket of which one end does not read stays open as long as the sending %s stays, and ends when it resets',
  async (sender) => {
    const script = (upstream: Socket) => {
      upstream.once('data', () => {
        upstream.write(SWITCHING);
        upstream.pause();
      });
    };
    harness = await startFaultStand({ script, config: impatient });
    const client = harness.client(WEBSOCKET);
    await client.until('\r\n\r\n');
    client.socket.pause();
    const ends = [client.socket, harness.upstreams[0] as Socket] as const;
    const [from, to] = sender === 'client' ? ends : ([ends[1], ends[0]] as const);
    await fill(from);
    await staysSilent(from);
    expect(await openTunnels()).toBe(1);
    from.resetAndDestroy();
    await expect.poll(openTunnels, { timeout: 5_000 }).toBe(0);
    to.destroy();
  },
);

/** Connects, sends a request, and resets, while the accepting thread is blocked. */
const LEAVES_UNSWITCHING = `
const net = require('node:net');
const { workerData: { port, request, gate } } = require('node:worker_threads');
const socket = net.connect(port, '127.0.0.1', () => {
  socket.write(request, () => {
    socket.resetAndDestroy();
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
  });
});
`;

it('a client that resets before it is accepted is not served: its address is unknown', async () => {
  harness = await startFaultStand({ script: sound });
  const { port } = harness;
  const gate = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(LEAVES_UNSWITCHING, { eval: true, workerData: { port, request: GET, gate } });
  expect(Atomics.wait(gate, 0, 0, 10_000)).toBe('ok');
  await once(worker, 'exit');
  // The next client in the backlog is served.
  const client = harness.client(GET);
  await client.until('fine');
  const samples = await harness.samples();
  expect(samples.get('d2_sidecar_connections_accepted_total')).toBe(2);
  expect(harness.upstreams.length).toBe(1);
  expect(harness.sidecar.reporter.open).toBe(0);
});
