/** Answers over full tables: whole, in pieces, and the same as if written at once. */
import { EventEmitter, once } from 'node:events';
import http from 'node:http';
import { afterAll, expect, it } from 'vitest';
import type { RecordedApplication } from '../../../src/measure/record/recorded-application.ts';
import type { Session, SessionEntry } from '../../../src/measure/sessions/session.ts';
import type { MetricSet } from '../../../src/metrics/metric-set.ts';
import type { Statistics } from '../../../src/metrics/statistics.ts';
import { renderMetrics } from '../../../src/monitor/dropwizard/render.ts';
import { parseRows } from '../../../src/page/live-data.ts';
import { type OpenMonitor, openMonitor } from '../../support/monitor/open-monitor.ts';
import { createPlant, piecesOf } from '../../support/monitor/prometheus/plant.ts';

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

const { monitored } = plant;
const monitor = await openMonitor(monitored);

afterAll(() => monitor.close());

async function textOf(path: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${monitor.port}${path}`, { headers });
  expect(response.status).toBe(200);
  // In pieces, each in a turn of the event loop that LoopShare keeps short.
  expect([path, response.headers.get('transfer-encoding')]).toEqual([path, 'chunked']);
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
  const texts = await Promise.all(together.map(([path, , accept = '*/*']) => textOf(path, { accept })));
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

it.each([
  ['rpc', RPCS],
  ['objects', OBJECTS],
  ['sessions', SESSIONS - 1],
])('the live page gets the full table of %s with all %i rows, in 2 MB', async (name, count) => {
  const text = await textOf(`/live/smartWeb/${name}`);
  const rows = parseRows(JSON.parse(text)) as { name?: string; id?: string }[];
  expect(rows).toHaveLength(count);
  expect(new Set(rows.map(({ name, id }) => name ?? id)).size).toBe(count);
  expect(text.length).toBeLessThan(2e6);
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
  const applications = [{ ...application, sessions: { entries } } as unknown as RecordedApplication];
  const server = await openMonitor({ ...monitored, applications });
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
