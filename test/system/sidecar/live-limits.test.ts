/** Limits that change while a sidecar serves: new traffic gets the new limits, and open connections stay open. */
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { exchange } from '../../support/net.ts';
import { answering, atHeads, get, OK, type Stand, type StandOptions, startStand } from '../../support/wire/stand.ts';

const PATH = '/smartWeb/a';
let stand: Stand;
afterEach(() => stand.close());

type Change = (running: Config) => Partial<Config>;

/** A stand with a changeable configuration. */
async function start(options: StandOptions = {}): Promise<(change: Change) => Promise<void>> {
  let running = {} as Config;
  const config = (base: Config) => {
    running = { ...base, ...options.config?.(base) };
    return running;
  };
  stand = await startStand({ onConnection: answering(OK), ...options, config });
  return async (change) => {
    running = { ...running, ...change(running) };
    (await stand.sidecar.prepareReload(running))();
  };
}

/** The status of the answer to `request`, on a connection of its own. */
const statusOf = async (request: string): Promise<number> => (await stand.client().ask(request)).status;

describe('limits', () => {
  const request = (fields = '') => get(PATH, fields);
  const startIt = (options: StandOptions = {}) =>
    start({ ...options, config: ({ timeouts }) => ({ timeouts: { ...timeouts, headMs: 60_000 } }) });

  it('of a head, also on a connection that is open', async () => {
    const reload = await startIt();
    const client = await stand.connect();
    const large = request(`X-Large: ${'x'.repeat(3_000)}\r\n`);
    expect((await client.ask(large)).status).toBe(200);
    await reload(({ limits }) => ({ limits: { ...limits, fields: 5, headBytes: 2_048 } }));
    expect(await statusOf(large)).toBe(431);
    expect((await client.ask(request('A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\n'))).status).toBe(431);
    await reload(({ limits }) => ({ limits: { ...limits, headBytes: 4_096 } }));
    expect(await statusOf(large)).toBe(200);
  });

  it('of the times of a head and an answer, and of requests in flight', async () => {
    const reload = await startIt({ onConnection: () => undefined });
    const held = await stand.connect();
    const upstream = stand.nextUpstream();
    held.send(get(PATH));
    const socket = await upstream;
    await reload(({ timeouts }) => ({ timeouts: { ...timeouts, headMs: 50 } }));
    expect(await statusOf(request().slice(0, -4))).toBe(408);
    await reload(({ upstream }) => ({ upstream: { ...upstream, responseTimeoutMs: 50 } }));
    expect(await statusOf(request())).toBe(504);
    await reload(({ limits }) => ({ limits: { ...limits, inFlight: 1 } }));
    expect(await statusOf(request())).toBe(503);
    socket.write(OK);
    expect((await held.response()).status).toBe(200);
  });

  it('what is forwarded, from the next request on', async () => {
    const seen: string[] = [];
    const reload = await startIt({
      onConnection: (socket) =>
        atHeads(socket, (head) => {
          seen.push(head);
          socket.write(OK);
        }),
    });
    await statusOf(request());
    await reload(() => ({ forwarded: 'off' }));
    await statusOf(request());
    expect(seen.map((text) => /x-forwarded-for/i.test(text))).toEqual([true, false]);
  });
});

it('limits of connections close no open connection, and admit new ones again when raised', async () => {
  const reload = await start();
  const clients = [await stand.connect(), await stand.connect()];
  for (const client of clients) expect((await client.ask(get(PATH))).status).toBe(200);
  await reload(({ limits }) => ({ limits: { ...limits, connections: 1 } }));
  await (await stand.connect()).ended();
  await reload(({ limits }) => ({ limits: { ...limits, connections: 10, connectionsPerAddress: 1 } }));
  await (await stand.connect()).ended();
  for (const client of clients) expect((await client.ask(get(`${PATH}/again`))).status).toBe(200);
  await reload(({ limits }) => ({ limits: { ...limits, connectionsPerAddress: 0 } }));
  expect(await statusOf(get(PATH))).toBe(200);
});

describe('the monitoring port', () => {
  const monitor = async (request: string) => (await exchange(stand.monitorPort, request)).split(' ')[1];
  const ask = (host = '127.0.0.1') => monitor(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  const connect = async () => {
    const socket = net.connect(stand.monitorPort, '127.0.0.1').on('error', () => undefined);
    await once(socket, 'connect');
    return socket.resume();
  };

  it('takes new names, number, times and sizes', async () => {
    const reload = await start();
    const set = (change: Partial<Config['monitor']>) =>
      reload(({ monitor: before }) => ({ monitor: { ...before, ...change } }));
    expect(await ask('plant.example')).toBe('421');
    await set({ hosts: ['plant.example'] });
    expect(await ask('plant.example')).toBe('200');
    await set({ maxAnswerBytes: 1_024 });
    expect(await ask()).toBe('507');
    await set({ maxAnswerBytes: 1_000_000 });
    expect(await ask()).toBe('200');
    await set({ headTimeoutMs: 50 });
    expect(await monitor('GET /metrics HTTP/1.1\r\n')).toBe('408');
    const open = [await connect(), await connect()];
    const closed = open.map((socket) => once(socket, 'close'));
    await set({ maxConnections: 1 });
    expect(open.map((socket) => socket.readyState)).toEqual(['open', 'open']);
    expect(await ask()).toBe('200');
    await Promise.all(closed);
    expect(stand.sidecar.limits.countOf('monitor.maxConnections')).toBe(2);
    await set({ maxConnections: 10, maxConnectionsPerAddress: 1 });
    const alone = await connect();
    expect(await ask()).toBe('200');
    expect(stand.sidecar.limits.countOf('monitor.maxConnectionsPerAddress')).toBe(1);
    alone.destroy();
  });
});
