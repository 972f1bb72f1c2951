import { setMaxListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CometUsers } from '../../../src/demo/comet-users.ts';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import * as plant from '../../../src/demo/plant.ts';
import { SampleUsers } from '../../../src/demo/users.ts';
import { type Answer, send } from '../../support/net.ts';

const { SAMPLE_ACCOUNTS, SAMPLE_BROWSERS, SAMPLE_RPCS, createAuthFields } = plant;
type Credentials = plant.SampleCredentials;
const [anna] = SAMPLE_ACCOUNTS as unknown as [Credentials];

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
    ['GET', 'd2/archive/%ff'],
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
