import { once, setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { CometUsers } from '../../../src/demo/comet-users.ts';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import * as plant from '../../../src/demo/plant.ts';
import { createRandom } from '../../../src/demo/random.ts';
import { chooseRequest, SampleUsers } from '../../../src/demo/users.ts';
import { type Answer, send } from '../../support/net.ts';

const { SAMPLE_ACCOUNTS, SAMPLE_BROWSERS, SAMPLE_RPCS, createAuthFields } = plant;
type Credentials = plant.SampleCredentials;
const [anna, , , historian] = SAMPLE_ACCOUNTS as unknown as Record<0 | 3, Credentials> & Credentials[];
const DAILY = 'd2/rpc/java/E.Reports/Daily';

let system: SampleControlSystem;
let port: number;
/** The control system's random numbers; the last one repeats. */
let dice: number[];

beforeEach(async () => {
  dice = [0.99];
  system = new SampleControlSystem({ slowness: 0, random: () => (dice.length > 1 ? dice.shift()! : dice[0]!) });
  port = await system.start(0);
});

afterEach(() => system.stop());

const urlOf = (at: number) => `http://127.0.0.1:${at}/smartWeb`;

/** As anna, unless with other credentials or none. */
function call(method: string, path: string, body = '', as: Credentials | null = anna, at = port): Promise<Answer> {
  const headers = as === null ? {} : { ...createAuthFields(as) };
  return send(at, `/smartWeb/api/rest/v0/${path}`, { method, headers, body });
}

/** A control system as slow as `slowness` says, and its port. */
async function startSlow(options: ConstructorParameters<typeof SampleControlSystem>[0]) {
  const slow = new SampleControlSystem(options);
  return { slow, at: await slow.start(0) };
}

describe('the sample control system', () => {
  it.each(SAMPLE_RPCS)('answers the RPC $path with a JSON object', async (rpc) => {
    const { status, body } = await call('POST', `d2/rpc/${rpc.path}`, '[1,2]');
    expect([status, JSON.parse(body)]).toEqual([200, { result: 'ok', received: 5 }]);
  });

  it.each([
    [0.19, 500],
    [0.21, 200],
  ])('answers an RPC by its random numbers, %d with %i', async (number, status) => {
    dice = [number, 0.5];
    expect((await call('POST', 'd2/rpc/E.Alarms/Acknowledge', '[]')).status).toBe(status);
  });

  it('takes a random time within the limits of the RPC', async () => {
    const { slow, at } = await startSlow({ random: () => 0.5 });
    const began = performance.now();
    await call('POST', 'd2/rpc/interface/E.Boiler/Control/Start', '[]', anna, at);
    expect(performance.now() - began).toBeGreaterThanOrEqual(64);
    await slow.stop();
  });

  it('answers unknown names, areas and paths with 404', async () => {
    for (const [method, path] of [
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
    ] as const) {
      expect((await call(method, path)).status, path).toBe(404);
    }
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
    const answer = await call('GET', 'd2/sba/E.Files/Download?fileName=a&param=100001', '', historian);
    expect(answer.status).toBe(200);
    const fields = { 'transfer-encoding': 'chunked', 'content-type': 'application/octet-stream' };
    expect(answer.headers).toMatchObject(fields);
    expect(answer.bytes.equals(Buffer.alloc(100_001, 0xd2))).toBe(true);
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

  it('cuts running calls when it stops', async () => {
    const { slow, at } = await startSlow({ slowness: 1_000 });
    const cut = expect(call('POST', DAILY, '[]', anna, at)).rejects.toThrow();
    await send(at, '/');
    await slow.stop();
    await cut;
  });
});

describe('the sample users', () => {
  it('send the same number of requests each, with all kinds of answers, the same for the same seed', async () => {
    const counts = [];
    for (let round = 0; round < 2; round += 1) {
      dice = [0.99];
      const users = new SampleUsers({ baseUrl: urlOf(port), seed: 7, pauseMs: 0, maxRequestsEach: 60 });
      await users.run(new AbortController().signal);
      counts.push(users.counts);
    }
    expect(counts[0]!.answered).toBe(60 * SAMPLE_ACCOUNTS.length);
    expect(counts[0]!.unanswered).toBe(0);
    expect(Object.keys(counts[0]!.byStatus)).toEqual(['200', '404']);
    expect(counts[0]!.byStatus[200]).toBeGreaterThan(60 * SAMPLE_ACCOUNTS.length * 0.8);
    expect(counts[1]).toEqual(counts[0]);
  });

  it('sometimes mistype, ask for unknown names, use SBA and objects, and log out', () => {
    const random = createRandom(3);
    const requests = Array.from({ length: 1_000 }, () => chooseRequest(random, anna));
    for (const [pattern, least] of [
      [/^d2\/rpc\//, 500],
      [/\/Download/, 40],
      [/\/Upload/, 10],
      [/d2\/(archive|object)\//, 150],
      [/^d2\/auth\/logout$/, 0],
      [/NoSuchMethod$/, 0],
    ] as const) {
      expect(requests.filter(({ path }) => pattern.test(path)).length, String(pattern)).toBeGreaterThan(least);
    }
    expect(requests.some((request) => request.hasWrongPassword)).toBe(true);
    const ofHistorian = Array.from({ length: 1_000 }, () => chooseRequest(random, historian).path);
    expect(ofHistorian).not.toContain('d2/auth/logout');
  });

  it('count unanswered requests', async () => {
    await system.stop();
    const users = new SampleUsers({ baseUrl: urlOf(port), pauseMs: 0, maxRequestsEach: 1 });
    await users.run(new AbortController().signal);
    expect(users.counts).toEqual({ answered: 0, byStatus: {}, unanswered: SAMPLE_ACCOUNTS.length });
    system = new SampleControlSystem();
    await system.start(0);
  });

  it('stop at once on the signal, without counting what was cut as unanswered', async () => {
    const { slow, at } = await startSlow({ slowness: 1_000 });
    const stopping = new AbortController();
    const users = new SampleUsers({ baseUrl: urlOf(at), pauseMs: 0 });
    const done = users.run(stopping.signal);
    while (users.counts.answered < SAMPLE_ACCOUNTS.length) await new Promise((resolve) => setImmediate(resolve));
    stopping.abort();
    await done;
    expect(users.counts.unanswered).toBe(0);
    await slow.stop();
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
    const { slow, at } = await startSlow({ slowness: 1_000 });
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
