import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NS_PER_MS } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { LimitHits } from '../../../src/limits/limit-hits.ts';
import { LoopShare } from '../../../src/monitor/loop-share.ts';
import { MonitorConnections } from '../../../src/monitor/monitor-connections.ts';
import { ManualClock } from '../../support/clock.ts';
import { listening } from '../../support/net.ts';

/** A server that accepts all requests, and answers when the test says so. */
class Stand {
  readonly hits = new LimitHits(new ManualClock(), createLogger('silent'));
  readonly connections: MonitorConnections;
  /** Received requests, begun or not. */
  arrived = 0;
  /** Turns wait for `takeTurn`. Each has time for one request. */
  isHeld = false;
  readonly responses: http.ServerResponse[] = [];
  readonly #heldTurns: (() => void)[] = [];
  readonly #server: http.Server;
  readonly #sockets: net.Socket[] = [];

  constructor(maxConnections: number, maxConnectionsPerAddress: number) {
    const nextTurn = (run: () => void) => void (this.isHeld ? this.#heldTurns.push(run) : setImmediate(run));
    let ns = 0;
    const share = new LoopShare({ epochMs: () => 0, nowNs: () => (ns += NS_PER_MS) }, nextTurn);
    this.connections = new MonitorConnections({ maxConnections, maxConnectionsPerAddress }, this.hits, share);
    this.#server = http.createServer((request, response) => {
      this.connections.accepted(request.socket, response);
      this.responses.push(response);
    });
    this.connections.attach(this.#server, false);
    this.#server.on('request', () => this.arrived++);
  }

  static async start(maxConnections: number, maxConnectionsPerAddress = 0): Promise<Stand> {
    const stand = new Stand(maxConnections, maxConnectionsPerAddress);
    onTestFinished(() => stand.close());
    await listening(stand.#server);
    return stand;
  }

  /** With as many running requests. */
  async connect(localAddress: string, requests = 0): Promise<net.Socket> {
    const { port } = this.#server.address() as net.AddressInfo;
    const socket = net.connect({ host: '127.0.0.1', port, localAddress });
    this.#sockets.push(socket);
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    if (requests > 0) await this.request(socket, requests);
    return socket;
  }

  async request(socket: net.Socket, requests = 1): Promise<void> {
    const all = this.responses.length + requests;
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
    while (this.responses.length < all) await new Promise((resolve) => setImmediate(resolve));
  }

  takeTurn(): void {
    this.#heldTurns.shift()?.();
  }

  async answer(index: number): Promise<void> {
    const response = this.responses[index] as http.ServerResponse;
    response.end('ok');
    await once(response, 'close');
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

async function closed(socket: net.Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

describe('a connection with an accepted request in progress', () => {
  it('stays open, and a new connection is closed if all others are busy', async () => {
    const stand = await Stand.start(2);
    const { connections, hits } = stand;
    const busy = [await stand.connect('127.0.0.2', 1), await stand.connect('127.0.0.2', 1)];
    await closed(await stand.connect('127.0.0.3'));
    expect(busy.map((socket) => socket.closed)).toEqual([false, false]);
    expect([connections.size, hits.countOf('monitor.maxConnections')]).toEqual([2, 1]);
  });

  it('stays open for all pipelined requests, and may be closed after the last answer', async () => {
    const stand = await Stand.start(1);
    const busy = await stand.connect('127.0.0.2', 2);
    await stand.answer(0);
    await closed(await stand.connect('127.0.0.3'));
    expect(busy.closed).toBe(false);
    await stand.answer(1);
    await stand.request(busy);
    await closed(await stand.connect('127.0.0.3'));
    expect(busy.closed, 'although it was idle before').toBe(false);
    await stand.answer(2);
    const next = await stand.connect('127.0.0.3', 1);
    await closed(busy);
    expect(next.closed).toBe(false);
  });

  it('stays open also at the limit of its address', async () => {
    const stand = await Stand.start(10, 1);
    const { hits } = stand;
    const busy = await stand.connect('127.0.0.2', 1);
    await closed(await stand.connect('127.0.0.2'));
    await stand.connect('127.0.0.3', 1);
    expect(busy.closed).toBe(false);
    expect([hits.countOf('monitor.maxConnections'), hits.countOf('monitor.maxConnectionsPerAddress')]).toEqual([0, 1]);
  });
});

it('an idle connection with an accepted request is closed after those without one, the longest idle one first', async () => {
  const stand = await Stand.start(3);
  const [first, second] = [await stand.connect('127.0.0.2', 1), await stand.connect('127.0.0.3', 1)];
  await stand.answer(1);
  await stand.answer(0);
  const fresh = await stand.connect('127.0.0.4');
  await stand.connect('127.0.0.5', 1);
  await closed(fresh);
  expect([first.closed, second.closed]).toEqual([false, false]);
  await stand.connect('127.0.0.6', 1);
  await closed(second);
  expect(first.closed).toBe(false);
});

it('pipelined requests are answered in order, up to four', async () => {
  const stand = await Stand.start(1);
  const { connections, responses } = stand;
  const client = await stand.connect('127.0.0.2', 4);
  for (const index of [3, 1, 2, 0]) responses[index]?.end(`answer ${index}`);
  let text = '';
  client.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  await expect.poll(() => text.match(/answer \d/g)).toEqual(['answer 0', 'answer 1', 'answer 2', 'answer 3']);
  await stand.request(client, 4);
  expect([client.closed, connections.overflows]).toEqual([false, 0]);
});

it('pipelined requests close the connection at the fifth, and none of the others begins', async () => {
  const stand = await Stand.start(1);
  const { connections, responses } = stand;
  const client = await stand.connect('127.0.0.2');
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3_000));
  await closed(client);
  expect([connections.overflows, connections.size]).toEqual([1, 0]);
  expect(responses.length).toBeLessThanOrEqual(4);
  await stand.connect('127.0.0.3', 1);
  expect(connections.size).toBe(1);
});

it('requests that arrive at the same time begin in order, one at once and the others in turns, but for closed connections', async () => {
  const stand = await Stand.start(4);
  stand.isHeld = true;
  const sockets: net.Socket[] = [];
  for (let index = 0; index < 4; index++) {
    const socket = await stand.connect(`127.0.0.${2 + index}`);
    socket.write(`GET /${index} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await expect.poll(() => stand.arrived).toBe(index + 1);
    sockets.push(socket);
  }
  const begun = () => stand.responses.map(({ req }) => req.url);
  expect(begun()).toEqual(['/0']);
  stand.takeTurn();
  expect(begun(), 'the first turn has passed').toEqual(['/0']);
  stand.takeTurn();
  expect(begun()).toEqual(['/0', '/1']);
  // The oldest that is not accepted.
  await stand.connect('127.0.0.9');
  await closed(sockets[2] as net.Socket);
  for (let turn = 0; turn < 4; turn++) stand.takeTurn();
  expect(begun()).toEqual(['/0', '/1', '/3']);
});

it('the number of open connections is zero after all have closed, from either side', async () => {
  const stand = await Stand.start(3, 2);
  for (const address of ['127.0.0.2', '127.0.0.3']) {
    for (const requests of [1, 0, 0]) await stand.connect(address, requests);
  }
  expect(stand.connections.size).toBe(3);
  stand.close();
  await expect.poll(() => stand.connections.size).toBe(0);
});
