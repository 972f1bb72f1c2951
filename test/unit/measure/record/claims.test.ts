/**
 * Whose a call is that brings more than one thing that the server may have accepted it for. The server here takes a valid login
 * cookie first and looks at nothing else then, as Tomcat does with a cached principal.
 */
import { beforeEach, expect, it } from 'vitest';
import { MAX_CLAIMS_PER_LOGIN } from '../../../../src/measure/sessions/claim-index.ts';
import type { Sent } from '../../../support/measure/record/traffic.ts';
import { CANCELLED, FAILED, LOGIN, LOGOUT, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
import { testSessions } from '../../../support/wire/test-config.ts';

let traffic: Traffic;
beforeEach(() => {
  traffic = new Traffic();
});

const IDLE_MS = 30 * 60_000;
const RIGHT = { user: 'anna' };
const WRONG = { user: 'anna', password: 'wrong' };
const KEY = { apiKey: 'key-of-anna' };
const COOKIE = { cookie: 'JSESSIONID=of-mallory' };

const basic = (credential: string) => `Basic ${Buffer.from(credential).toString('base64')}`;

/** Ways to bring mallory's login; sessions/companions.test.ts has the forms of each. */
const LOGINS: [string, Sent][] = [
  ['a cookie', { line: RPC, ...WRONG, fields: COOKIE }],
  ['a path parameter', { line: `${RPC};jsessionid=of-mallory`, ...WRONG }],
  ['another credential', { line: RPC, ...WRONG, apiKey: 'key-1' }],
  ['another line', { line: RPC, fields: { authorization: [basic('anna:wrong'), basic('mallory:x')] } }],
];

function annasOf(traffic: Traffic) {
  const entry = traffic.sessions().find(({ userName, verified }) => userName === 'anna' && verified === undefined);
  return entry && { entry, counts: traffic.counts(entry.id) };
}

const unverifiedOf = (traffic: Traffic) => traffic.sessions().filter(({ verified }) => verified === false);

for (const [what, login] of LOGINS) {
  it(`is untouched by her name beside ${what} of another one`, () => {
    traffic.send({ line: RPC, ...RIGHT });
    traffic.clock.advanceMs(1_000);
    const before = annasOf(traffic);
    const sent = { ...login, from: '10.0.0.66' };
    for (const status of [200, 500]) traffic.send(sent, { status });
    traffic.send(sent, { ending: FAILED });
    traffic.send(sent, { ending: CANCELLED, status: 200 });
    expect(annasOf(traffic)).toEqual(before);
    expect(unverifiedOf(traffic)).toMatchObject([{ userName: 'anna', requests: 4, remoteAddress: '10.0.0.66' }]);
    const out = sent.line.replace(RPC, LOGOUT);
    traffic.send({ ...sent, line: out });
    expect(annasOf(traffic)).toEqual(before);
    expect(unverifiedOf(traffic)).toEqual([]);
    traffic.send({ ...sent, line: out });
    traffic.clock.advanceMs(IDLE_MS - 1_000);
    expect(traffic.sessions()).toEqual([]);
  });
}

it('anna’s session is not begun, named or joined by a claim that came before it', () => {
  traffic.send({ line: LOGIN, ...WRONG, fields: COOKIE });
  const [claim] = unverifiedOf(traffic);
  traffic.send({ line: RPC, ...RIGHT });
  expect(annasOf(traffic)?.entry).toMatchObject({ userName: 'anna', requests: 1 });
  expect(annasOf(traffic)?.entry.id).not.toBe(claim?.id);
  expect(unverifiedOf(traffic)).toEqual([claim]);
});

it.each<[string, Partial<Sent>, string[]]>([
  ['the right password', RIGHT, ['anna 3', 'null 1']],
  ['her key, seen before', KEY, ['anna 1', 'null 3']],
])('anna’s session takes a call with %s and any cookie, and none with a cookie alone', (_what, who, users) => {
  for (const known of [RIGHT, KEY]) traffic.send({ line: RPC, ...known });
  for (const fields of [{ cookie: 'JSESSIONID=of-anna' }, COOKIE]) {
    traffic.send({ line: RPC, fields });
    traffic.send({ line: RPC, ...who, fields });
  }
  expect(traffic.users()).toEqual(users);
});

it('an unverified session is found by cookie and credential together, and by neither alone', () => {
  traffic.send({ line: RPC, ...WRONG, fields: COOKIE });
  traffic.send({ line: RPC, ...WRONG }, { status: 401 });
  traffic.send({ line: RPC, fields: COOKIE });
  traffic.send({ line: RPC, ...WRONG, fields: { cookie: 'JSESSIONID=other' } }, { status: 500 });
  expect(traffic.onlySession()).toMatchObject({ requests: 1, counts: { rpc: 1 } });
  traffic.send({ line: RPC, ...WRONG, fields: COOKIE }, { status: 500 });
  traffic.send({ line: RPC, ...WRONG, fields: { cookie: 'lang=sk; JSESSIONID=of-mallory' } });
  expect(traffic.onlySession()).toMatchObject({ requests: 3 });
});

it('an unverified session is not begun by a refused call, one that failed, or a logout', () => {
  for (const status of [401, 500]) traffic.send({ line: RPC, ...WRONG, fields: COOKIE }, { status });
  traffic.send({ line: RPC, ...WRONG, fields: COOKIE }, { ending: FAILED });
  traffic.send({ line: LOGOUT, ...WRONG, fields: COOKIE });
  expect(traffic.sessions()).toEqual([]);
});

it('an unverified session keeps a call that runs from ending it, and is not begun anew by one that ran at its end', () => {
  traffic.send({ line: RPC, ...WRONG, fields: COOKIE });
  const running = traffic.begin({ line: RPC, ...WRONG, fields: COOKIE });
  traffic.clock.advanceMs(2 * IDLE_MS);
  expect(traffic.sessions()).toHaveLength(1);
  traffic.send({ line: LOGOUT, ...WRONG, fields: COOKIE });
  traffic.end(running);
  expect(traffic.sessions()).toEqual([]);
});

it('an unverified session becomes verified when its credential is proven and its user has no other: same id, same numbers', () => {
  traffic.send({ line: RPC, ...RIGHT, fields: { cookie: 'JSESSIONID=of-anna' } });
  const { id, ...shown } = traffic.onlySession();
  expect(shown).toMatchObject({ userName: 'anna', requests: 1, verified: false });
  traffic.send({ line: RPC, ...RIGHT });
  expect(traffic.onlySession()).toMatchObject({ id, requests: 2, counts: { rpc: 2 } });
  expect(traffic.onlySession().verified).toBeUndefined();
  traffic.send({ line: RPC, ...RIGHT, fields: { cookie: 'JSESSIONID=another' } });
  expect(traffic.onlySession()).toMatchObject({ id, requests: 3 });
  traffic.send({ line: LOGOUT, ...RIGHT });
  expect(traffic.sessions()).toEqual([]);
});

it('an unverified session stays unverified when another credential of its user is proven, or it has come with two', () => {
  traffic.send({ line: RPC, ...WRONG, fields: COOKIE });
  traffic.send({ line: RPC, ...RIGHT });
  expect(traffic.users()).toEqual(['anna 1, unverified', 'anna 1']);
  traffic.send({ line: LOGOUT, ...RIGHT });
  expect(traffic.users()).toEqual(['anna 1, unverified']);
  traffic.send({ line: RPC, ...RIGHT, fields: COOKIE });
  expect(traffic.users()).toEqual(['anna 2, unverified']);
  traffic.send({ line: RPC, ...RIGHT });
  expect(traffic.users()).toEqual(['anna 2, unverified', 'anna 1']);
});

it(`the bounds of unverified sessions are ${MAX_CLAIMS_PER_LOGIN} for each login: 9,700 random keys with one cookie leave sessions.max alone`, () => {
  traffic = new Traffic({ sessions: { ...testSessions, max: 100 } });
  for (let i = 0; i < 9_700; i += 1) {
    traffic.send({ line: RPC, apiKey: `random-${i}`, fields: COOKIE, from: `10.${i >> 8}.${i & 255}.1` });
  }
  expect(unverifiedOf(traffic)).toHaveLength(MAX_CLAIMS_PER_LOGIN);
  const claimsRefused = { cookie: 9_700 - MAX_CLAIMS_PER_LOGIN, address: 0 };
  expect(traffic.recorder.own).toMatchObject({ sessionsUntracked: 0, claimsRefused });
  traffic.send({ line: RPC, ...RIGHT });
  expect(annasOf(traffic)).toBeDefined();
  expect(traffic.counts()).toMatchObject({ rpc: 9_701 });
  // More logins at once than are looked at.
  const cookie = Array.from({ length: 9 }, (_, i) => `JSESSIONID=fresh-${i}`).join('; ');
  traffic.send({ line: RPC, apiKey: 'random', fields: { cookie } });
  expect(unverifiedOf(traffic)).toHaveLength(MAX_CLAIMS_PER_LOGIN);
});

it('the bounds of unverified sessions are 32 new ones for each address in a minute', () => {
  const send = (from: string) => {
    for (let i = 0; i < 100; i += 1) {
      traffic.send({ line: RPC, apiKey: `random-${i}`, fields: { cookie: `JSESSIONID=${from}-${i}` }, from });
    }
  };
  send('10.0.0.7');
  expect(unverifiedOf(traffic)).toHaveLength(32);
  expect(traffic.recorder.own.claimsRefused).toEqual({ cookie: 0, address: 68 });
  send('10.0.0.8');
  expect(unverifiedOf(traffic)).toHaveLength(64);
  traffic.clock.advanceMs(60_000);
  send('10.0.0.7');
  expect(unverifiedOf(traffic)).toHaveLength(96);
});

it('the bounds of unverified sessions are given back when a session ends or is verified', () => {
  const apiKeys = Array.from({ length: MAX_CLAIMS_PER_LOGIN }, (_, i) => `k${i}`);
  for (const apiKey of apiKeys) traffic.send({ line: RPC, apiKey, fields: COOKIE });
  traffic.send({ line: RPC, user: 'anna', fields: COOKIE });
  expect(unverifiedOf(traffic)).toHaveLength(MAX_CLAIMS_PER_LOGIN);
  traffic.send({ line: LOGOUT, apiKey: 'k0', fields: COOKIE });
  traffic.send({ line: RPC, apiKey: 'k1' });
  for (const user of ['anna', 'boris', 'cyril']) traffic.send({ line: RPC, user, fields: COOKIE });
  expect(unverifiedOf(traffic)).toHaveLength(MAX_CLAIMS_PER_LOGIN);
  traffic.clock.advanceMs(IDLE_MS);
  for (const apiKey of apiKeys) traffic.send({ line: RPC, apiKey, fields: COOKIE });
  expect(unverifiedOf(traffic)).toHaveLength(MAX_CLAIMS_PER_LOGIN);
});

it('a client certificate proves its name, also beside a cookie', () => {
  const holder = { certificateUser: 'anna', certificateSubject: 'CN=anna' };
  traffic.send({ line: RPC, fields: COOKIE, holder });
  expect(traffic.users()).toEqual(['anna 1']);
});
