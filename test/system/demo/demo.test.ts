import { once, setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { CometUsers } from '../../../src/demo/comet-users.ts';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import * as plant from '../../../src/demo/plant.ts';
import { chooseRequest, SampleUsers } from '../../../src/demo/users.ts';
import { Random } from '../../support/fuzz/random.ts';
import { type Answer, send, toUnusedPort } from '../../support/net.ts';

const { SAMPLE_ACCOUNTS, SAMPLE_BROWSERS, SAMPLE_RPCS, createAuthFields } = plant;
type Credentials = plant.SampleCredentials;
const [anna, , , historian] = SAMPLE_ACCOUNTS as unknown as Record<0 | 3, Credentials> & Credentials[];

let system: SampleControlSystem;
let port: number;

beforeEach(async () => {
  system = new SampleControlSystem({ slowness: 0 });
  port = await system.start(0);
});

afterEach(() => {
  vi.restoreAllMocks();
  return system.stop();
});

const urlOf = (at: number) => `http://127.0.0.1:${at}/smartWeb`;

/** As anna, unless with other credentials or none. */
function call(method: string, path: string, body = '', as: Credentials | null = anna): Promise<Answer> {
  const headers = as === null ? {} : { ...createAuthFields(as) };
  return send(port, `/smartWeb/api/rest/v0/${path}`, { method, headers, body });
}

/** A control system that never answers a call in time, and its port. */
async function startSlow() {
  const slow = new SampleControlSystem({ slowness: 1_000 });
  return { slow, at: await slow.start(0) };
}

describe('the sample control system', () => {
  it('answers each RPC with a JSON object, and a share of the calls with 500', async () => {
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.99);
    for (const rpc of SAMPLE_RPCS) {
      const { status, body } = await call('POST', `d2/rpc/${rpc.path}`, '[1,2]');
      expect([rpc.path, status, JSON.parse(body)]).toEqual([rpc.path, 200, { result: 'ok', received: 5 }]);
    }
    random.mockReturnValue(0.19);
    expect((await call('POST', 'd2/rpc/E.Alarms/Acknowledge', '[]')).status).toBe(500);
  });

  it.each([
    ['POST', 'd2/rpc/E.Boiler/NoSuchMethod'],
    // An RPC asked for with GET, and a java RPC without its segment.
    ['GET', 'd2/rpc/E.Boiler/ReadState'],
    ['POST', 'd2/rpc/E.Reports/Daily'],
    ['GET', 'd2/archive/H.Unknown'],
    // A download of another event, and of more than it has.
    ['GET', 'd2/sba/E.Other/Download?param=1'],
    ['GET', 'd2/sba/E.Files/Download?param=99999999999'],
    ['GET', 'd2/archive/%ff'],
    ['GET', 'd3/anything'],
  ])('answers %s of the unknown %s with 404', async (method, path) => {
    expect((await call(method, path)).status).toBe(404);
  });

  it('answers a failed authentication with 404, and logs each account in and out', async () => {
    for (const as of [
      { kind: 'basic', user: 'anna', password: 'mistyped' },
      { kind: 'key', user: 'robot', key: 'mistyped' },
      null,
    ] as const) {
      expect((await call('GET', 'd2/auth/login', '', as)).status).toBe(404);
    }
    for (const account of SAMPLE_ACCOUNTS) {
      for (const what of ['login', 'logout']) {
        expect((await call('GET', `d2/auth/${what}`, '', account)).status, account.user).toBe(200);
      }
    }
  });

  it('streams exactly the octets asked for, chunked, and returns the length of an upload', async () => {
    const { status, headers, bytes } = await call('GET', 'd2/sba/E.Files/Download?param=100001', '', historian);
    const fields = { 'transfer-encoding': 'chunked', 'content-type': 'application/octet-stream' };
    expect([status, headers]).toMatchObject([200, fields]);
    expect(bytes.equals(Buffer.alloc(100_001, 0xd2))).toBe(true);
    vi.spyOn(Math, 'random').mockReturnValue(0.99);
    const upload = await call('POST', 'd2/sba/E.Files/Upload?fileName=a', 'x'.repeat(300_000));
    expect(JSON.parse(upload.body)).toEqual({ received: 300_000 });
  });

  it('answers archive, object and its own monitoring', async () => {
    const archive = await call('POST', 'd2/archive/H.Kotol%C5%88a.V%C3%BDkon?beginTime=1', '{}');
    expect(archive.status).toBe(200);
    expect(JSON.parse(archive.body).values).toHaveLength(60);
    for (const path of ['d2/object/H.Boiler.Pressure', 'admin/metrics/d2']) {
      expect((await call('GET', path)).status).toBe(200);
    }
  });
});

describe('the sample users', () => {
  it('log in, work, and stop at once on the signal, without counting what was cut as unanswered', async () => {
    const { slow, at } = await startSlow();
    const stopping = new AbortController();
    setMaxListeners(0, stopping.signal);
    const fast = new SampleUsers({ baseUrl: urlOf(port), pauseMs: 0 });
    await fast.open(stopping.signal);
    expect(fast.counts).toEqual({ answered: 20, byStatus: { 200: 20 }, unanswered: 0 });
    const cut = new SampleUsers({ baseUrl: urlOf(at), pauseMs: 0 });
    const done = [fast, cut].map((users) => users.run(stopping.signal));
    while (fast.counts.answered < 500) await new Promise((resolve) => setImmediate(resolve));
    stopping.abort();
    await Promise.all(done);
    expect(Object.keys(fast.counts.byStatus)).toEqual(['200', '404', '500']);
    expect([fast.counts.unanswered, cut.counts.unanswered]).toEqual([0, 0]);
    await slow.stop();
  });

  it('sometimes mistype, ask for unknown names, use SBA and objects, and log out', () => {
    const random = new Random(3);
    vi.spyOn(Math, 'random').mockImplementation(() => random.next());
    const choose = (account: Credentials) => Array.from({ length: 1_000 }, () => chooseRequest(account));
    const requests = choose(anna);
    const parts = ['d2/rpc/', '/Download', '/Upload', 'd2/archive/', 'd2/object/', 'd2/auth/logout', 'NoSuchMethod'];
    expect(parts.filter((part) => !requests.some(({ path }) => path.includes(part)))).toEqual([]);
    expect(requests.some((request) => request.hasWrongPassword)).toBe(true);
    expect(choose(historian).map(({ path }) => path)).not.toContain('d2/auth/logout');
  });

  it('count unanswered requests', async () => {
    const users = new SampleUsers({ baseUrl: urlOf(await toUnusedPort()) });
    await users.open(new AbortController().signal);
    expect(users.counts).toEqual({ answered: 0, byStatus: {}, unanswered: 20 });
  });
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
    vi.spyOn(Math, 'random').mockReturnValue(0.99);
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
    const { slow, at } = await startSlow();
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

it('the browsers of the demo use both transports, survive a restart of the server, and leave on the signal', async () => {
  expect(new Set(SAMPLE_BROWSERS.map(({ transport }) => transport))).toEqual(new Set(['websocket', 'long-polling']));
  const leaving = new AbortController();
  setMaxListeners(0, leaving.signal);
  const users = new CometUsers({ baseUrl: urlOf(port), pauseMs: 0 });
  const working = users.run(leaving.signal);
  await users.opened;
  expect(users.values).toBeGreaterThanOrEqual(SAMPLE_BROWSERS.length);
  await system.stop();
  const before = users.values;
  system = new SampleControlSystem({ slowness: 0 });
  await system.start(port);
  while (users.values < before + 2 * SAMPLE_BROWSERS.length) await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  await working;
});
