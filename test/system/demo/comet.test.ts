import { once, setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CometUsers } from '../../../src/demo/comet-users.ts';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import { SAMPLE_BROWSERS } from '../../../src/demo/plant.ts';
import { send } from '../../support/net.ts';

let system: SampleControlSystem;
let port: number;
let baseUrl: string;
let leaving: AbortController;

beforeEach(async () => {
  system = new SampleControlSystem({ slowness: 0 });
  port = await system.start(0);
  baseUrl = `http://127.0.0.1:${port}/smartWeb`;
  leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
});

afterEach(async () => {
  leaving.abort();
  await system.stop();
});

async function logIn(password = 'eva', at = port): Promise<{ status: number; cookie: string }> {
  const body = `j_username=eva&j_password=${password}`;
  const { status, headers } = await send(at, '/smartWeb/j_security_check', { method: 'POST', body });
  const [cookie = ''] = String(headers['set-cookie'] ?? '').split(';');
  return { status, cookie };
}

async function comet(message: object, cookie: string): Promise<Record<string, unknown>> {
  const body = JSON.stringify([message]);
  const answer = await send(port, '/smartWeb/api/cometd', { method: 'POST', headers: { cookie }, body });
  return (JSON.parse(answer.body) as Record<string, unknown>[]).at(-1) ?? {};
}

describe('the Comet interface of the sample control system', () => {
  it('admits users with the right password, and forgets clients that have left', async () => {
    expect(await logIn('mistyped')).toMatchObject({ status: 403, cookie: '' });
    const { status, cookie } = await logIn();
    expect(status).toBe(303);
    expect(await comet({ channel: '/meta/handshake', id: '1' }, '')).toMatchObject({ successful: false });
    const { id, successful, clientId } = await comet({ channel: '/meta/handshake', id: '1' }, cookie);
    expect([id, successful]).toEqual(['1', true]);
    expect(await comet({ channel: '/meta/disconnect', clientId }, cookie)).toMatchObject({ successful: true });
    expect(await comet({ channel: '/meta/connect', clientId }, cookie)).toMatchObject({ successful: false });
  });

  it('serves RPC and SBA calls, and refuses unknown ones', async () => {
    const { cookie } = await logIn();
    const { clientId } = await comet({ channel: '/meta/handshake' }, cookie);
    const call = (channel: string, data: object) => comet({ channel, clientId, id: '7', data }, cookie);
    for (const [channel, eventName, rpcName, more] of [
      ['/service/d2/rpc', 'E.Boiler', 'ReadState', {}],
      ['/service/d2/rpc', 'E.Boiler', 'Start', { interfaceName: 'Control' }],
      ['/service/d2/rpcJava', 'E.Reports', 'Daily', {}],
      ['/service/d2/rpcSBA', 'E.Files', 'Download', {}],
    ] as const) {
      const answer = { id: '7', successful: true, data: { result: 'ok' } };
      expect(await call(channel, { eventName, rpcName, ...more })).toMatchObject(answer);
    }
    const refused = { successful: false, error: '404::the call failed' };
    expect(await call('/service/d2/rpc', { eventName: 'E.Boiler', rpcName: 'Absent' })).toMatchObject(refused);
  });

  it('cuts running calls when it stops', async () => {
    const slow = new SampleControlSystem({ slowness: 1_000 });
    const at = await slow.start(0);
    // A login at one server holds at that one only.
    const { cookie } = await logIn(undefined, at);
    const client = new WebSocket(`ws://127.0.0.1:${at}/smartWeb/api/cometd`, { headers: { cookie } });
    await once(client, 'open');
    const answered = once(client, 'message');
    client.send(JSON.stringify([{ channel: '/meta/handshake', id: '1' }]));
    const [{ clientId }] = JSON.parse(String((await answered)[0])) as [{ clientId: string }];
    const data = { eventName: 'E.Reports', rpcName: 'Daily' };
    client.send(JSON.stringify([{ channel: '/service/d2/rpcJava', id: '2', clientId, data }]));
    client.ping();
    await once(client, 'pong');
    const closed = once(client, 'close');
    await slow.stop();
    await closed;
  });
});

describe('the browsers of the demo', () => {
  it('use both transports, get values, and leave at once on the signal', async () => {
    expect(new Set(SAMPLE_BROWSERS.map(({ transport }) => transport))).toEqual(new Set(['websocket', 'long-polling']));
    const users = new CometUsers({ baseUrl, pauseMs: 0 });
    const working = users.run(leaving.signal);
    await users.opened;
    expect(users.values).toBeGreaterThanOrEqual(SAMPLE_BROWSERS.length);
    leaving.abort();
    await working;
  });

  it('reconnect after the server was down', async () => {
    const users = new CometUsers({ baseUrl, pauseMs: 0 });
    const working = users.run(leaving.signal);
    await users.opened;
    await system.stop();
    const before = users.values;
    system = new SampleControlSystem({ slowness: 0 });
    await system.start(port);
    while (users.values < before + 2 * SAMPLE_BROWSERS.length) await new Promise((resolve) => setImmediate(resolve));
    leaving.abort();
    await working;
  });
});
