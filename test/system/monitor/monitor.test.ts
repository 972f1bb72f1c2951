import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stand, startStand } from '../wire/stand.ts';

const BASE = '/smartWeb/api/rest/v0/admin';

interface Document {
  readonly version: string;
  readonly gauges: Record<string, { value: unknown }>;
  readonly counters: Record<string, { count: number }>;
  readonly meters: Record<string, { count: number }>;
  readonly timers: Record<string, { count: number; p50: number }>;
}

let stand: Stand;

/** Answers by the path: `/fail` with 500, `/missing` with 404, everything else with 200. */
function respond(path: string): string {
  if (path.includes('Fail')) return 'HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n';
  if (path.includes('Missing')) return 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';
  return 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
}

async function call(method: string, path: string, user?: string): Promise<number> {
  const headers: Record<string, string> =
    user === undefined ? {} : { authorization: `Basic ${btoa(`${user}:secret`)}` };
  const response = await fetch(`http://127.0.0.1:${stand.port}/smartWeb/api/rest/v0/${path}`, { method, headers });
  await response.arrayBuffer();
  return response.status;
}

function ask(path: string, init: RequestInit = {}): Promise<Response> {
  return fetch(`http://127.0.0.1:${stand.monitorPort}${path}`, {
    headers: { 'content-type': 'application/json' },
    ...init,
  });
}

async function metrics(path: string): Promise<Document> {
  const response = await ask(BASE + path);
  expect(response.status).toBe(200);
  return (await response.json()) as Document;
}

beforeAll(async () => {
  stand = await startStand({
    onConnection: (socket) =>
      socket.on('data', (bytes) => socket.write(respond(bytes.toString('latin1').split(' ')[1] ?? ''))),
  });
  await call('GET', 'd2/auth/login', 'ann');
  await call('POST', 'd2/rpc/E.Demo/TestInOut', 'ann');
  await call('POST', 'd2/rpc/E.Demo/TestInOut', 'bob');
  await call('POST', 'd2/rpc/E.Demo/Fail', 'bob');
  await call('POST', 'd2/rpc/E.Demo/Missing', 'bob');
  await call('GET', 'd2/sba/E.Demo/TestInOut', 'ann');
  await call('GET', `d2/sba/${encodeURIComponent('E.Größe/1 €')}/Lesen%25`, 'ann');
  await call('GET', 'd2/archive/H.Temp%C3%A9rature', 'ann');
  await call('GET', 'd2/object/H.Pressure');
});

afterAll(() => stand.close());

describe('the metrics endpoints', () => {
  it('carry the headers of the contract', async () => {
    const response = await ask(`${BASE}/metrics/d2/rpc`);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('cache-control')).toBe('must-revalidate,no-cache,no-store');
    expect(response.headers.get('metrics-window')).toBe('300');
    expect(Object.keys(JSON.parse(await response.text()) as object)).toEqual([
      'version',
      'gauges',
      'counters',
      'histograms',
      'meters',
      'timers',
    ]);
  });

  it('count calls of all and of each', async () => {
    const { timers, meters } = await metrics('/metrics/d2/rpc');
    expect(Object.fromEntries(Object.entries(timers).map(([name, { count }]) => [name, count]))).toEqual({
      rpc: 4,
      'rpc.E.Demo.Fail': 1,
      'rpc.E.Demo.TestInOut': 2,
    });
    expect(Object.fromEntries(Object.entries(meters).map(([name, { count }]) => [name, count]))).toEqual({
      'rpc.errors': 1,
      'rpc.E.Demo.Fail.errors': 1,
      'rpc.E.Demo.TestInOut.errors': 0,
    });
  });

  it('return only the named call, under both kinds when they share the name', async () => {
    expect(Object.keys((await metrics('/metrics/d2/rpc/E.Demo.TestInOut')).timers)).toEqual([
      'rpc.E.Demo.TestInOut',
      'sba.E.Demo.TestInOut',
    ]);
    expect(Object.keys((await metrics('/metrics/d2/sba/E.Demo.TestInOut')).timers)).toEqual(['sba.E.Demo.TestInOut']);
    expect(Object.keys((await metrics('/metrics/d2/object/H.Pressure')).meters)).toEqual([
      'object.H.Pressure.newValues',
    ]);
  });

  it.each([
    ['percent-encoded', `/metrics/d2/sba/${encodeURIComponent('E.Größe/1 €.Lesen%')}`, 'sba.E.Größe/1 €.Lesen%'],
    [
      'percent-encoded in the path of 6',
      `/metrics/d2/rpc/${encodeURIComponent('E.Größe/1 €.Lesen%')}`,
      'sba.E.Größe/1 €.Lesen%',
    ],
  ])('take names %s', async (_what, path, name) => {
    expect(Object.keys((await metrics(path)).timers)).toEqual([name]);
  });

  it('give 2 as exactly the union of 3, 4, 5 and 8, globally and for a session', async () => {
    const [session] = (await (await ask(`${BASE}/d2/sessions`)).json()) as { id: string }[];
    for (const query of ['', `?session=${session?.id}`]) {
      const parts = await Promise.all(
        ['/sessions', '/rpc', '/sba', '/object'].map((path) => metrics(`/metrics/d2${path}${query}`)),
      );
      const union = await metrics(`/metrics/d2${query}`);
      for (const section of ['gauges', 'counters', 'meters', 'timers'] as const) {
        const names = parts.flatMap((part) => Object.keys(part[section])).sort();
        expect(Object.keys(union[section]), `${section} ${query}`).toEqual(names);
      }
    }
  });

  it('are indented with ?pretty=true in any letter case, and not otherwise', async () => {
    const text = async (query: string) => await (await ask(`${BASE}/metrics/d2/rpc/E.Demo.Fail${query}`)).text();
    expect(await text('?pretty=TRUE')).toMatch(/^\{\n {2}"version" : "4\.0\.0",\n/);
    expect(await text('?pretty=1')).toMatch(/^\{"version":"4\.0\.0",/);
  });

  it('answer HEAD with the same headers and no body', async () => {
    const response = await ask(`${BASE}/metrics/d2`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.text()).toBe('');
  });
});

describe('/metrics', () => {
  it('is text unless the reader asks for OpenMetrics by name', async () => {
    const response = await ask('/metrics');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('must-revalidate,no-cache,no-store');
    expect(response.headers.get('vary')).toBe('accept');
    const text = await response.text();
    expect(text).toMatch(/^# HELP d2_call_duration_seconds /);
    expect(text).toContain(
      '\nd2_calls_total{application="smartWeb",kind="rpc",name="E.Demo.TestInOut",outcome="ok"} 2\n',
    );
    expect(text).toContain('\nd2_calls_total{application="smartWeb",kind="rpc",name="",outcome="client_error"} 1\n');
    expect(text).toContain('\nd2_sessions{application="smartWeb",connection_type="REST"} 2\n');
  });

  it('is OpenMetrics if the reader asks for it', async () => {
    const headers = { accept: 'application/openmetrics-text; version=1.0.0, text/plain; q=0.5' };
    const response = await ask('/metrics', { headers });
    expect(response.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    const text = await response.text();
    expect(text).toContain('\n# TYPE d2_calls counter\n');
    expect(text).toMatch(/\n# EOF\n$/);
  });

  it('answers HEAD with the same headers and no body', async () => {
    const response = await ask('/metrics', { method: 'HEAD' });
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    expect(await response.text()).toBe('');
  });

  it('shows no user and no session', async () => {
    const list = (await (await ask(`${BASE}/d2/sessions`)).json()) as { id: string }[];
    const text = await (await ask('/metrics')).text();
    expect(list.length).toBe(2);
    for (const secret of ['ann', 'bob', '127.0.0.1', ...list.map(({ id }) => id)]) expect(text).not.toContain(secret);
  });
});

describe('the session list', () => {
  it('has the sessions of the users whose calls were accepted, oldest first', async () => {
    const list = (await (await ask(`${BASE}/d2/sessions`)).json()) as Record<string, unknown>[];
    expect(
      list.map(({ userName, requests, connectionType, remoteAddress }) => ({
        userName,
        requests,
        connectionType,
        remoteAddress,
      })),
    ).toEqual([
      { userName: 'ann', requests: 5, connectionType: 'REST', remoteAddress: '127.0.0.1' },
      { userName: 'bob', requests: 3, connectionType: 'REST', remoteAddress: '127.0.0.1' },
    ]);
    expect(Object.keys(list[0] ?? {})).toEqual([
      'id',
      'createTime',
      'userName',
      'connectionType',
      'lastActivityTime',
      'remoteAddress',
      'requests',
    ]);
    expect(list[0]?.createTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('leads to the statistics of one session', async () => {
    const [ann, bob] = (await (await ask(`${BASE}/d2/sessions`)).json()) as { id: string }[];
    expect((await metrics(`/metrics/d2/rpc?session=${ann?.id}`)).timers.rpc?.count).toBe(1);
    expect((await metrics(`/metrics/d2/rpc?session=${bob?.id}`)).timers.rpc?.count).toBe(3);
    const response = await ask(`${BASE}/metrics/d2/rpc?session=${ann?.id}`);
    expect(response.headers.has('metrics-window')).toBe(false);
    await response.arrayBuffer();
  });
});

describe('problems', () => {
  it.each([
    [404, '/other/api/rest/v0/admin/metrics/d2', 'no such application'],
    [404, `${BASE}/metrics/d2/rpc/E.Demo.Missing`, 'No RPC'],
    [404, `${BASE}/metrics/d2/object/H.None`, 'No object'],
    [404, `${BASE}/metrics/d2/rpc?session=none`, 'no active session'],
    [404, `${BASE}/metrics/d3`, 'no such path'],
    [404, '/nowhere', 'no such path'],
    [400, `${BASE}/metrics/d2/rpc?session=a&session=b`, 'exactly one'],
    [400, `${BASE}/metrics/d2/rpc?session=`, 'exactly one'],
    [400, `${BASE}/metrics/d2/rpc/%zz`, 'cannot be read'],
    [503, `${BASE}/metrics/jvm`, 'jvm.source: none'],
    [503, `${BASE}/metrics/jvm/classloader`, 'jvm.source: none'],
    [503, `${BASE}/metrics/jvm/memory`, 'jvm.source: none'],
    [503, `${BASE}/metrics/jvm/garbagecollector`, 'jvm.source: none'],
  ])('answer %i to %s', async (status, path, detail) => {
    const response = await ask(path);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const problem = (await response.json()) as Record<string, unknown>;
    expect(problem).toMatchObject({ type: 'about:blank', status });
    expect(problem.detail).toContain(detail);
    if (status === 503) expect(problem.since).toMatch(/Z$/);
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND'])(
    'refuse %s on every path with Allow',
    async (method) => {
      for (const path of [`${BASE}/metrics/d2`, `${BASE}/d2/sessions`, '/livez', '/nowhere']) {
        const response = await ask(path, { method });
        expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
        expect(response.headers.get('content-type')).toBe('application/problem+json');
        await response.arrayBuffer();
      }
    },
  );

  it('answer bytes that are not a request with a problem', async () => {
    const { connect } = await import('node:net');
    const socket = connect(stand.monitorPort, '127.0.0.1');
    socket.write('\x16\x03\x01 not http\r\n\r\n');
    let text = '';
    for await (const bytes of socket) text += (bytes as Buffer).toString('latin1');
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/problem\+json\r\n/);
  });
});

describe('health', () => {
  it.each(['/livez', '/readyz', '/startupz'])('%s is 200 while all is well, and says no more', async (path) => {
    const response = await ask(path);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok' });
  });

  it('turns off only readiness while draining', async () => {
    const draining = await startStand();
    draining.sidecar.drain();
    const statuses = await Promise.all(
      ['/livez', '/readyz', '/startupz'].map(
        async (path) => (await fetch(`http://127.0.0.1:${draining.monitorPort}${path}`)).status,
      ),
    );
    await draining.close();
    expect(statuses).toEqual([200, 503, 200]);
  });

  it('includes the upstream only with monitor.readyWithUpstream', async () => {
    const ready = async (readyWithUpstream: boolean) => {
      const without = await startStand({
        config: ({ upstream, monitor }) => ({
          upstream: { ...upstream, port: 1 },
          monitor: { ...monitor, readyWithUpstream },
        }),
      });
      const { status } = await fetch(`http://127.0.0.1:${without.monitorPort}/readyz`);
      await without.close();
      return status;
    };
    expect([await ready(false), await ready(true)]).toEqual([200, 503]);
  });
});
