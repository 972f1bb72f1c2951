import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { AccessFiles } from '../../../../src/config/config.ts';
import { AccessControl, FailureLimit } from '../../../../src/monitor/access/access-control.ts';
import { AccessList } from '../../../../src/monitor/access/access-list.ts';
import { isPassword, type PasswordHash } from '../../../../src/monitor/access/password-hash.ts';
import { ManualClock } from '../../../support/clock.ts';
import { basic, CHEAP, Folder, tokenLine, userLine } from '../../../support/monitor/access/access-files.ts';

const HERE = '192.0.2.1';
const { line: PROMETHEUS, token: TOKEN } = tokenLine('prometheus', 'metrics');
const ANN = basic('ann', 'annannann');
const BOB = basic('bob', 'bobbobbob');
const known = (name: string, role: string) => ({ kind: 'known', reader: { name, role } });
const WRONG = { kind: 'wrong', retryAfterS: 0 };
const KNOWN_ANN = known('ann', 'sessions');

let annLine: string;
let bobLine: string;
beforeAll(async () => {
  annLine = await userLine('ann', 'sessions', 'annannann');
  bobLine = await userLine('bob', 'metrics', 'bobbobbob');
});

const folder = new Folder().forTests();
let clock: ManualClock;
let files: AccessFiles;
let list: AccessList;
let control: AccessControl;
/** What passwords were compared with, right ones and decoys. */
let verified: PasswordHash[];
beforeEach(async () => {
  clock = new ManualClock();
  files = {
    usersFile: folder.write('users', `${annLine}\n${bobLine}\n`),
    tokensFile: folder.write('tokens', PROMETHEUS),
  };
  list = await AccessList.open(files);
  verified = [];
  control = new AccessControl(list, clock, (password, expected) => {
    verified.push(expected);
    return isPassword(password, expected);
  });
});

const check = (authorization: string | undefined, address = HERE) => control.check({ authorization, address });

async function readAgain(): Promise<void> {
  list = await AccessList.open(files, list);
  control.useList(list);
}

/** Wrong tokens cost nothing to find wrong, and count as wrong passwords do. */
async function fail(times: number, address = HERE): Promise<void> {
  for (let count = 0; count < times; count++) await check(`Bearer wrong${count}`, address);
}

it('a credential identifies its reader and the role, and counts as missing, not as wrong, if it is unreadable', async () => {
  expect(await check(ANN)).toEqual(KNOWN_ANN);
  expect(await check(BOB)).toEqual(known('bob', 'metrics'));
  expect(await check(`Bearer ${TOKEN}`)).toEqual(known('prometheus', 'metrics'));
  for (let count = 0; count < 20; count++) expect(await check(undefined)).toEqual({ kind: 'missing' });
  expect(await check('Digest x')).toEqual({ kind: 'missing' });
  for (const right of [ANN, `Bearer ${TOKEN}`]) expect(await check(right)).toMatchObject({ kind: 'known' });
  expect(control.counts).toEqual({ wrong: 0, limited: 0, unchecked: 0, forgotten: 0 });
});

it.each([
  ['a wrong password', basic('ann', 'annannanm')],
  ['an unknown user', basic('eve', 'annannann')],
  ['a user called like a part of every object', basic('constructor', 'annannann')],
  ['a wrong token', `Bearer ${TOKEN.slice(0, -1)}`],
  ['a hash as password', basic('ann', 'scrypt$16384$8$1$AAAA$AAAA')],
])('a credential is wrong with %s, also after the right one', async (_what, field) => {
  expect(await check(field)).toEqual(WRONG);
  await check(ANN);
  expect(await check(field)).toEqual(WRONG);
  expect(control.counts.wrong).toBe(2);
});

it('a credential costs for an unknown user always the work of the same known user if costs differ', async () => {
  const dear = { ...CHEAP, p: 2 };
  folder.write('users', `${annLine}\n${await userLine('cy', 'metrics', 'cycycycycy', dear)}\n`);
  await readAgain();
  verified = [];
  const names = Array.from({ length: 40 }, (_, index) => `eve${index}`);
  const quick = new AccessControl(list, clock, (_password, expected) => {
    verified.push(expected);
    return Promise.resolve(false);
  });
  for (const name of [...names, ...names]) await quick.check({ authorization: basic(name, 'x'), address: HERE });
  const costs = verified.map(({ p }) => p);
  expect(new Set(costs)).toEqual(new Set([1, 2]));
  expect(costs.slice(40)).toEqual(costs.slice(0, 40));
});

it('an address with too many wrong credentials gets a retry time with its next wrong one, and locks out no right token or password', async () => {
  await fail(10);
  expect(await check('Bearer wrong')).toEqual({ kind: 'wrong', retryAfterS: 6 });
  expect(await check(basic('ann', 'wrong'))).toEqual({ kind: 'wrong', retryAfterS: 6 });
  expect(await check('Bearer wrong', '192.0.2.2')).toEqual(WRONG);
  expect(control.counts).toEqual({ wrong: 13, limited: 2, unchecked: 0, forgotten: 0 });
  clock.advanceS(6);
  expect(await check('Bearer wrong')).toEqual(WRONG);
  await check(ANN);
  await fail(200);
  expect(await check(`Bearer ${TOKEN}`)).toMatchObject({ kind: 'known' });
  expect(await check(ANN)).toEqual(KNOWN_ANN);
  expect(await check(BOB)).toMatchObject({ kind: 'known' });
});

it('an address with too many wrong credentials locks nobody out by a flood: known passwords and tokens are admitted at once, others from elsewhere next', async () => {
  await check(ANN);
  await fail(10);
  verified = [];
  const flood = Array.from({ length: 200 }, (_, index) => check(basic('ann', `wrong${index}`)));
  expect(await check(ANN)).toEqual(KNOWN_ANN);
  expect(await check(`Bearer ${TOKEN}`)).toMatchObject({ kind: 'known' });
  expect(verified.length, 'before the flood is through').toBeLessThan(3);
  expect(await check(BOB, '192.0.2.2')).toMatchObject({ kind: 'known' });
  const verdicts = await Promise.all(flood);
  expect(verdicts.every((verdict) => 'retryAfterS' in verdict && verdict.retryAfterS > 0)).toBe(true);
  // All but the one that was verified at once were refused unseen.
  expect(control.counts).toMatchObject({ wrong: 10 + 1, limited: 200, unchecked: 199 });
});

/** Verifications that end only when the test says so. */
function holdVerifications() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const held = new AccessControl(list, clock, (password, expected) => {
    begun.push(password);
    const isRight = password === 'annannann' && expected === list.users.get('ann')?.password;
    return new Promise((resolve) => ends.push(() => resolve(isRight)));
  });
  const ask = (password: string, from: string, name = 'ann') =>
    held.check({ authorization: basic(name, password), address: from });
  const endAll = async () => {
    while (ends.length > 0) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const flood = (addresses: number, each: number) =>
    Array.from({ length: addresses * each }, (_, index) => ask(`wrong${index}`, `10.0.0.${index % addresses}`));
  return { held, begun, ask, flood, endAll };
}

it('a flood of wrong passwords from many addresses delays a right password by two verifications, and gives no 429 for four wrong ones', async () => {
  const { held, begun, ask, flood, endAll } = holdVerifications();
  const strangers = flood(135, 4);
  const verdict = ask('annannann', '192.0.2.7');
  await endAll();
  expect(await verdict).toEqual(KNOWN_ANN);
  expect(begun.indexOf('annannann')).toBeLessThanOrEqual(2);
  const kinds = (await Promise.all(strangers)).map(({ kind }) => kind);
  expect(new Set(kinds)).toEqual(new Set(['wrong', 'unverified']));
  expect(held.counts).toMatchObject({ unchecked: 540 - 65 + 1, limited: 540 - 65 + 1 });
});

it('a password is verified after one whose verification failed', async () => {
  const failing = new AccessControl(list, clock, (password, expected) =>
    password === 'x' ? Promise.reject(new Error('out of memory')) : isPassword(password, expected),
  );
  const failed = failing.check({ authorization: basic('ann', 'x'), address: HERE });
  const next = failing.check({ authorization: ANN, address: HERE });
  await expect(failed).rejects.toThrow('out of memory');
  expect(await next).toEqual(KNOWN_ANN);
});

it.each(['ann', 'eve'])('a wrong password of %s, sent at once, is verified once: one failure', async (name) => {
  const { held, begun, ask, endAll } = holdVerifications();
  const same = Promise.all(Array.from({ length: 12 }, () => ask('slip', HERE, name)));
  await endAll();
  expect((await same).map(({ kind }) => kind)).toEqual(Array(12).fill('wrong'));
  expect([begun.length, held.counts.wrong]).toEqual([1, 12]);
  const next = ask('other', HERE, name);
  await endAll();
  expect(await next).toEqual(WRONG);
});

it('a list that was read again refuses removed readers, admits new ones, and keeps the cached verifications of the others', async () => {
  await check(ANN);
  await check(BOB);
  folder.write('users', `${annLine}\n${await userLine('bob', 'metrics', 'other password')}\n`);
  folder.write('tokens', tokenLine('grafana', 'metrics').line);
  await readAgain();
  verified = [];
  expect(await check(ANN)).toEqual(KNOWN_ANN);
  expect(verified).toEqual([]);
  expect(await check(BOB)).toEqual(WRONG);
  expect(await check(basic('bob', 'other password'))).toMatchObject({ kind: 'known' });
  expect(await check(`Bearer ${TOKEN}`)).toEqual(WRONG);
  folder.write('users', annLine.replace(':sessions:', ':metrics:'));
  await readAgain();
  expect(await check(ANN), 'with a changed role').toEqual(known('ann', 'metrics'));
});

it('a list that was read again refuses a reader who was removed while the password was verified', async () => {
  folder.write('users', bobLine);
  const changed = await AccessList.open(files, list);
  const verdict = check(ANN);
  control.useList(changed);
  expect(await verdict).toEqual(WRONG);
});

it('the limit on failures remembers a bounded number of addresses, and evicts the one that failed longest ago', () => {
  const limit = new FailureLimit(clock);
  for (let count = 0; count < 10; count++) {
    limit.add('first');
    limit.add('second');
  }
  for (let index = 0; index < 9_998; index++) limit.add(`a${index}`);
  limit.add('first');
  expect(limit.evicted).toBe(0);
  limit.add('one more');
  expect(limit.evicted).toBe(1);
  expect([limit.retryAfterS('first'), limit.retryAfterS('second')]).toEqual([6, 0]);
});
