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
async function startStand(maxConnections: number, maxConnectionsPerAddress = 0) {
  const hits = new LimitHits(new ManualClock(), createLogger('silent'));
  const responses: http.ServerResponse[] = [];
  const sockets: net.Socket[] = [];
  // Each turn has time for one request.
  let ns = 0;
  const share = new LoopShare({ epochMs: () => 0, nowNs: () => (ns += NS_PER_MS) });
  const connections = new MonitorConnections({ maxConnections, maxConnectionsPerAddress }, hits, share);
  const server = http.createServer((request, response) => {
    connections.accepted(request.socket);
    responses.push(response);
  });
  connections.attach(server);
  const port = await listening(server);
  const request = async (socket: net.Socket, requests = 1) => {
    const all = responses.length + requests;
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(requests));
    while (responses.length < all) await new Promise((resolve) => setImmediate(resolve));
  };
  /** With as many running requests. */
  const connect = async (localAddress: string, requests = 0): Promise<net.Socket> => {
    const socket = net.connect({ host: '127.0.0.1', port, localAddress });
    sockets.push(socket);
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    if (requests > 0) await request(socket, requests);
    return socket;
  };
  const answer = async (index: number) => {
    const response = responses[index] as http.ServerResponse;
    response.end('ok');
    await once(response, 'close');
  };
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { hits, connections, connect, request, answer };
}

async function closed(socket: net.Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
}

describe('a connection with an accepted request in progress', () => {
  it('stays open for up to four pipelined requests, and may be closed after the last answer', async () => {
    const stand = await startStand(1);
    const busy = await stand.connect('127.0.0.2', 4);
    for (const index of [0, 1, 2]) await stand.answer(index);
    await closed(await stand.connect('127.0.0.3'));
    expect(busy.closed).toBe(false);
    expect([stand.connections.size, stand.hits.countOf('monitor.maxConnections')]).toEqual([1, 1]);
    await stand.answer(3);
    await stand.request(busy);
    await closed(await stand.connect('127.0.0.3'));
    expect(busy.closed, 'although it was idle before').toBe(false);
    expect(stand.connections.overflows).toBe(0);
    await stand.answer(4);
    const next = await stand.connect('127.0.0.3', 1);
    await closed(busy);
    expect(next.closed).toBe(false);
  });

  it('stays open also at the limit of its address', async () => {
    const stand = await startStand(10, 1);
    const { hits } = stand;
    const busy = await stand.connect('127.0.0.2', 1);
    await closed(await stand.connect('127.0.0.2'));
    await stand.connect('127.0.0.3', 1);
    expect(busy.closed).toBe(false);
    expect([hits.countOf('monitor.maxConnections'), hits.countOf('monitor.maxConnectionsPerAddress')]).toEqual([0, 1]);
  });
});

it('an idle connection with an accepted request is closed after those without one, the longest idle one first', async () => {
  const stand = await startStand(3);
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
