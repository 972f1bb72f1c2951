/** Answers over full tables: whole, the same as if written at once, and in turns of the event loop that are short. */
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { History } from '../../../src/measure/history/history.ts';
import type { RecordedApplication } from '../../../src/measure/record/recorded-application.ts';
import type { Session, SessionEntry } from '../../../src/measure/sessions/session.ts';
import { DurationSteps } from '../../../src/metrics/duration-steps.ts';
import type { MetricSet } from '../../../src/metrics/metric-set.ts';
import type { Statistics } from '../../../src/metrics/statistics.ts';
import { renderMetrics } from '../../../src/monitor/dropwizard/render.ts';
import type { LiveSession, Monitored, MonitoredApplication, MonitoredLive } from '../../../src/monitor/monitored.ts';
import { parseRows } from '../../../src/page/live-data.ts';
import { createSources } from '../../support/measure/history/sources.ts';
import { HEALTHY, type OpenMonitor, openMonitor } from '../../support/monitor/open-monitor.ts';
import { createPlant, piecesOf } from '../../support/monitor/prometheus/plant.ts';
import { createWork, longestTurn } from '../../support/monitor/work.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const RPCS = 2_000;
const OBJECTS = 10_000;
const SESSIONS = 10_000;
/** Names as clients may send them, in no particular order. */
const ODD = ['plain', 'Größe/1 €', '😀', 'a"b', 'x\\y', 'Z', 'z-y', 'z.y'];
const nameOf = (i: number, count: number): string => `E.${ODD[i % ODD.length]}${(i * 7_919) % count}`;

const plant = await createPlant();
const { statistics, clock } = plant;
const application = plant.sidecar.recorder.applications.get('smartWeb') as RecordedApplication;
const table = application.sessions;

for (let i = 0; i < RPCS; i += 1) {
  const status = i % 50 === 0 ? 500 : 200;
  for (const ms of [1, 20, 300]) statistics.rpc.recordAnswered(nameOf(i, RPCS), status, ms * 1e6 + i);
  if (i % 2 === 0) statistics.sba.recordAnswered(nameOf(i, RPCS), 200, 5e6);
}
for (let i = 0; i < OBJECTS; i += 1) {
  statistics.object.recordRead(nameOf(i, OBJECTS), 200);
  if (i % 3 === 0) statistics.object.subscribe(nameOf(i, OBJECTS));
}
for (let i = 0; i < SESSIONS; i += 1) {
  clock.ns += 1_000;
  begin(`user ${nameOf(i, SESSIONS)}`)?.statistics.rpc.recordAnswered(nameOf(i, RPCS), 200, 1e6);
}
clock.advanceS(7);

function begin(userName: string) {
  const origin = { connectionType: 'REST', remoteAddress: '::ffff:10.0.0.7', atNs: clock.ns, creationNs: 5e6 } as const;
  return table.begin(userName, `token of ${userName}`, { userName, ...origin });
}

async function monitoredWith(application: MonitoredApplication): Promise<Monitored> {
  return { ...(await createPlant({ applications: [application] })).monitored, health: HEALTHY };
}

const monitored = await monitoredWith(application);
const monitor = await openMonitor(monitored);

afterAll(() => monitor.close());

async function textOf(path: string, { port } = monitor, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  expect(response.status).toBe(200);
  return response.text();
}

/** The expected answer, written at once. */
const documentOf = (sets: readonly MetricSet[], pretty = false) =>
  [...renderMetrics(sets, { pretty, durationUnit: 'seconds' })].join('');

/** Writing and comparing dozens of megabytes takes long on a busy machine. */
const LONG = { timeout: 120_000 };

it('answers over full tables equal those that are written at once, also if all are asked together', LONG, async () => {
  const { id = '' } = [...table.entries()].find(({ userName }) => userName?.includes('Z')) ?? {};
  const session = table.find(id) as Session;
  const setsOf = ({ rpc, sba, object }: Statistics) => [rpc.metrics(), sba.metrics(), object.metrics()];
  const list = [...table.entries()];
  expect(list).toHaveLength(SESSIONS);
  const answers: readonly (readonly [path: string, text: string, accept?: string])[] = [
    [`${BASE}/metrics/d2`, documentOf([table.metrics(), ...setsOf(statistics)])],
    [`${BASE}/metrics/d2/object?pretty=true`, documentOf([statistics.object.metrics()], true)],
    [`${BASE}/metrics/d2?session=${id}`, documentOf([session.metrics(), ...setsOf(session.statistics)])],
    [`${BASE}/d2/sessions`, JSON.stringify(list)],
    [`${BASE}/d2/sessions?pretty=true`, JSON.stringify(list, undefined, 2)],
    ['/metrics', piecesOf(monitored, 'text').join(''), 'text/plain'],
    ['/metrics', piecesOf(monitored, 'openmetrics').join(''), 'application/openmetrics-text'],
  ];
  const together = [...answers, ...answers];
  const texts = await Promise.all(together.map(([path, , accept = '*/*']) => textOf(path, monitor, { accept })));
  expect(texts).toEqual(together.map(([, text]) => text));
});

it('during an answer sessions that end stay in the list, and new ones are not added', () => {
  const before = [...table.entries()];
  const entries = table.entries()[Symbol.iterator]();
  const ids: string[] = [];
  for (let i = 0; i < SESSIONS / 2; i += 1) ids.push(entries.next().value.id);
  for (const { id } of [before[5], before[SESSIONS - 5]] as SessionEntry[]) {
    const session = table.find(id);
    if (session !== undefined) table.end(session);
  }
  const begun = begin('somebody new');
  for (let next = entries.next(); next.done !== true; next = entries.next()) ids.push(next.value.id);
  expect(ids).toEqual(before.map(({ id }) => id));
  const after = [...table.entries()].map(({ id }) => id);
  expect(after).toHaveLength(SESSIONS - 1);
  expect(after.at(-1)).toBe(begun?.id);
});

const work = createWork({ rpcs: RPCS, objects: OBJECTS, sessions: SESSIONS });
const sources = createSources();
const { rpc, sba, object } = work.application.statistics;
const total = {
  timer: { count: 1, openSteps: () => new DurationSteps() },
  errors: { count: 1 },
  newValues: { count: 1 },
};
const calls = { total, countOf: () => total.timer };
const kinds = { rpc: { ...rpc, ...calls }, sba: { ...sba, ...calls }, object: { ...object, total } };
const measured = kinds as unknown as Statistics;
const sessions = { size: SESSIONS, created: { count: 0 } };
const applications = [{ name: 'smartWeb', statistics: measured, totals: sources.totals, sessions }];
const history = new History({ ...sources, applications }, sources.clock);

const NO_COUNTS = { count: 0, errors: 0, subscriptions: 0 };

function* sessionsOf(): Generator<LiveSession> {
  for (const entry of work.application.sessions.entries())
    yield { errors: 1, toEntry: () => entry, countsOf: () => NO_COUNTS };
}

const live = { ...(plant.sidecar.monitored.live as MonitoredLive), history, sessionsOf };
const busy = await openMonitor({ ...(await monitoredWith(work.application)), live }, { clock: work.clock });
afterAll(() => busy.close());

describe('the live page', () => {
  const TABLES = { rpc: RPCS, objects: OBJECTS, sessions: SESSIONS };

  it.each(Object.entries(TABLES))('gets the full table of %s with all %i rows, in 2 MB', async (name, count) => {
    const text = await textOf(`/live/smartWeb/${name}`, busy);
    const rows = parseRows(JSON.parse(text)) as { name?: string; id?: string }[];
    expect(rows).toHaveLength(count);
    expect(new Set(rows.map(({ name, id }) => name ?? id)).size).toBe(count);
    expect(text.length).toBeLessThan(2e6);
  });

  it('has a history whose steps cost less than 10 ms, including spark lines', () => {
    const costsNs = Array.from({ length: 10 }, () => {
      const before = work.clock.ns;
      sources.clock.advanceMs(5_000);
      history.sample();
      return work.clock.ns - before;
    });
    expect(Math.max(...costsNs)).toBeLessThan(10e6);
    expect(Math.max(...costsNs), 'it did look at all names').toBeGreaterThan(1e6);
  });
});

describe('the longest turn', LONG, () => {
  const paths = [
    '/metrics',
    ...['/d2/sessions', '/metrics/d2', '/metrics/d2/rpc', '/metrics/d2/object'].map((path) => BASE + path),
    ...['rpc', 'objects', 'sessions', 'rpc/E.Method1'].map((table) => `/live/smartWeb/${table}`),
  ];
  const prometheus = { accept: 'application/openmetrics-text;version=1.0.0' };

  it('is below 2 ms, although each answer takes more than 10, also when all are requested at the same time', async () => {
    const before = work.clock.ns;
    const longestNs = await longestTurn(work.clock, async () => {
      const texts = [...paths, ...paths].map((path) => textOf(path, busy));
      await Promise.all([...texts, textOf('/metrics', busy, prometheus)]);
    });
    expect(work.clock.ns - before).toBeGreaterThan((2 * paths.length + 1) * 10e6);
    expect(longestNs).toBeLessThan(2e6);
  });
});

/** Sessions without end. */
async function openEndless() {
  const [entry] = [...table.entries()] as [SessionEntry];
  let taken = 0;
  const ends = new EventEmitter();
  function* entries(): Generator<SessionEntry> {
    try {
      for (; ; taken += 1) yield entry;
    } finally {
      ends.emit('end');
    }
  }
  const { application } = createWork({ rpcs: 1, objects: 1, sessions: 1 });
  const sessions = { ...application.sessions, entries };
  const server = await openMonitor(await monitoredWith({ ...application, sessions } as unknown as RecordedApplication));
  return { server, ended: once(ends, 'end').then(() => taken) };
}

it.each<[string, (response: http.IncomingMessage, server: OpenMonitor) => unknown]>([
  ['its client leaves', (response) => response.destroy()],
  ['the monitor is closed', (response, server) => response.resume() && server.close()],
])('an answer that has not been read to its end is not continued when %s', async (_, leave) => {
  const { server, ended } = await openEndless();
  const request = http.get({ host: '127.0.0.1', port: server.port, path: `${BASE}/d2/sessions`, agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  for (const one of [request, response]) one.on('error', () => undefined);
  await once(response, 'data');
  const closed = new Promise((resolve) => response.once('close', resolve));
  await leave(response, server);
  // 20 MB, far below the limit of answers.
  expect(await ended).toBeLessThan(100_000);
  await closed;
  expect(response.complete).toBe(false);
  await server.close();
});
