/** What the live page reads over full tables: whole, of bounded size, and in turns of the event loop that are short. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import { History } from '../../../../src/measure/history/history.ts';
import { Guard } from '../../../../src/monitor/guard.ts';
import { HostCheck } from '../../../../src/monitor/host-check.ts';
import { renderLive } from '../../../../src/monitor/live/live-document.ts';
import { Monitor } from '../../../../src/monitor/monitor.ts';
import type { LiveSession, Monitored, MonitoredJvm } from '../../../../src/monitor/monitored.ts';
import { available, createSources } from '../../../support/measure/history/sources.ts';
import { createPlant } from '../../../support/monitor/prometheus/plant.ts';
import { createWork, longestTurn } from '../../../support/monitor/work.ts';

const RPCS = 2_000;
const OBJECTS = 10_000;
const SESSIONS = 10_000;
const MB = 1e6;

const plant = await createPlant();
const sources = createSources();
const work = createWork({ rpcs: RPCS, objects: OBJECTS, sessions: SESSIONS });

const history = new History(
  { ...sources, applications: [{ ...work.application, sessions: { size: SESSIONS } }] },
  // Moves by 5 s with each look; the clock of the work only with the work.
  { nowNs: () => sources.clock.nowNs(), epochMs: () => sources.clock.epochMs() },
);

const outside = { read: () => ({ count: 0, segments: [], other: 0 }) };

function* sessionsOf(): Generator<LiveSession> {
  for (const entry of work.application.sessions.entries()) yield { errors: 1, toEntry: () => entry };
}

function monitoredWith(jvm: MonitoredJvm = plant.monitored.jvm): Monitored & Required<Pick<Monitored, 'live'>> {
  return {
    ...plant.monitored,
    jvm,
    health: { isStarted: true, isReady: () => Promise.resolve(true) },
    applications: [work.application],
    live: {
      ...{ clock: sources.clock, history, outside, sessionsOf, probe: () => Promise.resolve(true) },
      ...{ unclassified: { read: () => [] }, clientTimeoutMs: () => 10_000, diagnosed: () => undefined },
    },
  };
}

function monitorOf(monitored: Monitored): Monitor {
  return new Monitor(
    monitored,
    { windowMs: 300_000, durationUnit: 'seconds', clock: work.clock },
    new Guard({ access: undefined, hosts: new HostCheck([]) }),
    createLogger('silent'),
  );
}

const monitor = monitorOf(monitoredWith());
let port = 0;

function step(): void {
  sources.clock.advanceMs(5_000);
  history.sample();
}

beforeAll(async () => {
  for (let i = 0; i < 720; i += 1) {
    sources.jvm.state = available({
      heap: { used: 4e9 + i },
      collectors: new Map([['G1', { count: i, timeMs: 17 * i }]]),
    });
    step();
  }
  port = (await monitor.listen({ host: '127.0.0.1', port: 0 })).port;
});

afterAll(async () => {
  await monitor.close();
  for (const { statistics } of [plant, sources]) statistics.destroy();
});

async function text(path: string, method = 'GET'): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  expect([path, response.status]).toEqual([path, 200]);
  return await response.text();
}

const TABLES = { rpc: RPCS, objects: OBJECTS, sessions: SESSIONS } as const;
const PATHS = Object.keys(TABLES).map((table) => `/live/smartWeb/${table}`);

describe('full tables', () => {
  it.each(Object.entries(TABLES))('of %s have all %i rows', async (table, count) => {
    const { rows } = JSON.parse(await text(`/live/smartWeb/${table}`)) as { rows: unknown[][] };
    expect(rows).toHaveLength(count);
    expect(new Set(rows.map(([name]) => name)).size).toBe(count);
  });

  it('are below 2 MB each, the last hour below 0.3 MB, and a poll after it below 2 KB', async () => {
    for (const path of PATHS) expect((await text(path)).length).toBeLessThan(2 * MB);
    const hour = await text('/live');
    expect(JSON.parse(hour).applications[0].history.points).toHaveLength(720);
    expect(hour.length).toBeLessThan(0.3 * MB);
    expect((await text(`/live?since=${history.seq - 1}`)).length).toBeLessThan(2_000);
  });

  it.each(PATHS)('of %s are written in turns below 2 ms, although all of it takes more than 10', async (path) => {
    const before = work.clock.ns;
    const longestNs = await longestTurn(work.clock, async () => void (await text(path)));
    expect(work.clock.ns - before).toBeGreaterThan(10e6);
    expect(longestNs).toBeLessThan(2e6);
    expect(longestNs).toBeGreaterThan(0);
  });

  it('take no longer turns when all are requested at the same time', async () => {
    const longestNs = await longestTurn(work.clock, async () => {
      await Promise.all([...PATHS, '/live', ...PATHS].map((path) => text(path)));
    });
    expect(longestNs).toBeLessThan(2e6);
  });

  it('are not written for HEAD', async () => {
    const before = work.clock.ns;
    for (const path of PATHS) expect(await text(path, 'HEAD')).toBe('');
    expect(work.clock.ns).toBe(before);
  });

  it('cost a step of the history less than 10 ms, including spark lines', () => {
    let longestNs = 0;
    for (let i = 0; i < 10; i += 1) {
      const before = work.clock.ns;
      step();
      longestNs = Math.max(longestNs, work.clock.ns - before);
    }
    expect(longestNs).toBeLessThan(10e6);
    // It did look at all names.
    expect(longestNs).toBeGreaterThan(1e6);
  });
});

describe('the conditions in /live', () => {
  function liveOf(monitored: ReturnType<typeof monitoredWith>): Record<string, unknown> {
    const question = { role: 'metrics', since: history.seq, windowMs: 60_000 } as const;
    return JSON.parse([...renderLive(monitored, monitored.live, question)].join('')) as Record<string, unknown>;
  }

  it('show since when a JVM is read, and from which source', () => {
    const state = { ...available({}, Date.UTC(2026, 0, 31, 2, 14, 7)), source: 'hsperfdata+attach' };
    expect(liveOf(monitoredWith({ state, reads: 3, failures: 0 }))).toMatchObject({
      ...{ role: 'metrics', windowSeconds: 60 },
      jvm: { state: 'available', source: 'hsperfdata+attach', since: '2026-01-31T02:14:07.000Z', reason: null },
    });
  });

  it('show since when and why a JVM is unreadable', () => {
    const state = { kind: 'unavailable', reason: 'Gone.', sinceEpochMs: Date.UTC(2026, 0, 31, 2, 14, 7) } as const;
    expect(liveOf(monitoredWith({ state, reads: 3, failures: 1 }))).toMatchObject({
      jvm: { state: 'unavailable', source: null, since: '2026-01-31T02:14:07.000Z', reason: 'Gone.' },
    });
  });

  it('give durations with four digits, and null without calls', () => {
    const [first] = history.points('smartWeb', history.seq - 1);
    expect(first?.rpc.p50).toBeNull();
    const point = { ...first, rpc: { count: 1, errors: 0, p50: 0.000123456, p95: 1.23456, p99: 3_600 } };
    const monitored = monitoredWith();
    const points = function* () {
      yield point as never;
    };
    const { startedEpochMs, seq, marks, droppedMarks } = history;
    const quiet = { recentCounts: () => history.recentCounts(), worstCallOf: () => undefined };
    const shown = { startedEpochMs, seq, marks, droppedMarks, points, lineOf: () => [], ...quiet };
    const { applications } = liveOf({ ...monitored, live: { ...monitored.live, history: shown } });
    expect(applications).toMatchObject([{ history: { points: [{ rpc: [1, 0, 0.0001235, 3_600, 1.235] }] } }]);
  });
});

describe('the upstream', () => {
  it.each([
    ['unknown', 'GET', 1],
    ['unreachable', 'GET', 1],
    ['reachable', 'GET', 0],
    ['unknown', 'HEAD', 0],
  ] as const)('that is %s is tried for whoever looks (%s: %i times)', async (kind, method, times) => {
    let probes = 0;
    const monitored = monitoredWith();
    const reachability = { kind, sinceEpochMs: 0, reason: 'ECONNREFUSED' };
    const other = monitorOf({
      ...monitored,
      sidecar: { ...monitored.sidecar, upstream: { reachability } },
      live: {
        ...monitored.live,
        probe: () => {
          probes += 1;
          return Promise.resolve(true);
        },
      },
    });
    const { port: at } = await other.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`http://127.0.0.1:${at}/live`, { method });
    await response.text();
    expect([response.status, probes]).toEqual([200, times]);
    await other.close();
  });
});
