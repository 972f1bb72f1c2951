import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SampleControlSystem } from '../../../src/demo/control-system.ts';
import { SAMPLE_ACCOUNTS, SAMPLE_RPCS, type SampleCredentials, toAuthFields } from '../../../src/demo/plant.ts';
import { createRandom } from '../../../src/demo/random.ts';
import { SampleUsers, toRequest } from '../../../src/demo/users.ts';

const [anna, , , historian] = SAMPLE_ACCOUNTS as readonly [
  SampleCredentials,
  SampleCredentials,
  SampleCredentials,
  SampleCredentials,
];

let system: SampleControlSystem;
let baseUrl: string;
/** What the control system's dice show, the last of them for ever. */
let dice: number[];

beforeEach(async () => {
  dice = [0.99];
  system = new SampleControlSystem({ slowness: 0, random: () => (dice.length > 1 ? dice.shift()! : dice[0]!) });
  baseUrl = `http://127.0.0.1:${await system.start(0)}/smartWeb`;
});

afterEach(async () => {
  await system.stop();
});

async function call(
  method: 'GET' | 'POST',
  path: string,
  options: { as?: SampleCredentials | null; body?: string } = {},
) {
  const account = options.as === undefined ? anna : options.as;
  const response = await request(`${baseUrl}/api/rest/v0/${path}`, {
    method,
    headers: account === null ? {} : toAuthFields(account),
    body: options.body ?? null,
  });
  return {
    status: response.statusCode,
    headers: response.headers,
    body: Buffer.from(await response.body.arrayBuffer()),
  };
}

describe('the sample control system', () => {
  it.each(SAMPLE_RPCS)('answers the RPC $path with a JSON object', async (rpc) => {
    const answer = await call('POST', `d2/rpc/${rpc.path}`, { body: '[1,2]' });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body.toString('utf8'))).toEqual({ result: 'ok', received: 5 });
  });

  it('fails an RPC with 500 by its random numbers', async () => {
    dice = [0.19, 0.5];
    expect((await call('POST', 'd2/rpc/E.Alarms/Acknowledge', { body: '[]' })).status).toBe(500);
    dice = [0.21, 0.5];
    expect((await call('POST', 'd2/rpc/E.Alarms/Acknowledge', { body: '[]' })).status).toBe(200);
  });

  it('takes a random time within the limits of the RPC', async () => {
    const slow = new SampleControlSystem({ random: () => 0.5 });
    const port = await slow.start(0);
    const began = performance.now();
    const path = '/smartWeb/api/rest/v0/d2/rpc/interface/E.Boiler/Control/Start';
    const answer = await request(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: toAuthFields(anna),
      body: '[]',
    });
    await answer.body.dump();
    expect(performance.now() - began).toBeGreaterThanOrEqual(64);
    await slow.stop();
  });

  it.each([
    ['an unknown RPC', 'POST', 'd2/rpc/E.Boiler/NoSuchMethod'],
    ['an RPC asked for with GET', 'GET', 'd2/rpc/E.Boiler/ReadState'],
    ['a java RPC without its segment', 'POST', 'd2/rpc/E.Reports/Daily'],
    ['an unknown object', 'GET', 'd2/archive/H.Unknown'],
    ['a download of another event', 'GET', 'd2/sba/E.Other/Download?param=1'],
    ['a download of more than it has', 'GET', 'd2/sba/E.Files/Download?param=99999999999'],
    ['a path that is not UTF-8', 'GET', 'd2/archive/%ff'],
    ['an unknown area', 'GET', 'd3/anything'],
  ] as const)('answers %s with 404', async (_what, method, path) => {
    expect((await call(method, path)).status).toBe(404);
  });

  it('answers a failed authentication with 404', async () => {
    const wrong: SampleCredentials = { kind: 'basic', user: 'anna', password: 'mistyped' };
    expect((await call('GET', 'd2/auth/login', { as: wrong })).status).toBe(404);
    expect((await call('GET', 'd2/auth/login', { as: null })).status).toBe(404);
    expect((await call('GET', 'd2/auth/login', { as: { kind: 'key', user: 'robot', key: 'mistyped' } })).status).toBe(
      404,
    );
  });

  it.each(SAMPLE_ACCOUNTS)('logs $user in and out', async (account) => {
    expect((await call('GET', 'd2/auth/login', { as: account })).status).toBe(200);
    expect((await call('GET', 'd2/auth/logout', { as: account })).status).toBe(200);
  });

  it('streams exactly the octets asked for, chunked', async () => {
    const answer = await call('GET', 'd2/sba/E.Files/Download?fileName=a&param=100001', { as: historian });
    expect(answer.status).toBe(200);
    expect(answer.headers['transfer-encoding']).toBe('chunked');
    expect(answer.headers['content-type']).toBe('application/octet-stream');
    expect(answer.body.equals(Buffer.alloc(100_001, 0xd2))).toBe(true);
  });

  it('accepts an upload and returns its length', async () => {
    const answer = await call('POST', 'd2/sba/E.Files/Upload?fileName=a', { body: 'x'.repeat(300_000) });
    expect(JSON.parse(answer.body.toString('utf8'))).toEqual({ received: 300_000 });
  });

  it('answers archive, object and its own monitoring', async () => {
    const archive = await call('POST', 'd2/archive/H.Kotol%C5%88a.V%C3%BDkon?beginTime=1', { body: '{}' });
    expect(archive.status).toBe(200);
    expect(JSON.parse(archive.body.toString('utf8')).values).toHaveLength(60);
    expect((await call('GET', 'd2/object/H.Boiler.Pressure')).status).toBe(200);
    expect((await call('GET', 'admin/metrics/d2')).status).toBe(200);
  });

  it('cuts running calls when it stops', async () => {
    const slow = new SampleControlSystem({ slowness: 1_000 });
    const port = await slow.start(0);
    const running = request(`http://127.0.0.1:${port}/smartWeb/api/rest/v0/d2/rpc/java/E.Reports/Daily`, {
      method: 'POST',
      headers: toAuthFields(anna),
      body: '[]',
    });
    const cut = expect(running).rejects.toThrow();
    await (await request(`http://127.0.0.1:${port}/`)).body.dump();
    await slow.stop();
    await cut;
  });
});

describe('the sample users', () => {
  it('send the same number of requests each, with all kinds of answers, the same for the same seed', async () => {
    const counts = [];
    for (let round = 0; round < 2; round += 1) {
      dice = [0.99];
      const users = new SampleUsers({ baseUrl, seed: 7, pauseMs: 0, maxRequestsEach: 60 });
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
    const requests = Array.from({ length: 1_000 }, () => toRequest(random, anna));
    const share = (is: (path: string) => boolean) => requests.filter((r) => is(r.path)).length / requests.length;
    expect(share((path) => path.startsWith('d2/rpc/'))).toBeGreaterThan(0.5);
    expect(share((path) => path.includes('/Download'))).toBeGreaterThan(0.04);
    expect(share((path) => path.includes('/Upload'))).toBeGreaterThan(0.01);
    expect(share((path) => /d2\/(archive|object)\//.test(path))).toBeGreaterThan(0.15);
    expect(share((path) => path === 'd2/auth/logout')).toBeGreaterThan(0);
    expect(share((path) => path.endsWith('NoSuchMethod'))).toBeGreaterThan(0);
    expect(requests.some((request) => request.hasWrongPassword)).toBe(true);
    expect(Array.from({ length: 1_000 }, () => toRequest(random, historian)).map((r) => r.path)).not.toContain(
      'd2/auth/logout',
    );
  });

  it('count unanswered requests', async () => {
    await system.stop();
    const users = new SampleUsers({ baseUrl, pauseMs: 0, maxRequestsEach: 1 });
    await users.run(new AbortController().signal);
    expect(users.counts).toEqual({ answered: 0, byStatus: {}, unanswered: SAMPLE_ACCOUNTS.length });
    system = new SampleControlSystem();
    await system.start(0);
  });

  it('stop at once on the signal, without counting what was cut as unanswered', async () => {
    const slow = new SampleControlSystem({ slowness: 1_000 });
    const port = await slow.start(0);
    const stopping = new AbortController();
    const users = new SampleUsers({ baseUrl: `http://127.0.0.1:${port}/smartWeb`, pauseMs: 0 });
    const done = users.run(stopping.signal);
    while (users.counts.answered < SAMPLE_ACCOUNTS.length) await new Promise((resolve) => setImmediate(resolve));
    stopping.abort();
    await done;
    expect(users.counts.unanswered).toBe(0);
    await slow.stop();
  });
});
