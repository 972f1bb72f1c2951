import { describe, expect, it } from 'vitest';
import { AddressRate } from '../../../../src/limits/address-rate.ts';
import { CLAIMS_PER_ADDRESS } from '../../../../src/measure/sessions/claim-index.ts';
import type { Session } from '../../../../src/measure/sessions/session.ts';
import { MAX_TOKENS_PER_SESSION, SessionTable } from '../../../../src/measure/sessions/session-table.ts';
import { LifetimeTimer } from '../../../../src/metrics/lifetime-timer.ts';
import { emptyMetricSet } from '../../../../src/metrics/metric-set.ts';
import { SessionStatistics } from '../../../../src/metrics/statistics.ts';
import { ManualClock } from '../../../support/clock.ts';
import { Random } from '../../../support/fuzz/random.ts';

const IDLE_MS = 30 * 60_000;
const GONE_MS = 5 * 60_000;
const METRICS = {
  windowMs: 300_000,
  durationUnit: 'seconds',
  maxNames: { rpc: 10, sba: 10, object: 10 },
  maxNamesPerSession: 10,
} as const;

class Fixture {
  readonly clock: ManualClock;
  readonly created: LifetimeTimer;
  readonly table: SessionTable;
  statisticsMade = 0;

  constructor(max = 100, clock = new ManualClock()) {
    this.clock = clock;
    this.created = new LifetimeTimer(clock);
    this.table = new SessionTable({
      config: { idleMs: IDLE_MS, cometGoneMs: GONE_MS, max },
      clock: this.clock,
      created: this.created,
      claimRate: new AddressRate(clock, CLAIMS_PER_ADDRESS),
      sessionMetrics: {
        createStatistics: () => {
          this.statisticsMade += 1;
          return new SessionStatistics(this.clock, METRICS.maxNamesPerSession);
        },
        createMetrics: () => emptyMetricSet,
      },
    });
  }

  begin(user: string, remoteAddress = '10.0.0.7', token = `token of ${user}`): Session | undefined {
    return this.table.begin(`key of ${user}`, token, {
      userName: user,
      connectionType: 'REST',
      remoteAddress,
      atNs: this.clock.nowNs(),
      creationNs: 2_000_000,
    });
  }

  mustBegin(user: string): Session {
    const session = this.begin(user);
    if (session === undefined) throw new Error('the table is full');
    return session;
  }

  recognise(token: string): Session | undefined {
    return this.table.recognise(token, this.clock.nowNs());
  }

  users(): (string | null)[] {
    return [...this.table.entries()].map(({ userName }) => userName);
  }
}

describe('the list', () => {
  it('shows sessions oldest first, in the form of the interface', () => {
    const { clock, table, mustBegin } = bound(new Fixture());
    const anna = mustBegin('anna');
    clock.advanceMs(61_001);
    const boris = mustBegin('boris');
    clock.advanceMs(1_000);
    anna.callBegan(clock.nowNs());
    clock.advanceMs(5);
    anna.callEnded(clock.nowNs());
    expect([...table.entries()]).toEqual([
      {
        id: anna.id,
        createTime: '2026-03-01T08:00:00.000Z',
        userName: 'anna',
        connectionType: 'REST',
        lastActivityTime: '2026-03-01T08:01:02.006Z',
        remoteAddress: '10.0.0.7',
        requests: 1,
      },
      {
        id: boris.id,
        createTime: '2026-03-01T08:01:01.001Z',
        userName: 'boris',
        connectionType: 'REST',
        lastActivityTime: '2026-03-01T08:01:01.001Z',
        remoteAddress: '10.0.0.7',
        requests: 0,
      },
    ]);
    expect(Object.keys([...table.entries()][0] ?? {})).toEqual([
      'id',
      'createTime',
      'userName',
      'connectionType',
      'lastActivityTime',
      'remoteAddress',
      'requests',
    ]);
  });

  it('gives every session its own id, also the next one of the same user', () => {
    const { table, mustBegin } = bound(new Fixture());
    const first = mustBegin('anna');
    table.end(first);
    const second = mustBegin('anna');
    expect(second.id).not.toBe(first.id);
    expect(second.id).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('idle sessions', () => {
  const reads: [string, (fixture: Fixture, session: Session) => unknown][] = [
    ['the list', ({ table }) => [...table.entries()][0]?.id],
    ['find', ({ table }, { id }) => table.find(id)?.id],
    [
      'sessions.active',
      ({ table }, { id }) => (table.metrics().gauges.get('sessions.active')?.read() ? id : undefined),
    ],
    ['a call with its token', (fixture) => fixture.recognise('token of anna')?.id],
    ['a call with its key', ({ table, clock }) => table.join('key of anna', 'other', clock.nowNs())?.id],
  ];
  for (const [what, read] of reads) {
    it(`end after 30 minutes to the millisecond, as ${what} sees it`, () => {
      const fixture = new Fixture();
      const session = fixture.mustBegin('anna');
      fixture.clock.advanceMs(IDLE_MS - 1);
      expect(read(fixture, session)).toBe(session.id);
      fixture.clock.advanceMs(1);
      expect(read(fixture, session)).toBeUndefined();
    });
  }

  it('are counted from the last activity', () => {
    const { clock, table, mustBegin, users } = bound(new Fixture());
    const anna = mustBegin('anna');
    clock.advanceMs(IDLE_MS - 1);
    anna.callBegan(clock.nowNs());
    anna.callEnded(clock.nowNs());
    mustBegin('boris');
    clock.advanceMs(IDLE_MS - 1);
    expect(users()).toEqual(['anna', 'boris']);
    clock.advanceMs(1);
    expect(users()).toEqual([]);
    expect(table.size).toBe(0);
  });

  it('do not end while a call is running, and end 30 minutes after it', () => {
    const { clock, mustBegin, users } = bound(new Fixture());
    const anna = mustBegin('anna');
    anna.callBegan(clock.nowNs());
    clock.advanceMs(10 * IDLE_MS);
    expect(users()).toEqual(['anna']);
    anna.callEnded(clock.nowNs());
    clock.advanceMs(IDLE_MS - 1);
    expect(users()).toEqual(['anna']);
    clock.advanceMs(1);
    expect(users()).toEqual([]);
  });

  it('end one by one', () => {
    const { clock, mustBegin, users } = bound(new Fixture());
    for (const user of ['anna', 'boris', 'cyril']) {
      mustBegin(user);
      clock.advanceMs(60_000);
    }
    clock.advanceMs(IDLE_MS - 3 * 60_000);
    expect(users()).toEqual(['boris', 'cyril']);
    clock.advanceMs(60_000);
    expect(users()).toEqual(['cyril']);
    clock.advanceMs(60_000);
    expect(users()).toEqual([]);
  });

  it('make room for new ones', () => {
    const { clock, table, begin, users } = bound(new Fixture(1));
    begin('anna');
    clock.advanceMs(IDLE_MS);
    expect(begin('boris')).toBeDefined();
    expect(table.untracked).toBe(0);
    expect(users()).toEqual(['boris']);
  });
});

describe('the bound', () => {
  it('begins no session above sessions.max, counts each refusal, and keeps existing ones', () => {
    const { table, begin, users } = bound(new Fixture(2));
    begin('anna');
    begin('boris');
    for (let i = 0; i < 5; i += 1) expect(begin(`user ${i}`)).toBeUndefined();
    expect(users()).toEqual(['anna', 'boris']);
    expect(table.untracked).toBe(5);
    expect(table.metrics().timers.get('sessions.created')?.count).toBe(2);
  });

  it('limits the tokens of one session: it forgets the oldest and keeps the session', () => {
    const { clock, table, mustBegin, recognise } = bound(new Fixture());
    const anna = mustBegin('anna');
    for (let i = 1; i <= MAX_TOKENS_PER_SESSION; i += 1) {
      expect(table.join('key of anna', `token ${i}`, clock.nowNs())).toBe(anna);
    }
    expect(recognise('token of anna')).toBeUndefined();
    expect(recognise('token 1')).toBe(anna);
    expect(recognise(`token ${MAX_TOKENS_PER_SESSION}`)).toBe(anna);
  });
});

describe('an ended session', () => {
  it('cannot be found', () => {
    const { clock, table, mustBegin, recognise, users } = bound(new Fixture());
    const anna = mustBegin('anna');
    table.join('key of anna', 'second token', clock.nowNs());
    table.end(anna);
    expect(users()).toEqual([]);
    expect(table.find(anna.id)).toBeUndefined();
    expect(recognise('token of anna')).toBeUndefined();
    expect(recognise('second token')).toBeUndefined();
    expect(table.join('key of anna', 'token of anna', clock.nowNs())).toBeUndefined();
  });

  it('does not end the next one of the same user when it is ended again', () => {
    const { table, mustBegin, users } = bound(new Fixture());
    const first = mustBegin('anna');
    table.end(first);
    mustBegin('anna');
    table.end(first);
    expect(users()).toEqual(['anna']);
  });
});

describe('a session that keeps connections', () => {
  it('ends after sessions.cometGone without a connection, also before the next idle session', () => {
    const { clock, table, mustBegin, users } = bound(new Fixture());
    const anna = mustBegin('anna');
    mustBegin('boris');
    clock.advanceMs(1_000);
    table.gone(anna, clock.nowNs());
    clock.advanceMs(GONE_MS - 1);
    expect(users()).toEqual(['anna', 'boris']);
    clock.advanceMs(1);
    expect(users()).toEqual(['boris']);
  });

  it('stays when one is back in time', () => {
    const { clock, table, mustBegin, users } = bound(new Fixture());
    const anna = mustBegin('anna');
    table.gone(anna, clock.nowNs());
    clock.advanceMs(GONE_MS - 1);
    table.back(anna);
    clock.advanceMs(GONE_MS);
    expect(users()).toEqual(['anna']);
  });

  it('ends although a call is running', () => {
    const { clock, table, mustBegin, users } = bound(new Fixture());
    const anna = mustBegin('anna');
    anna.callBegan(clock.nowNs());
    table.gone(anna, clock.nowNs());
    clock.advanceMs(GONE_MS);
    expect(users()).toEqual([]);
  });

  it('reports its end once, however it ends', () => {
    const { clock, table, mustBegin } = bound(new Fixture());
    const ends: string[] = [];
    for (const user of ['anna', 'boris', 'cyril']) mustBegin(user).whenEnded(() => ends.push(user));
    const [anna, boris] = [...table.entries()].map(({ id }) => table.find(id));
    if (anna === undefined || boris === undefined) throw new Error('a session is missing');
    table.end(anna);
    table.end(anna);
    table.gone(boris, clock.nowNs());
    clock.advanceMs(GONE_MS);
    table.sweep();
    clock.advanceMs(IDLE_MS);
    table.sweep();
    expect(ends).toEqual(['anna', 'boris', 'cyril']);
  });
});

it('an adopted session is shown, and not counted as created', () => {
  const { clock, created, table } = new Fixture();
  const origin = { userName: null, connectionType: 'REST', remoteAddress: '::1', atNs: clock.nowNs() } as const;
  table.begin('key', 'token', { ...origin, creationNs: 0, isAdopted: true });
  expect(table.size).toBe(1);
  expect(created.count).toBe(0);
});

it('an unknown id finds nothing', () => {
  const { table, begin } = bound(new Fixture());
  begin('anna');
  for (const id of ['', 'token of anna', 'key of anna', 'anna']) expect(table.find(id)).toBeUndefined();
});

it('statistics of a session are created once, on first use', () => {
  const fixture = new Fixture();
  const session = fixture.mustBegin('anna');
  expect(fixture.statisticsMade).toBe(0);
  expect(session.statistics).toBe(session.statistics);
  expect(fixture.statisticsMade).toBe(1);
});

it('the metrics are those of creation', () => {
  const { table, begin } = bound(new Fixture());
  begin('anna');
  begin('boris');
  const { gauges, counters, meters, timers } = table.metrics();
  expect([...gauges.keys()]).toEqual(['sessions.active']);
  expect(gauges.get('sessions.active')?.type).toBe('integer');
  expect(gauges.get('sessions.active')?.read()).toBe(2);
  expect([...timers.keys()]).toEqual(['sessions.created']);
  expect(timers.get('sessions.created')?.snapshot()).toMatchObject({ count: 2, min: 2_000_000, max: 2_000_000 });
  expect(counters.size + meters.size).toBe(0);
});

describe('live sessions', () => {
  it('are listed oldest first, and reading their failed calls creates no statistics', () => {
    const fixture = new Fixture();
    const [ann, bob] = [fixture.mustBegin('ann'), fixture.mustBegin('bob')];
    bob.statistics.rpc.recordAnswered('E.Demo.Run', 500, 1);
    bob.statistics.sba.recordFailed('E.Demo.Run');
    bob.statistics.sba.recordAnswered('E.Demo.Run', 404, 1);
    const sessions = fixture.table.sessions();
    fixture.table.end(ann);
    fixture.mustBegin('eve');
    expect(sessions).toEqual([ann, bob]);
    expect(sessions.map(({ errors }) => errors)).toEqual([0, 2]);
    expect(fixture.statisticsMade).toBe(1);
    fixture.clock.advanceMs(IDLE_MS);
    expect(fixture.table.sessions()).toEqual([]);
  });
});

/** The fixture's parts, its methods bound, so that a test can take them apart. */
function bound(fixture: Fixture) {
  const { clock, table } = fixture;
  return {
    clock,
    table,
    begin: fixture.begin.bind(fixture),
    mustBegin: fixture.mustBegin.bind(fixture),
    recognise: fixture.recognise.bind(fixture),
    users: fixture.users.bind(fixture),
  };
}

describe('the counts by connection type', () => {
  it('agree with the list after sessions end, change and expire', () => {
    const random = new Random(12);
    const { clock, table, begin } = bound(new Fixture(50));
    const seen: Session[] = [];
    const counted = { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 };
    for (let step = 0; step < 5_000; step += 1) {
      const type = random.pick(['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'] as const);
      const session = random.chance(0.4) ? begin(`user ${random.below(200)}`) : random.pick(table.sessions());
      if (session !== undefined) seen.push(session);
      // Also of those that have ended.
      if (random.chance(0.5) && seen.length > 0) random.pick(seen).connectedOver(type);
      if (random.chance(0.2) && seen.length > 0) table.end(random.pick(seen));
      if (random.chance(0.01)) clock.advanceMs(random.below(2 * IDLE_MS));
      const expected = { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 };
      for (const { connectionType } of [...table.entries()]) expected[connectionType] += 1;
      expect(table.countsByType()).toEqual(expected);
      for (const each of ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'] as const) counted[each] += expected[each];
    }
    expect(Math.min(...Object.values(counted))).toBeGreaterThan(1_000);
  });
});
