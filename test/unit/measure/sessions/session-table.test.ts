/** What the table alone decides. When sessions begin and end: record/sessions.test.ts and comet/. */
import { beforeEach, expect, it } from 'vitest';
import { AddressRate } from '../../../../src/limits/address-counts.ts';
import { CLAIMS_PER_ADDRESS } from '../../../../src/measure/sessions/claim-index.ts';
import type { Session } from '../../../../src/measure/sessions/session.ts';
import { MAX_TOKENS_PER_SESSION, SessionTable } from '../../../../src/measure/sessions/session-table.ts';
import { SessionStatistics } from '../../../../src/metrics/statistics.ts';
import { Timer } from '../../../../src/metrics/timer.ts';
import { ManualClock } from '../../../support/clock.ts';
import { Random } from '../../../support/fuzz/random.ts';

const IDLE_MS = 30 * 60_000;
const GONE_MS = 5 * 60_000;

let clock: ManualClock;
let table: SessionTable;
beforeEach(() => {
  clock = new ManualClock();
  table = new SessionTable({
    config: { idleMs: IDLE_MS, cometGoneMs: GONE_MS, max: 50 },
    clock,
    created: new Timer({ clock }),
    claimRate: new AddressRate(clock, CLAIMS_PER_ADDRESS),
    createStatistics: () => new SessionStatistics(clock, 10),
  });
});

function begin(user: string): Session | undefined {
  return table.begin(`key of ${user}`, `token of ${user}`, {
    ...{ userName: user, connectionType: 'REST', remoteAddress: '10.0.0.7' },
    ...{ atNs: clock.nowNs(), creationNs: 2_000_000 },
  });
}

const mustBegin = (user: string) => begin(user) as Session;
const join = (token: string) => table.join('key of anna', token, clock.nowNs());
const recognise = (token: string) => table.recognise(token, clock.nowNs());
const users = () => [...table.entries()].map(({ userName }) => userName);

it('sessions are listed oldest first, in the form of the interface', () => {
  const anna = mustBegin('anna');
  clock.advanceMs(61_001);
  const boris = mustBegin('boris');
  clock.advanceMs(1_000);
  anna.callBegan(clock.nowNs());
  clock.advanceMs(5);
  anna.callEnded(clock.nowNs());
  const entry = (id: string, userName: string, times: string[], requests: number) => {
    const [createTime, lastActivityTime] = times.map((time) => `2026-03-01T08:${time}Z`);
    return { id, createTime, userName, connectionType: 'REST', lastActivityTime, remoteAddress: '10.0.0.7', requests };
  };
  const expected = [
    entry(anna.id, 'anna', ['00:00.000', '01:02.006'], 1),
    entry(boris.id, 'boris', ['01:01.001', '01:01.001'], 0),
  ];
  expect([...table.entries()]).toEqual(expected);
  expect(Object.keys([...table.entries()][0] ?? {})).toEqual(Object.keys(expected[0] ?? {}));
  expect(anna.id).toMatch(/^[0-9a-f-]{36}$/);
});

it.each<[string, (session: Session) => unknown]>([
  ['the list', () => [...table.entries()][0]?.id],
  ['find', ({ id }) => table.find(id)?.id],
  ['sessions.active', ({ id }) => (table.metrics().gauges.get('sessions.active')?.read() ? id : undefined)],
  ['a call with its token', () => recognise('token of anna')?.id],
  ['a call with its key', () => join('other')?.id],
])('idle sessions end after 30 minutes to the millisecond, as %s sees it', (_what, read) => {
  const session = mustBegin('anna');
  clock.advanceMs(IDLE_MS - 1);
  expect(read(session)).toBe(session.id);
  clock.advanceMs(1);
  expect(read(session)).toBeUndefined();
});

it('the tokens of one session are bounded: it forgets the oldest and keeps the session', () => {
  const anna = mustBegin('anna');
  for (let i = 1; i <= MAX_TOKENS_PER_SESSION; i += 1) expect(join(`token ${i}`)).toBe(anna);
  expect(recognise('token of anna')).toBeUndefined();
  for (const i of [1, MAX_TOKENS_PER_SESSION]) expect(recognise(`token ${i}`)).toBe(anna);
});

it('an ended session cannot be found by its id, its tokens or its key, and does not end the next one of its user when it is ended again', () => {
  const anna = mustBegin('anna');
  join('second token');
  table.end(anna);
  expect([users(), table.find(anna.id), join('token of anna')]).toEqual([[], undefined, undefined]);
  for (const token of ['token of anna', 'second token']) expect(recognise(token)).toBeUndefined();
  table.end(anna);
  mustBegin('anna');
  table.end(anna);
  expect(users()).toEqual(['anna']);
});

it('a session reports its end once, by a logout, after sessions.cometGone without a connection though a call runs, or idle', () => {
  const ends: string[] = [];
  const sessions = ['anna', 'boris', 'cyril'].map(mustBegin);
  for (const session of sessions) session.whenEnded(() => ends.push(session.userName ?? ''));
  const [anna, boris] = sessions as [Session, Session];
  table.end(anna);
  table.end(anna);
  boris.callBegan(clock.nowNs());
  table.gone(boris, clock.nowNs());
  clock.advanceMs(GONE_MS - 1);
  expect(users()).toEqual(['boris', 'cyril']);
  for (const ms of [1, IDLE_MS]) {
    clock.advanceMs(ms);
    table.sweep();
  }
  expect(ends).toEqual(['anna', 'boris', 'cyril']);
});

it('the counts by connection type agree with the list after sessions end, change and expire', () => {
  const TYPES = ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'] as const;
  const random = new Random(12);
  const seen: Session[] = [];
  const counted = { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 };
  for (let step = 0; step < 5_000; step += 1) {
    const type = random.pick(TYPES);
    const session = random.chance(0.4) ? begin(`user ${random.below(200)}`) : random.pick(table.sessions());
    if (session !== undefined) seen.push(session);
    // Also of those that have ended.
    if (random.chance(0.5) && seen.length > 0) random.pick(seen).connectedOver(type);
    if (random.chance(0.2) && seen.length > 0) table.end(random.pick(seen));
    if (random.chance(0.01)) clock.advanceMs(random.below(2 * IDLE_MS));
    const expected = { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 };
    for (const { connectionType } of [...table.entries()]) expected[connectionType] += 1;
    expect(table.countsByType()).toEqual(expected);
    for (const each of TYPES) counted[each] += expected[each];
  }
  expect(Math.min(...Object.values(counted))).toBeGreaterThan(1_000);
});
