/** Full tables for the live page: complete, and of bounded size. Their turns of the event loop: full-tables.test.ts. */
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { History } from '../../../../src/measure/history/history.ts';
import { renderLive } from '../../../../src/monitor/live/live-document.ts';
import type { LiveSession, Monitored, MonitoredJvm } from '../../../../src/monitor/monitored.ts';
import { available, createSources } from '../../../support/measure/history/sources.ts';
import { HEALTHY, openMonitor } from '../../../support/monitor/open-monitor.ts';
import { createPlant } from '../../../support/monitor/prometheus/plant.ts';
import { createWork } from '../../../support/monitor/work.ts';
import { send } from '../../../support/net.ts';

const RPCS = 2_000;
const OBJECTS = 10_000;
const SESSIONS = 10_000;
const MB = 1e6;

const plant = await createPlant();
const sources = createSources();
const work = createWork({ rpcs: RPCS, objects: OBJECTS, sessions: SESSIONS });

const history = new History(
  { ...sources, applications: [{ ...work.application, sessions: { size: SESSIONS } }] },
  // Moves by 5 s with each reading; the other clock moves only with the work.
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
    health: HEALTHY,
    applications: [work.application],
    live: {
      ...{ clock: sources.clock, history, outside, sessionsOf, probe: () => Promise.resolve(true) },
      ...{ unclassified: { read: () => [] }, clientTimeoutMs: () => 10_000, diagnosed: () => undefined },
    },
  };
}

const monitor = await openMonitor(monitoredWith(), { clock: work.clock });

function step(): void {
  sources.clock.advanceMs(5_000);
  history.sample();
}

beforeAll(() => {
  for (let i = 0; i < 720; i += 1) {
    sources.jvm.state = available({
      heap: { used: 4e9 + i },
      collectors: new Map([['G1', { count: i, timeMs: 17 * i }]]),
    });
    step();
  }
});

afterAll(async () => {
  await monitor.close();
  for (const { statistics } of [plant, sources]) statistics.destroy();
});

async function text(path: string): Promise<string> {
  const { status, body } = await send(monitor.port, path);
  expect([path, status]).toEqual([path, 200]);
  return body;
}

const TABLES = { rpc: RPCS, objects: OBJECTS, sessions: SESSIONS } as const;

describe('full tables', () => {
  it.each(Object.entries(TABLES))('of %s have all %i rows, in less than 2 MB', async (table, count) => {
    const body = await text(`/live/smartWeb/${table}`);
    const { rows } = JSON.parse(body) as { rows: unknown[][] };
    expect(rows).toHaveLength(count);
    expect(new Set(rows.map(([name]) => name)).size).toBe(count);
    expect(body.length).toBeLessThan(2 * MB);
  });

  it('are beside a last hour below 0.3 MB, and a poll after it below 2 KB', async () => {
    const hour = await text('/live');
    expect(JSON.parse(hour).applications[0].history.points).toHaveLength(720);
    expect(hour.length).toBeLessThan(0.3 * MB);
    expect((await text(`/live?since=${history.seq - 1}`)).length).toBeLessThan(2_000);
  });

  it('cost a step of the history less than 10 ms, including spark lines', () => {
    let longestNs = 0;
    for (let i = 0; i < 10; i += 1) {
      const before = work.clock.ns;
      step();
      longestNs = Math.max(longestNs, work.clock.ns - before);
    }
    expect(longestNs).toBeLessThan(10e6);
    expect(longestNs, 'it did look at all names').toBeGreaterThan(1e6);
  });
});

describe('the conditions in /live', () => {
  function liveOf(monitored: ReturnType<typeof monitoredWith>): Record<string, unknown> {
    const question = { role: 'metrics', since: history.seq, windowMs: 60_000 } as const;
    return JSON.parse([...renderLive(monitored, monitored.live, question)].join('')) as Record<string, unknown>;
  }

  const sinceEpochMs = Date.UTC(2026, 0, 31, 2, 14, 7);
  const since = '2026-01-31T02:14:07.000Z';
  it.each<[string, MonitoredJvm['state'], object]>([
    [
      'which source',
      { ...available({}, sinceEpochMs), source: 'hsperfdata+attach' } as MonitoredJvm['state'],
      { state: 'available', source: 'hsperfdata+attach', since, reason: null },
    ],
    [
      'no source, and why',
      { kind: 'unavailable', reason: 'Gone.', sinceEpochMs },
      { state: 'unavailable', source: null, since, reason: 'Gone.' },
    ],
  ])('show since when a JVM is read from %s', (_what, state, jvm) => {
    expect(liveOf(monitoredWith({ state, reads: 3, failures: 1 }))).toMatchObject({
      role: 'metrics',
      windowSeconds: 60,
      jvm,
    });
  });

  it('give durations with four digits, and null without calls', () => {
    const [first] = history.points('smartWeb', history.seq - 1);
    expect(first?.rpc.p50).toBeNull();
    const point = { ...first, rpc: { count: 1, errors: 0, p50: 0.000123456, p95: 1.23456, p99: 3_600 } };
    const points = vi.spyOn(history, 'points').mockImplementation(() => [point].values() as never);
    const { applications } = liveOf(monitoredWith());
    points.mockRestore();
    expect(applications).toMatchObject([{ history: { points: [{ rpc: [1, 0, 0.0001235, 3_600, 1.235] }] } }]);
  });
});

it.each([
  ['unknown', 'GET', 1],
  ['unreachable', 'GET', 1],
  ['reachable', 'GET', 0],
  ['unknown', 'HEAD', 0],
] as const)('an upstream that is %s is tried for every reader (%s: %i times)', async (kind, method, times) => {
  let probes = 0;
  const probe = () => {
    probes += 1;
    return Promise.resolve(true);
  };
  const monitored = monitoredWith();
  const upstream = { reachability: { kind, sinceEpochMs: 0, reason: 'ECONNREFUSED' } };
  const { port, close } = await openMonitor({
    ...{ ...monitored, sidecar: { ...monitored.sidecar, upstream }, live: { ...monitored.live, probe } },
  });
  expect([(await send(port, '/live', { method })).status, probes]).toEqual([200, times]);
  await close();
});
