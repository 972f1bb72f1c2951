import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { Random } from '../../support/fuzz/random.ts';
import { type CometTraffic, GONE_MS, IDLE_MS } from '../../support/measure/comet/comet-traffic.ts';
import { BASE, CANCELLED, FAILED, LOGOUT, METRICS, RPC } from '../../support/measure/record/traffic.ts';
import { type Life, StateFolder } from '../../support/state/restart.ts';
import { encodeRecords, linesOf, recordsOf } from '../../support/state/state-records.ts';
import { shownOf } from './recorded.ts';

const folder = new StateFolder().forTests();
let first: Life;

beforeEach(async () => {
  first = await folder.start();
});

const USERS = 6;

/** Traffic of all kinds, for about 20 minutes. */
function live({ traffic }: Life, seed: number, talk = comet): void {
  const random = new Random(seed);
  const pick = (n: number) => random.below(n);
  const names = ['TestIn', 'TestOut', 'Údaj', '\ud83d\ude00'];
  for (let i = 0; i < 400; i += 1) {
    traffic.clock.advanceMs(pick(6_000));
    const user = `user${pick(USERS)}`;
    const name = encodeURIComponent(names[pick(4)] ?? '');
    const afterMs = random.chance(0.1) ? pick(30_000) : pick(200);
    const status = [200, 200, 200, 404, 500][pick(5)] ?? 200;
    const kind = pick(8);
    if (kind < 3) traffic.send({ line: `POST ${BASE}/d2/rpc/E.Demo/${name}`, user }, { afterMs, status });
    else if (kind === 3) traffic.send({ line: `POST ${BASE}/d2/sba/Demo/${name}`, apiKey: 'key-1' }, { afterMs });
    else if (kind === 4)
      traffic.send({ line: `GET ${BASE}/d2/object/H.${name}`, user, ...beside(pick(3)) }, { afterMs });
    else if (kind === 5) traffic.send({ line: RPC, user }, { ending: random.chance(0.5) ? FAILED : CANCELLED });
    else talk(traffic, `client${pick(8)}`, pick(4));
  }
}

/** Nothing, or what makes a claim of a credential. */
function beside(which: number) {
  return which === 0 ? {} : { fields: { cookie: `JSESSIONID=login-${which}` } };
}

function comet(traffic: CometTraffic, clientId: string, what: number): void {
  const sender = { cookie: `cookie-${clientId.at(-1)}` };
  if (what === 0) traffic.handshake(clientId, sender);
  else if (what === 1) traffic.subscribe(clientId, ['/d2/object/H.A', `/d2/object/H.${clientId}`], sender);
  else if (what === 2) traffic.release(traffic.hold(clientId, sender), [{ channel: '/d2/object/H.A', data: { v: 1 } }]);
  else traffic.disconnect(clientId, sender);
}

const durationsOf = ({ traffic }: Life) => traffic.application().statistics.rpc.metrics().timers.get('rpc')?.snapshot();

/** Sessions that begin have ids of their own, and how late a connect is does not outlive a restart: so no more of Comet. */
function none(): void {}

it.each([1, 2, 3, 4, 5, 6, 7, 8])('restored state shows the same numbers as before (seed %d)', async (seed) => {
  live(first, seed);
  const second = await folder.restart(first);
  expect(second.keeper.restored).toBe('restored');
  expect(shownOf(second.traffic)).toEqual(shownOf(first.traffic));
});

it.each([1, 2, 3])('restored state continues as if there had been no restart (seed %d)', async (seed) => {
  live(first, seed);
  const second = await folder.restart(first);
  for (const { traffic } of [first, second]) {
    // Passwords are known again with the next accepted call.
    for (let i = 0; i < USERS; i += 1) traffic.send({ line: RPC, user: `user${i}` });
  }
  live(first, seed + 100, none);
  live(second, seed + 100, none);
  expect(shownOf(second.traffic)).toEqual(shownOf(first.traffic));
});

it('restored state reflects the time without a sidecar: averages have decayed, windows are empty, counts stay', async () => {
  live(first, 1);
  const second = await folder.restart(first, 10 * 60_000);
  first.traffic.clock.advanceMs(10 * 60_000);
  expect(durationsOf(second)).toEqual(durationsOf(first));
  expect(durationsOf(second)).toMatchObject({ max: 0, p99: 0 });
  expect(durationsOf(second)?.count).toBeGreaterThan(100);
  // The wall clock has gone backwards.
  const third = await folder.restart(first, -24 * 3_600_000);
  expect(durationsOf(third)).toEqual(durationsOf(first));
  expect(third.traffic.sessions()).toHaveLength(first.traffic.sessions().length);
});

it('sessions after a restart of a password are found again by their user, with the next accepted call', async () => {
  first.traffic.send({ line: RPC, user: 'ann' });
  const second = await folder.restart(first, 60_000);
  const id = first.traffic.onlySession().id;
  second.traffic.send({ line: RPC, user: 'ann', password: 'wrong' }, { status: 401 });
  expect(second.traffic.onlySession()).toMatchObject({ id, requests: 1 });
  second.traffic.send({ line: RPC, user: 'ann' });
  expect(second.traffic.onlySession()).toMatchObject({ id, requests: 2, counts: { rpc: 2 } });
  second.traffic.send({ line: LOGOUT, user: 'ann' });
  expect(second.traffic.sessions()).toEqual([]);
});

it('sessions after a restart that are unverified stay so, go on with the same user and login, and keep their share of its bound', async () => {
  const fields = { cookie: 'JSESSIONID=one' };
  for (let i = 0; i < 7; i += 1) first.traffic.send({ line: RPC, apiKey: `key ${i}`, fields });
  first.traffic.send({ line: RPC, user: 'ann', fields });
  const second = await folder.restart(first, 60_000);
  const { traffic } = second;
  expect(traffic.sessions()).toEqual(first.traffic.sessions());
  const { id } = traffic.sessions().at(-1) ?? {};
  traffic.send({ line: RPC, user: 'bob', fields });
  expect(traffic.recorder.own.claimsRefused).toEqual({ cookie: 1, address: 0 });
  traffic.send({ line: RPC, user: 'ann', fields });
  expect(traffic.sessions().at(-1)).toMatchObject({ id, requests: 2, verified: false });
  traffic.send({ line: RPC, user: 'ann' });
  expect(traffic.sessions().at(-1)).toMatchObject({ id, requests: 3 });
  expect(traffic.sessions().at(-1)?.verified).toBeUndefined();
  const third = await folder.restart(second, 60_000);
  third.traffic.send({ line: RPC, user: 'ann' });
  expect(third.traffic.sessions().at(-1)).toMatchObject({ id, requests: 4 });
  expect(third.traffic.recorder.own.claimsRefused).toEqual({ cookie: 1, address: 0 });
});

it('sessions after a restart end by the usual rules, for which the downtime counts', async () => {
  first.traffic.send({ line: RPC, user: 'ann' });
  first.traffic.handshake('client1', { cookie: 'one' });
  first.traffic.subscribe('client1', '/d2/object/H.A', { cookie: 'one' });
  const hold = first.traffic.hold('client1', { cookie: 'one' });
  const users = ({ traffic }: Life) => traffic.sessions().map(({ connectionType }) => connectionType);
  const soon = await folder.restart(first, GONE_MS - 1);
  expect(users(soon)).toEqual(['REST', 'COMET_LONG_POLLING']);
  expect(soon.traffic.gauges()).toEqual({ active: 2, monitored: 1, subscriptions: 1 });
  const later = await folder.start(first.traffic.clock.epochMs() + GONE_MS);
  expect(users(later)).toEqual(['REST']);
  expect(later.traffic.gauges()).toEqual({ active: 1, monitored: 0, subscriptions: 0 });
  expect(users(await folder.start(first.traffic.clock.epochMs() + IDLE_MS))).toEqual([]);
  first.traffic.release(hold);
});

it('sessions after a restart of Comet go on with the same clientId: session, tabs and monitorings, without a new login', async () => {
  const sender = { cookie: 'one' };
  first.traffic.login('ann', {}, { setCookie: 'one' });
  first.traffic.handshake('client1', sender);
  first.traffic.subscribe('client1', ['/d2/object/H.A', '/d2/object/H.B'], sender);
  const second = await folder.restart(first, 20_000);
  const { id } = first.traffic.onlySession();
  const { traffic } = second;
  traffic.release(traffic.hold('client1', sender), [{ channel: '/d2/object/H.A', data: {} }]);
  expect(traffic.onlySession()).toMatchObject({ id, userName: 'ann', counts: { 'object.H.A.newValues': 1 } });
  expect(traffic.numbers).toMatchObject({ counts: { adopted: 0, connectGaps: 0, accepted: 1 } });
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 2, subscriptions: 2 });
  traffic.disconnect('client1', sender);
  expect(traffic.gauges()).toMatchObject({ monitored: 0, subscriptions: 0 });
  traffic.clock.advanceMs(GONE_MS);
  expect(traffic.sessions()).toEqual([]);
});

it('sessions after a restart whose objects were folded into (other) do not fold them again', async () => {
  const change = { metrics: { ...METRICS, maxNamesPerSession: 1, maxNames: { rpc: 1, sba: 1, object: 1 } } };
  first = await folder.start(undefined, change);
  first.traffic.handshake('client1');
  first.traffic.subscribe('client1', ['/d2/object/H.A', '/d2/object/H.B']);
  const second = await folder.restart(first, 0, change);
  const { object } = second.traffic.application().statistics;
  expect(object.foldedCount).toBe(1);
  expect(second.traffic.subscriptionsOf('(other)')).toBe(1);
  second.traffic.disconnect('client1');
  expect(second.traffic.gauges()).toMatchObject({ monitored: 0, subscriptions: 0 });
});

it('the state file never includes credentials, cookies, client ids or hashes of passwords', async () => {
  const { traffic, keeper } = first;
  traffic.send({ line: RPC, user: 'ann', password: 'Pa55word' });
  traffic.send({ line: RPC, apiKey: 'k3y-of-the-historian' });
  traffic.login('bob', {}, { setCookie: 'c00kie-of-bob' });
  traffic.handshake('cl1ent-of-bob', { cookie: 'c00kie-of-bob' });
  traffic.subscribe('cl1ent-of-bob', '/d2/object/H.A', { cookie: 'c00kie-of-bob' });
  await keeper.save();
  const text = linesOf(readFileSync(folder.file)).join('\n');
  const secrets = ['Pa55word', 'k3y-of-the-historian', 'c00kie-of-bob', 'cl1ent-of-bob', 'geheim'];
  const basic = Buffer.from('ann:Pa55word').toString('base64');
  expect([...secrets, basic].filter((secret) => text.includes(secret))).toEqual([]);
  // The users are, as the documentation says.
  expect(text.includes('ann')).toBe(true);
  expect(passwordHash(text, basic)).toBeUndefined();
});

/** As `Credentials` would hash it with the key that is in the file; undefined if that hash is not in it. */
function passwordHash(text: string, basic: string): string | undefined {
  const [, secret = ''] = /"secret":"([^"]+)"/.exec(text) ?? [];
  expect(secret).toHaveLength(22);
  const digest = createHash('sha256').update(`${secret}basic:Basic ${basic}`).digest();
  return [digest.toString('hex'), digest.toString('base64')].find((hashed) => text.includes(hashed));
}

type Fields = Record<string, unknown>;

/** Starts with a file of another version: after each record of a file of this version was changed by `change`. */
async function startWith(change: (record: Fields) => void, more: readonly Fields[] = []): Promise<Life> {
  const { traffic, keeper } = first;
  traffic.send({ line: RPC, user: 'ann' }, { afterMs: 12 });
  traffic.send({ line: RPC, user: 'ann' }, { ending: FAILED });
  traffic.send({ line: RPC, user: 'ann' }, { ending: CANCELLED });
  traffic.send({ line: `GET ${BASE}/d2/sba/E.Demo/Read`, apiKey: 'key-1' }, { afterMs: 3 });
  traffic.send({ line: `GET ${BASE}/d2/object/H.Pump`, user: 'ann' });
  traffic.login('bob', {}, { setCookie: 'one' });
  traffic.handshake('client1', { cookie: 'one' });
  traffic.subscribe('client1', ['/d2/object/H.Boiler', '/d2/object/H.Pump'], { cookie: 'one' });
  traffic.release(traffic.hold('client1', { cookie: 'one' }), [{ channel: '/d2/object/H.Boiler', data: { value: 1 } }]);
  await keeper.save();
  const [header, ...records] = recordsOf(readFileSync(folder.file));
  for (const record of records) change(record);
  writeFileSync(folder.file, encodeRecords([header, ...records, ...more]), { mode: 0o600 });
  const life = await folder.start(traffic.clock.epochMs());
  expect(life.keeper.restored).toBe('restored');
  return life;
}

it('a file without fields that came later is restored: these have their defaults', async () => {
  const { traffic } = await startWith((record) => {
    for (const field of ['timer', 'errorRates', 'outcomes', 'unnamed']) delete record[field];
    if (record.record === 'recorder') {
      delete record.comet;
      delete (record.own as Fields).aborted;
    }
    if (record.record !== 'session') return;
    delete record.remoteAddress;
    for (const one of (record.statistics ?? []) as Fields[]) delete one.timer;
  });
  expect(traffic.counts()).toMatchObject({ rpc: 1, 'rpc.E.Demo.TestInOut': 1, sba: 1, 'object.newValues': 2 });
  expect(traffic.sessions()).toContainEqual(expect.objectContaining({ userName: 'ann', remoteAddress: '' }));
  expect(traffic.recorder.own).toMatchObject({ aborted: { rpc: 0 }, unanswered: { rpc: 1 } });
  expect(traffic.numbers.holds.ended).toEqual({ delivery: 0, empty: 0, broken: 0 });
});

it('a file with fields and records that this version does not know is restored without them', async () => {
  const { traffic } = await startWith(
    (record) => {
      record.colour = { of: ['the', 'plant'] };
      if (record.record === 'recorder') (record.own as Fields).overtaken = 7;
    },
    [{ record: 'forecast', at: 12 }],
  );
  expect(shownOf(traffic)).toEqual(shownOf(first.traffic));
});
