import { beforeEach, describe, expect, it } from 'vitest';
import type { Sent } from '../../../support/measure/record/traffic.ts';
import { BASE, CANCELLED, FAILED, LOGIN, LOGOUT, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
import { testSessions } from '../../../support/wire/test-config.ts';

const NAME = 'rpc.E.Demo.TestInOut';
const IDLE_MS = 30 * 60_000;
const OBJECT = `GET ${BASE}/d2/object/M.Level`;

let traffic: Traffic;
beforeEach(() => {
  traffic = new Traffic();
});

/** The two ways of REST to say who one is. */
const WAYS: [string, Omit<Sent, 'line'>, string | null][] = [
  ['Basic', { user: 'anna' }, 'anna'],
  ['a known X-API-Key', { apiKey: 'key-1' }, 'historian'],
  ['an unknown X-API-Key', { apiKey: 'key-2' }, null],
];

describe.each(WAYS)('a session by %s', (_way, who, userName) => {
  it('begins with the first accepted call, whose duration is that of its creation', () => {
    traffic.send({ line: RPC, ...who, from: '10.0.0.9' }, { afterMs: 40 });
    traffic.clock.advanceMs(10);
    traffic.send({ line: OBJECT, ...who, from: '10.0.0.10' }, { afterMs: 3 });
    expect(traffic.onlySession()).toMatchObject({
      ...{ createTime: '2026-03-01T08:00:00.040Z', lastActivityTime: '2026-03-01T08:00:00.053Z' },
      ...{ userName, connectionType: 'REST', remoteAddress: '10.0.0.9', requests: 2 },
      counts: { rpc: 1, [NAME]: 1, 'object.newValues': 1, 'object.M.Level.newValues': 1 },
    });
    const created = traffic.application().sessions.metrics().timers.get('sessions.created')?.snapshot();
    expect(created).toMatchObject({ count: 1, min: 40_000_000, max: 40_000_000 });
  });

  it('begins with a status below 400, and neither with one from there on nor with a logout', () => {
    for (const status of [400, 401, 403, 404, 500, 503]) {
      for (const line of [RPC, LOGIN]) traffic.send({ line, ...who }, { status });
    }
    traffic.send({ line: LOGOUT, ...who });
    expect([traffic.sessions(), traffic.created]).toEqual([[], 0]);
    traffic.send({ line: RPC, ...who }, { status: 399 });
    expect(traffic.onlySession().requests).toBe(1);
  });

  it('begins with an accepted login when there is none, and not anew when there is one', () => {
    traffic.send({ line: LOGIN, ...who }, { afterMs: 7 });
    const { id } = traffic.onlySession();
    traffic.send({ line: RPC, ...who });
    traffic.send({ line: LOGIN, ...who });
    expect(traffic.onlySession()).toMatchObject({ id, requests: 3, counts: { rpc: 1, [NAME]: 1 } });
  });

  it('ends with an accepted logout, and only with that', () => {
    traffic.send({ line: RPC, ...who });
    const { id } = traffic.onlySession();
    for (const status of [401, 404, 500]) traffic.send({ line: LOGOUT, ...who }, { status });
    traffic.send({ line: LOGOUT, ...who }, { ending: FAILED });
    expect(traffic.onlySession()).toMatchObject({ id, requests: 5 });
    traffic.send({ line: LOGOUT, ...who });
    expect([traffic.sessions(), traffic.application().sessions.find(id)]).toEqual([[], undefined]);
    traffic.send({ line: RPC, ...who });
    expect(traffic.onlySession().id).not.toBe(id);
    expect(traffic.created).toBe(2);
  });

  it('takes a call whose client left as activity and a request, without statistics', () => {
    traffic.send({ line: RPC, ...who }, { ending: CANCELLED, status: 200 });
    expect(traffic.sessions()).toEqual([]);
    traffic.send({ line: RPC, ...who });
    traffic.clock.advanceMs(1_000);
    traffic.send({ line: RPC, ...who }, { ending: CANCELLED });
    const lastActivityTime = '2026-03-01T08:00:01.000Z';
    expect(traffic.onlySession()).toMatchObject({ requests: 2, lastActivityTime, counts: { rpc: 1, [NAME]: 1 } });
  });
});

it('a wrong password counts not on the user’s session, and does not keep it alive', () => {
  const wrong = { user: 'anna', password: 'wrong' };
  traffic.send({ line: RPC, user: 'anna' });
  traffic.clock.advanceMs(IDLE_MS - 1);
  for (const status of [401, 404, 500]) traffic.send({ line: RPC, ...wrong }, { status });
  for (const ending of [FAILED, CANCELLED]) traffic.send({ line: RPC, ...wrong }, { ending });
  traffic.send({ line: LOGOUT, ...wrong }, { status: 404 });
  expect(traffic.onlySession()).toMatchObject({ requests: 1, lastActivityTime: '2026-03-01T08:00:00.000Z' });
  traffic.clock.advanceMs(1);
  expect(traffic.sessions()).toEqual([]);
});

it('a changed password goes on with the session, is then known by itself, and can end it', () => {
  traffic.send({ line: RPC, user: 'anna' });
  traffic.send({ line: RPC, user: 'anna', password: 'new' });
  for (const password of ['new', 'pass']) traffic.send({ line: RPC, user: 'anna', password }, { status: 500 });
  expect(traffic.onlySession().requests).toBe(4);
  traffic.send({ line: LOGOUT, user: 'anna', password: 'newer' });
  expect(traffic.sessions()).toEqual([]);
});

it('a call that was running at the logout does not begin the next session', () => {
  traffic.send({ line: RPC, user: 'anna' });
  const running = traffic.begin({ line: RPC, user: 'anna' });
  // The client did not wait for the whole answer.
  traffic.send({ line: LOGOUT, user: 'anna' }, { ending: CANCELLED, status: 200 });
  traffic.end(running, { afterMs: 10 });
  expect(traffic.sessions()).toEqual([]);
  expect(traffic.counts()).toEqual({ rpc: 2, [NAME]: 2 });
});

it('a user of 31 minutes’ download does not lose the session, which ends 30 idle minutes after it', () => {
  traffic.send({ line: RPC, user: 'anna' });
  const { id } = traffic.onlySession();
  const download = traffic.begin({ line: `GET ${BASE}/d2/sba/E.Files/Download`, user: 'anna' });
  traffic.clock.advanceMs(IDLE_MS + 60_000);
  expect(traffic.onlySession()).toMatchObject({ id, requests: 1 });
  traffic.end(download);
  traffic.clock.advanceMs(IDLE_MS - 1);
  expect(traffic.onlySession()).toMatchObject({ id, requests: 2 });
  traffic.clock.advanceMs(1);
  expect(traffic.sessions()).toEqual([]);
});

it('without a readable credential, also with a cookie, it is nobody’s', () => {
  for (const authorization of ['', 'Bearer YW5uYTpwYXNz', 'Basic \xff\xfe!', 'Basic YW5uYQ==']) {
    traffic.send({ line: RPC, fields: { authorization } });
  }
  for (const fields of [{}, { cookie: 'JSESSIONID=SECRET' }]) traffic.send({ line: RPC, fields });
  expect(traffic.sessions()).toEqual([]);
  expect(traffic.counts()).toEqual({ rpc: 6, [NAME]: 6 });
});

it('beyond sessions.max none is tracked, each such call is counted, and statistics go on', () => {
  traffic = new Traffic({ sessions: { ...testSessions, idleMs: IDLE_MS, max: 2 } });
  for (const user of ['anna', 'boris', 'cyril', 'cyril', 'anna']) traffic.send({ line: RPC, user });
  expect(traffic.users()).toEqual(['anna 2', 'boris 1']);
  expect([traffic.recorder.own.sessionsUntracked, traffic.created]).toEqual([2, 2]);
  expect(traffic.counts()).toEqual({ rpc: 5, [NAME]: 5 });
  traffic.send({ line: LOGOUT, user: 'boris' });
  traffic.send({ line: RPC, user: 'cyril' });
  expect(traffic.users()).toEqual(['anna 2', 'cyril 1']);
  traffic.clock.advanceMs(IDLE_MS);
  traffic.send({ line: RPC, user: 'boris' });
  expect(traffic.onlySession().userName).toBe('boris');
  expect(traffic.recorder.own.sessionsUntracked).toBe(2);
});
