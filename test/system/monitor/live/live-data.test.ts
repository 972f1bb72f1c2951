/** Every field that the live page reads, with real traffic. Roles: access-matrix.test.ts; turns: full-tables.test.ts. */
import net from 'node:net';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Columns, type ItemDetails, type Live, parseRows } from '../../../../src/page/live-data.ts';
import { until } from '../../../support/comet/until.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { restCall, send, startApplication, toUnusedPort } from '../../../support/net.ts';
import { OK, type Stand, type StandOptions, startStand } from '../../../support/wire/stand.ts';

/** By how much a counter rose. */
const NONE = { sinceStart: 0, inMinute: 0 };
const ONCE = { sinceStart: 1, inMinute: 1 };
const RUN = 'rpc/E.Demo/Run';
const REST = '/smartWeb/api/rest/v0';

/** Answers by the path: `Fail` with 500, `Never` not at all, `Gone` by closing, everything else with 200. */
function respondOn(socket: net.Socket): void {
  socket.on('data', (bytes: Buffer) => {
    const path = bytes.toString('latin1').split(' ')[1] ?? '';
    if (path.includes('Gone')) socket.destroy();
    else if (path.includes('Fail')) socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n');
    else if (!path.includes('Never')) socket.write(OK);
  });
}

async function started(options: StandOptions = {}): Promise<Stand> {
  const stand = await startStand({ onConnection: respondOn, ...options });
  onTestFinished(() => stand.close());
  // The test ends each step.
  stand.sidecar.history.stop();
  return stand;
}

async function call(stand: Stand, path: string, user = 'ann', cookie?: string): Promise<number> {
  return (await restCall(stand.port, path, user, { headers: { ...(cookie !== undefined && { cookie }) } })).status;
}

async function read<Read>({ monitorPort }: Stand, path: string): Promise<Read> {
  const { status, headers, body } = await send(monitorPort, path);
  expect([path, status, headers['content-type']]).toEqual([path, 200, 'application/json']);
  expect(headers['cache-control']).toBe('must-revalidate,no-cache,no-store');
  return JSON.parse(body) as Read;
}

/** The detail of a refusal. */
async function refused({ monitorPort }: Stand, path: string, expected: number): Promise<string> {
  const { status, body } = await send(monitorPort, path);
  expect(status).toBe(expected);
  return (JSON.parse(body) as { detail: string }).detail;
}

function live(stand: Stand, query = ''): Promise<Live> {
  return read<Live>(stand, `/live${query}`);
}

async function rows(stand: Stand, table: string, application = 'smartWeb') {
  const answer = await read<Columns>(stand, `/live/${application}/${table}`);
  return parseRows(answer) as readonly Readonly<Record<string, unknown>>[];
}

function steps({ sidecar }: Stand, count: number): void {
  for (let step = 0; step < count; step += 1) sidecar.history.sample();
}

it('/live has everything before the first call', async () => {
  const before = Date.now();
  const stand = await started();
  await expect.poll(async () => (await live(stand)).upstream.state).toBe('reachable');
  const all = await live(stand);
  const { version } = (await import('../../../../package.json', { with: { type: 'json' } })).default;
  expect(all).toEqual({
    ...{ version, now: expect.any(String), startTime: expect.any(String), role: 'sessions' },
    ...{ state: 'serving', stopLeftSeconds: null },
    upstream: { state: 'reachable', since: expect.stringMatching(/Z$/), reason: null, tlsFault: null },
    certificates: [],
    jvm: {
      ...{ state: 'none', source: null, since: null, heapMax: null },
      reason: expect.stringContaining('jvm.source: none'),
    },
    ...{ server: {}, clientTimeoutSeconds: 10 },
    ...{ limits: [], failures: [], refusedConnections: NONE, observerErrors: NONE },
    outside: { ...NONE, segments: [], other: 0 },
    archive: null,
    alerts: null,
    seq: 0,
    marks: [{ t: Date.parse(all.startTime) / 1_000, kind: 'start', text: 'The sidecar has started.' }],
    applications: [
      {
        name: 'smartWeb',
        sessions: { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0, created: 0 },
        heldPolls: 0,
        verdict: {
          ...{ subject: 'unknown', code: 'quiet', kind: null, name: null, since: expect.stringMatching(/Z$/) },
          text: 'Nothing to judge by: no call ended in the last minute.',
        },
        minute: {
          ...{ ok: 0, clientErrors: 0, errors: 0, unanswered: 0, aborted: 0, refusedHere: 0, late: 0 },
          ...{ durationS: 0, clientWaitS: 0, longWaits: 0, unclassified: 0, misplaced: 0 },
        },
        targets: [],
        history: { stepSeconds: 5, points: [] },
      },
    ],
  });
  for (const time of [all.startTime, all.now as string]) {
    expect(Date.parse(time)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(time)).toBeLessThanOrEqual(Date.now());
  }
});

it('/live shows calls, values, sessions and aborts in the step in which they happened', async () => {
  const stand = await started();
  await call(stand, RUN, 'bob');
  for (const path of [RUN, 'rpc/E.Demo/Fail', 'sba/E.Demo/Run', 'object/H.Level']) await call(stand, path);
  expect(await call(stand, 'sba/E.Demo/Gone')).toBe(502);
  const leaving = net.connect(stand.port, '127.0.0.1');
  leaving.write(`POST ${REST}/d2/rpc/E.Demo/Never HTTP/1.1\r\nHost: plant\r\nContent-Length: 0\r\n\r\n`);
  await until('the call is under way', () => stand.sidecar.reporter.inFlight === 1);
  // A reset: after an orderly end the client may still be reading.
  leaving.resetAndDestroy();
  await until('the client has left', () => stand.sidecar.recorder.own.aborted.rpc === 1);
  steps(stand, 1);
  await call(stand, RUN);
  steps(stand, 1);

  const { applications, seq, failures, upstream } = await live(stand);
  expect(seq).toBe(2);
  stand.sidecar.verdicts.judge();
  const minute = { ok: 5, errors: 1, unanswered: 1, aborted: 1, clientErrors: 0, late: 0 };
  expect(applications).toMatchObject([{ sessions: { REST: 2, created: 2 } }]);
  expect((await live(stand)).applications).toMatchObject([{ minute }]);
  const [first, second] = applications[0]?.history.points ?? [];
  const seconds = expect.any(Number);
  expect(first).toEqual({
    ...{ seq: 1, t: expect.any(Number), seconds },
    rpc: { count: 3, errors: 1, p50: seconds, p95: seconds, p99: seconds },
    sba: { count: 1, errors: 1, p50: seconds, p95: seconds, p99: seconds },
    ...{ values: 1, aborted: 1, unanswered: 1, sessions: 2 },
    ...{ heapUsed: null, heapAfterGc: null, gcPauseMs: null, busyThreads: null, cores: null },
    times: { ended: 7, durationS: seconds, clientWaitS: seconds },
  });
  expect(second).toMatchObject({
    seq: 2,
    rpc: { count: 1, errors: 0, p50: seconds },
    sba: { count: 0, errors: 0, p50: null, p95: null, p99: null },
  });
  expect(Math.abs((second?.t ?? 0) - Date.now() / 1_000)).toBeLessThan(10);
  for (const { p50, p95, p99 } of [first?.rpc, first?.sba] as Readonly<Record<'p50' | 'p95' | 'p99', number>>[]) {
    expect([p50 > 0, p50 <= p95, p95 <= p99, p99 < 5]).toEqual([true, true, true, true]);
  }
  const code = 'D2S_ERR_UPSTREAM_TERMINATED';
  expect(failures).toEqual([{ code, ...ONCE }]);
  expect(upstream).toEqual({ state: 'reachable', since: expect.stringMatching(/Z$/), reason: null, tlsFault: null });

  steps(stand, 12);
  const later = await live(stand, '?since=2');
  expect(later.failures, 'after a minute').toEqual([{ code, sinceStart: 1, inMinute: 0 }]);
  const seqs = Array.from({ length: 12 }, (_, i) => i + 3);
  expect(later.applications[0]?.history.points.map((point) => point.seq)).toEqual(seqs);
});

it('the view of a name has its minutes, its errors by status, who calls it, and its calls; that of a session its calls', async () => {
  const stand = await started();
  await call(stand, RUN, 'ann');
  stand.sidecar.history.end();
  for (const path of [RUN, RUN, 'rpc/E.Demo/Fail']) await call(stand, path, 'bob');
  const held = restCall(stand.port, 'rpc/E.Demo/Never', 'bob', {}).catch(() => undefined);
  await until('a call runs', () => stand.sidecar.reporter.open === 1);
  const run = await read<ItemDetails>(stand, '/live/smartWeb/rpc/E.Demo.Run');
  expect(run.minutes.map(({ ok, errors, heat }) => [ok, errors, heat.reduce((a, b) => a + b, 0)])).toEqual([
    [1, 0, 1],
    [2, 0, 2],
  ]);
  expect(run).toMatchObject({
    statuses: [],
    running: [],
    callers: [
      { userName: 'bob', count: 2, errors: 0 },
      { userName: 'ann', count: 1 },
    ],
  });
  const slowest = run.slowest?.map(({ userName, clientWait }) => `${userName} ${typeof clientWait}`);
  expect(slowest?.sort()).toEqual(['ann number', 'bob number', 'bob number']);
  const fail = await read<ItemDetails>(stand, '/live/smartWeb/rpc/E.Demo.Fail');
  expect(fail).toMatchObject({ statuses: [{ status: '500', count: 1 }], callers: [{ userName: 'bob', errors: 1 }] });
  expect(await read(stand, '/live/smartWeb/rpc/E.Demo.Never')).toMatchObject({ running: [{ name: 'E.Demo.Never' }] });
  const id = run.callers?.[0]?.id ?? '';
  const session = await read<ItemDetails>(stand, `/live/smartWeb/sessions/${id}`);
  expect([session.running?.map(({ name }) => name), session.slowest?.length]).toEqual([['E.Demo.Never'], 3]);
  await stand.close();
  await held;
});

it('/live is compressed for browsers, and an hour of it has at most 60 kB then', async () => {
  const stand = await started();
  const rpc = stand.sidecar.recorder.applications.get('smartWeb')?.statistics.rpc;
  const random = new Random(42);
  for (let step = 0; step < 720; step += 1) {
    for (let i = random.below(30); i > 0; i -= 1) rpc?.recordAnswered('E.Demo.Run', 200, random.next() * 1e9);
    steps(stand, 1);
  }
  const plain = await send(stand.monitorPort, '/live');
  const accepted = { 'accept-encoding': 'gzip, deflate, br' };
  const { headers, bytes: coded } = await send(stand.monitorPort, '/live', { headers: accepted });
  expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  const points = (text: string) => (JSON.parse(text) as Live).applications[0]?.history.points;
  expect(points(gunzipSync(coded).toString('utf8'))).toEqual(points(plain.body));
  expect(points(plain.body)).toHaveLength(720);
  expect(plain.headers['content-encoding']).toBeUndefined();
  expect(coded.length).toBeLessThanOrEqual(60_000);
});

it('/live has no steps since what is no number of a step', async () => {
  const stand = await started();
  for (const since of ['x', '-1', '1&since=2', '9999999999999999'])
    expect(await refused(stand, `/live?since=${since}`, 400), since).toContain('since');
});

it('/live shows held polls, and sessions by type of connection', async () => {
  const handshake = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['long-polling'] };
  const upstream = await startApplication((_request, response, body) => {
    if (body.includes('/meta/connect')) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify([{ ...handshake, successful: true, clientId: 'c1' }]));
  });
  onTestFinished(upstream.close);
  const stand = await started({ upstreamPort: upstream.port });
  const headers = { 'content-type': 'application/json' };
  const post = (message: object) =>
    send(stand.port, '/smartWeb/api/cometd', { method: 'POST', headers, body: JSON.stringify([message]) });
  await post(handshake);
  const poll = post({ channel: '/meta/connect', clientId: 'c1', connectionType: 'long-polling' });
  poll.catch(() => undefined);
  await until('the poll is held', () => stand.sidecar.recorder.own.comet.holds.now === 1);
  steps(stand, 1);
  const sessions = { COMET_LONG_POLLING: 1, REST: 0, created: 1 };
  const history = { points: [{ sessions: 1 }] };
  expect((await live(stand)).applications).toMatchObject([{ sessions, heldPolls: 1, history }]);
});

it('/live shows since when and why the upstream is unreachable, and its return without any call', async () => {
  const port = await toUnusedPort();
  const stand = await started({ upstreamPort: port });
  expect(await call(stand, RUN)).toBe(502);
  const lost = await live(stand);
  const unreachable = { state: 'unreachable', reason: 'ECONNREFUSED', tlsFault: null };
  expect(lost.upstream).toEqual({ ...unreachable, since: expect.any(String) });
  const since = Date.parse(lost.upstream.since ?? '');
  expect(lost.marks.slice(1)).toEqual([
    { t: since / 1_000, kind: 'upstreamLost', text: 'The upstream takes no connections: ECONNREFUSED.' },
  ]);
  expect(lost.failures).toEqual([{ code: 'D2S_ERR_UPSTREAM_REFUSED', ...ONCE }]);

  const upstream = net.createServer((socket) => respondOn(socket.on('error', () => undefined)));
  upstream.listen(port, '127.0.0.1');
  onTestFinished(() => void upstream.close());
  let back = lost;
  // Each request tries the upstream, at most once a second.
  while (back.upstream.state !== 'reachable') back = await live(stand);
  // The verdict is judged once a second, and may have been in between.
  const kinds = back.marks.map(({ kind }) => kind).filter((kind) => kind !== 'verdict');
  expect(kinds).toEqual(['start', 'upstreamLost', 'upstreamBack']);
  expect(Date.parse(back.upstream.since ?? '')).toBeGreaterThanOrEqual(since);
});

it('/live shows limits that were reached, by key, without idle timeouts, and failed observers', async () => {
  const maxNames = { rpc: 1, sba: 1, object: 1 };
  const stand = await started({
    config: ({ metrics, sessions }) => ({ metrics: { ...metrics, maxNames }, sessions: { ...sessions, max: 1 } }),
  });
  for (const name of ['One', 'Two', 'Three']) await call(stand, `rpc/E.Demo/${name}`);
  for (const name of ['H.One', 'H.Two']) await call(stand, `object/${name}`);
  await call(stand, 'rpc/E.Demo/One', 'bob');
  // Idle timeouts are no trouble.
  const idle = ['monitor.idleTimeout', 'timeouts.idle', 'timeouts.halfClosed'] as const;
  for (const key of [...idle, 'timeouts.head', 'limits.fields'] as const) stand.sidecar.limits.hit(key);
  stand.sidecar.reporter.shield(() => {
    throw new Error('on purpose');
  });
  const { limits, observerErrors } = await live(stand);
  expect(observerErrors).toEqual(ONCE);
  expect(limits).toEqual([
    { key: 'limits.fields', ...ONCE },
    { key: 'timeouts.head', ...ONCE },
    { key: 'sessions.max', ...ONCE },
    { key: 'metrics.maxNames.rpc', sinceStart: 2, inMinute: 2 },
    { key: 'metrics.maxNames.object', ...ONCE },
  ]);
});

it('/live shows where requests outside of the application went, and no others', async () => {
  const stand = await started();
  const outside = async () => (await live(stand)).outside;
  await call(stand, RUN);
  await send(stand.port, '/smartWeb/index.html');
  expect(await outside()).toEqual({ ...NONE, segments: [], other: 0 });
  for (const path of ['plant/api', 'plant', '']) await send(stand.port, `/${path}?token=secret`);
  const segments = [{ segment: 'plant', requests: 2 }];
  expect(await outside()).toEqual({ sinceStart: 3, inMinute: 3, other: 1, segments });
});

it('/live shows that it drains, which only readiness tells too, and the time left', async () => {
  const stop = { delayMs: 60_000, windowMs: 60_000, deadlineMs: 120_000 };
  const stand = await started({ config: () => ({ stop }) });
  steps(stand, 1);
  stand.sidecar.lifecycle.drain();
  const probes = ['/livez', '/readyz', '/startupz'].map((path) => send(stand.monitorPort, path));
  expect((await Promise.all(probes)).map(({ status }) => status)).toEqual([200, 503, 200]);
  const { state, stopLeftSeconds, marks } = await live(stand);
  expect([state, stopLeftSeconds, marks.map(({ kind }) => kind)]).toEqual(['draining', null, ['start', 'drain']]);
  stand.sidecar.lifecycle.stop('test');
  const left = (await live(stand)).stopLeftSeconds as number;
  expect(left).toBeGreaterThan(60);
  expect(left).toBeLessThanOrEqual(120);
  // Avoids the wait for it.
  stand.sidecar.lifecycle.stop('test');
});

it.each([
  { name: '', path: '', table: '-' },
  { name: 'plant/a b', path: '/plant/a%20b', table: 'plant%2Fa%20b' },
])('/live has the application "$name" under $table', async ({ name, path, table }) => {
  const stand = await started({ config: () => ({ applications: ['smartWeb', name] }) });
  await send(stand.port, `${path}/api/rest/v0/d2/${RUN}`, { method: 'POST' });
  expect((await live(stand)).applications).toMatchObject([{ name: 'smartWeb' }, { name }]);
  expect((await rows(stand, 'rpc', table)).map(({ name: called }) => called)).toEqual(['E.Demo.Run']);
  expect(await rows(stand, 'rpc')).toEqual([]);
  expect(await refused(stand, '/live/constructor/rpc', 404)).toContain(`known: "smartWeb", "${name || '-'}"`);
});

describe('the tables', () => {
  it('have a row for each RPC, with the line of its last steps', async () => {
    const stand = await started();
    for (const path of [RUN, RUN, 'rpc/E.Demo/Fail', 'sba/E.Demo/Other']) await call(stand, path);
    steps(stand, 5);
    await call(stand, RUN);
    const zeros = new Array(11).fill(0);
    const number = expect.any(Number);
    const windowed = { rate: number, p50: number, p99: number };
    expect(await rows(stand, 'rpc')).toEqual([
      { name: 'E.Demo.Run', count: 3, errors: 0, ...windowed, ended: 3, spark: [...zeros, 2] },
      { name: 'E.Demo.Fail', count: 1, errors: 1, ...windowed, ended: 1, spark: [...zeros, 1] },
    ]);
    expect(await rows(stand, 'sba')).toEqual([
      { name: 'E.Demo.Other', count: 1, errors: 0, ...windowed, ended: 1, spark: [...zeros, 1] },
    ]);
  });

  it('have a row for each object, and for each session, oldest first, with its failed calls, and whether its name is verified', async () => {
    const stand = await started();
    await call(stand, RUN, 'ann', 'JSESSIONID=one');
    for (const path of [RUN, 'rpc/E.Demo/Fail', 'sba/E.Demo/Gone']) await call(stand, path, 'bob');
    const list = await read<Readonly<Record<string, unknown>>[]>(stand, `${REST}/admin/d2/sessions`);
    expect(list).toMatchObject([
      { userName: 'ann', requests: 1, verified: false },
      { userName: 'bob', requests: 3 },
    ]);
    const shown = list.map((entry) => ({
      ...entry,
      lastActivityTime: expect.any(String),
      ...(entry.userName === 'ann' ? { errors: 0, verified: false } : { errors: 2, verified: true }),
    }));
    expect(await rows(stand, 'sessions')).toEqual(shown);
    for (const name of ['H.Level', 'H.Level', 'H.Größe']) await call(stand, `object/${encodeURIComponent(name)}`);
    stand.sidecar.recorder.applications.get('smartWeb')?.statistics.object.subscribe('H.Level');
    expect(await rows(stand, 'objects')).toEqual([
      { name: 'H.Level', subscriptions: 1, values: 2, rate: expect.any(Number) },
      { name: 'H.Größe', subscriptions: 0, values: 1, rate: expect.any(Number) },
    ]);
  });
});
