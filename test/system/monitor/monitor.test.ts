/** What the monitoring port shows of real traffic. Roles, methods and fields: access-matrix.test.ts. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, exchange, restCall, send } from '../../support/net.ts';
import { startStand } from '../../support/wire/stand.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const ODD = 'E.Größe/1 €.Lesen%';

type Counts = Record<string, { count: number }>;
type Document = Readonly<Record<'gauges' | 'counters' | 'meters' | 'timers', Counts>>;

/** Answers by the path: `Fail` with 500, `Missing` with 404, everything else with 200. */
function respond(path = ''): string {
  const status = path.includes('Fail') ? '500 Oops' : path.includes('Missing') ? '404 Not Found' : '200 OK';
  return `HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nok`;
}

const call = (path: string, user?: string): Promise<Answer> => restCall(stand.port, path, user);
const ask = (path: string, headers = {}): Promise<Answer> => send(stand.monitorPort, path, { headers });

async function read<Read = Document>(path: string): Promise<Read> {
  const { status, body } = await ask(BASE + path);
  expect(status).toBe(200);
  return JSON.parse(body) as Read;
}

const sessions = () => read<{ id: string }[]>('/d2/sessions');
const countsOf = (metrics: Counts) =>
  Object.fromEntries(Object.entries(metrics).map(([name, { count }]) => [name, count]));

const stand = await startStand({
  onConnection: (socket) => socket.on('data', (bytes) => socket.write(respond(bytes.toString('latin1').split(' ')[1]))),
});

beforeAll(async () => {
  for (const path of ['auth/login', 'rpc/E.Demo/TestInOut', 'sba/E.Demo/TestInOut']) await call(path, 'ann');
  for (const method of ['TestInOut', 'Fail', 'Missing']) await call(`rpc/E.Demo/${method}`, 'bob');
  await call(`sba/${encodeURIComponent('E.Größe/1 €')}/Lesen%25`, 'ann');
  await call('archive/H.Temp%C3%A9rature', 'ann');
  await call('object/H.Pressure');
});

afterAll(() => stand.close());

describe('the metrics endpoints', () => {
  it('carry the headers of the contract, and the sections in its order', async () => {
    const { headers, body } = await ask(`${BASE}/metrics/d2/rpc`);
    expect(headers).toMatchObject({
      ...{ 'content-type': 'application/json', 'cache-control': 'must-revalidate,no-cache,no-store' },
      'metrics-window': '300',
    });
    const sections = ['version', 'gauges', 'counters', 'histograms', 'meters', 'timers'];
    expect(Object.keys(JSON.parse(body) as object)).toEqual(sections);
  });

  it('count calls of all and of each', async () => {
    const { timers, meters } = await read('/metrics/d2/rpc');
    expect(countsOf(timers)).toEqual({ rpc: 4, 'rpc.E.Demo.Fail': 1, 'rpc.E.Demo.TestInOut': 2 });
    const errors = { 'rpc.errors': 1, 'rpc.E.Demo.Fail.errors': 1, 'rpc.E.Demo.TestInOut.errors': 0 };
    expect(countsOf(meters)).toEqual(errors);
  });

  it('return only the call that the path names, an RPC of both kinds', async () => {
    const timersOf = async (path: string) => Object.keys((await read(`/metrics/d2/${path}`)).timers);
    expect(await timersOf('rpc/E.Demo.TestInOut')).toEqual(['rpc.E.Demo.TestInOut', 'sba.E.Demo.TestInOut']);
    for (const kind of ['sba', 'rpc'])
      expect(await timersOf(`${kind}/${encodeURIComponent(ODD)}`)).toEqual([`sba.${ODD}`]);
    expect(Object.keys((await read('/metrics/d2/object/H.Pressure')).meters)).toEqual(['object.H.Pressure.newValues']);
  });

  it('give 2 as exactly the union of 3, 4, 5 and 8, globally and for a session', async () => {
    const [session] = await sessions();
    for (const query of ['', `?session=${session?.id}`]) {
      const ends = ['/sessions', '/rpc', '/sba', '/object'];
      const parts = await Promise.all(ends.map((path) => read(`/metrics/d2${path}${query}`)));
      const union = await read(`/metrics/d2${query}`);
      for (const section of ['gauges', 'counters', 'meters', 'timers'] as const) {
        const names = parts.flatMap((part) => Object.keys(part[section])).sort();
        expect(Object.keys(union[section]), `${section} ${query}`).toEqual(names);
      }
    }
  });

  it('are indented with ?pretty=true in any letter case, and not otherwise', async () => {
    const text = async (query: string) => (await ask(`${BASE}/metrics/d2/rpc/E.Demo.Fail${query}`)).body;
    expect(await text('?pretty=TRUE')).toMatch(/^\{\n {2}"version" : "4\.0\.0",\n/);
    expect(await text('?pretty=1')).toMatch(/^\{"version":"4\.0\.0",/);
  });
});

it('/metrics is text unless the reader asks for OpenMetrics by name', async () => {
  const { headers, body } = await ask('/metrics');
  expect(headers).toMatchObject({
    ...{ 'content-type': 'text/plain; version=0.0.4; charset=utf-8', vary: 'accept' },
    'cache-control': 'must-revalidate,no-cache,no-store',
  });
  expect(body).toMatch(/^# HELP d2_call_duration_seconds /);
  const lines = body.split('\n');
  expect(lines).toContain('d2_calls_total{application="smartWeb",kind="rpc",name="E.Demo.TestInOut",outcome="ok"} 2');
  expect(lines).toContain('d2_calls_total{application="smartWeb",kind="rpc",name="",outcome="client_error"} 1');
  expect(lines).toContain('d2_sessions{application="smartWeb",connection_type="REST"} 2');
  const openMetrics = await ask('/metrics', { accept: 'application/openmetrics-text; version=1.0.0' });
  expect(openMetrics.headers['content-type']).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
  expect(openMetrics.body).toMatch(/\n# TYPE d2_calls counter\n.*\n# EOF\n$/s);
});

it('clients that end their side after their requests get all answers, and then the end', async () => {
  const paths = ['/metrics', `${BASE}/metrics/d2`, '/live', '/nowhere', '/livez'];
  const requests = paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  for (const request of requests) expect(await exchange(stand.monitorPort, request, undefined, true)).toMatch(/^HTTP/);
  const both = await exchange(stand.monitorPort, requests.slice(2, 4).join(''), undefined, true);
  expect(both.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404']);
});

it('the session list has the sessions of the users whose calls were accepted, oldest first, and leads to the statistics of each', async () => {
  const list = await sessions();
  const common = { connectionType: 'REST', remoteAddress: '127.0.0.1' };
  expect(list).toMatchObject([
    { userName: 'ann', requests: 5, ...common },
    { userName: 'bob', requests: 3, ...common },
  ]);
  expect(Object.keys(list[0] ?? {})).toEqual([
    ...['id', 'createTime', 'userName', 'connectionType', 'lastActivityTime', 'remoteAddress', 'requests'],
  ]);
  expect((await read(`/metrics/d2/rpc?session=${list[0]?.id}`)).timers.rpc?.count).toBe(1);
  expect((await read(`/metrics/d2/rpc?session=${list[1]?.id}`)).timers.rpc?.count).toBe(3);
  expect((await ask(`${BASE}/metrics/d2/rpc?session=${list[0]?.id}`)).headers).not.toHaveProperty('metrics-window');
});

it.each([
  [404, '/other/api/rest/v0/admin/metrics/d2', 'no such application'],
  [404, `${BASE}/metrics/d2/rpc/E.Demo.Missing`, 'No RPC'],
  [404, `${BASE}/metrics/d2/object/H.None`, 'No object'],
  [404, `${BASE}/metrics/d2/rpc?session=none`, 'no active session'],
  [404, `${BASE}/metrics/d3`, 'no such path'],
  [400, `${BASE}/metrics/d2/rpc?session=a&session=b`, 'exactly one'],
  [400, `${BASE}/metrics/d2/rpc/%zz`, 'cannot be read'],
  [503, `${BASE}/metrics/jvm`, 'jvm.source: none'],
])('a problem with status %i is the answer to %s', async (status, path, detail) => {
  const answer = await ask(path);
  expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json']);
  const problem = JSON.parse(answer.body) as Record<string, unknown>;
  expect(problem).toMatchObject({ type: 'about:blank', status, detail: expect.stringContaining(detail) });
  if (status === 503) expect(problem.since).toMatch(/Z$/);
});

it('a name with control characters is shown without them, and found by each name that clients sent', async () => {
  const odd = ['E.\x1b[31m/\u202eTest', 'E.\u202e[31m/\x9bTest'];
  for (const name of odd) await call(`rpc/${name.split('/').map(encodeURIComponent).join('/')}`);
  const shown = 'E.\ufffd[31m.\ufffdTest';
  for (const name of [shown, ...odd.map((one) => one.replace('/', '.'))]) {
    const { timers } = await read(`/metrics/d2/rpc/${encodeURIComponent(name)}`);
    expect(timers).toMatchObject({ [`rpc.${shown}`]: { count: 2 } });
  }
  expect((await ask('/metrics')).body).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
});
