/** Every endpoint by every credential by every method. */
import http from 'node:http';
import net from 'node:net';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { toServerState } from '../../../src/jvm/server-reading.ts';
import { SPARK_POINTS } from '../../../src/measure/history/spark-lines.ts';
import type { CallEntry } from '../../../src/measure/record/running-calls.ts';
import type { SessionEntry } from '../../../src/measure/sessions/session.ts';
import { emptyMetricSet, type MetricSet } from '../../../src/metrics/metric-set.ts';
import { AccessControl } from '../../../src/monitor/access/access-control.ts';
import { AccessList } from '../../../src/monitor/access/access-list.ts';
import type { PasswordHash } from '../../../src/monitor/access/password-hash.ts';
import { Guard } from '../../../src/monitor/guard.ts';
import { HostCheck } from '../../../src/monitor/host-check.ts';
import { PageFolder } from '../../../src/monitor/live/page-files.ts';
import { PAGE_POLICY } from '../../../src/monitor/live/page-routes.ts';
import { Monitor } from '../../../src/monitor/monitor.ts';
import type { Monitored } from '../../../src/monitor/monitored.ts';
import { addRoutes } from '../../../src/monitor/routes.ts';
import { SECURITY_FIELDS } from '../../../src/monitor/send.ts';
import { basic, Folder, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { createPlant, MS } from '../../support/monitor/prometheus/plant.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const SESSION_ID = 'a-session-id';
const USER_NAME = 'a-user-name';
const ADDRESS = '203.0.113.9';
/** First segment of a path outside of the application. */
const SEGMENT = 'a-path-segment';

/** What the answer is to each credential, GET and HEAD. */
type Row = readonly [
  path: string,
  route: string | undefined,
  none: number,
  wrong: number,
  metrics: number,
  sessions: number,
];

const METRICS_ROW = (path: string, route = path): Row => [BASE + path, BASE + route, 401, 401, 200, 200];

const TABLE: readonly Row[] = [
  ['/livez', '/livez', 200, 200, 200, 200],
  ['/readyz', '/readyz', 200, 200, 200, 200],
  ['/startupz', '/startupz', 200, 200, 200, 200],
  ['/metrics', '/metrics', 401, 401, 200, 200],
  ['/openapi.json', '/openapi.json', 401, 401, 200, 200],
  ['/', '/', 200, 200, 200, 200],
  ['/page/page.js', '/page/:file', 200, 200, 200, 200],
  ['/live', '/live', 401, 401, 200, 200],
  ['/live/smartWeb/rpc', '/live/:application/rpc', 401, 401, 200, 200],
  ['/live/smartWeb/sba', '/live/:application/sba', 401, 401, 200, 200],
  ['/live/smartWeb/objects', '/live/:application/objects', 401, 401, 200, 200],
  ['/live/smartWeb/sessions', '/live/:application/sessions', 401, 401, 403, 200],
  ['/live/smartWeb/running', '/live/:application/running', 401, 401, 403, 200],
  ['/live/smartWeb/slowest', '/live/:application/slowest', 401, 401, 403, 200],
  ['/live/smartWeb/unclassified', '/live/:application/unclassified', 401, 401, 403, 200],
  [`${BASE}/d2/sessions`, `${BASE}/d2/sessions`, 401, 401, 403, 200],
  [`${BASE}/d2/calls`, `${BASE}/d2/calls`, 401, 401, 403, 200],
  [`${BASE}/d2/calls/slowest`, `${BASE}/d2/calls/slowest`, 401, 401, 403, 200],
  METRICS_ROW('/metrics/d2'),
  METRICS_ROW('/metrics/d2/sessions'),
  METRICS_ROW('/metrics/server'),
  METRICS_ROW('/metrics/d2/rpc'),
  METRICS_ROW('/metrics/d2/sba'),
  METRICS_ROW('/metrics/d2/object'),
  METRICS_ROW('/metrics/d2/rpc/E.Demo.Run', '/metrics/d2/rpc/:name'),
  METRICS_ROW('/metrics/d2/sba/E.Demo.Run', '/metrics/d2/sba/:name'),
  METRICS_ROW('/metrics/d2/object/H.Level', '/metrics/d2/object/:name'),
  METRICS_ROW('/metrics/jvm'),
  METRICS_ROW('/metrics/jvm/classloader'),
  METRICS_ROW('/metrics/jvm/memory'),
  METRICS_ROW('/metrics/jvm/garbagecollector'),
  // What is no route of its own.
  [`${BASE}/metrics/d2?session=${SESSION_ID}`, undefined, 401, 401, 403, 200],
  [`${BASE}/metrics/d2/rpc?session=none`, undefined, 401, 401, 403, 404],
  [`${BASE}/metrics/d2/rpc?pretty=true&session=`, undefined, 401, 401, 403, 400],
  [`${BASE}/metrics/d2/rpc?sessio%6e=${SESSION_ID}`, undefined, 401, 401, 403, 200],
  [`${BASE}/d2/sessions/`, undefined, 401, 401, 403, 200],
  [`/smartWeb/api/rest/v0/admin/d2/%73essions`, undefined, 401, 401, 403, 200],
  [`${BASE}/metrics/d2/rpc/E.Demo.None`, undefined, 401, 401, 404, 404],
  [`${BASE}/metrics/d2/rpc/%zz`, undefined, 401, 401, 400, 400],
  ['/other/api/rest/v0/admin/metrics/d2', undefined, 401, 401, 404, 404],
  ['/nowhere', undefined, 401, 401, 404, 404],
  ['/livez/nowhere', undefined, 401, 401, 404, 404],
  ['/page/nowhere.js', undefined, 404, 404, 404, 404],
  ['/page/../live', undefined, 401, 401, 404, 404],
  ['/page', undefined, 401, 401, 404, 404],
  ['/live?since=0', undefined, 401, 401, 200, 200],
  ['/live?since=x', undefined, 401, 401, 400, 400],
  [`/live?session=${SESSION_ID}`, undefined, 401, 401, 403, 200],
  ['/live/other/rpc', undefined, 401, 401, 404, 404],
  ['/live/other/sessions', undefined, 401, 401, 403, 404],
  ['/live/smartWeb/%73essions/', undefined, 401, 401, 403, 200],
  ['/live/smartWeb', undefined, 401, 401, 404, 404],
];

const set = { ...emptyMetricSet };
const plant = await createPlant();
const { statistics } = plant;
statistics.rpc.recordAnswered('E.Demo.Run', 200, MS);
statistics.sba.recordAnswered('E.Demo.Run', 200, MS);
statistics.object.recordRead('H.Level', 200);
const sessionMetrics: MetricSet = {
  ...emptyMetricSet,
  gauges: new Map([['sessions.active', { type: 'integer', read: () => 1 }]]),
  timers: new Map([['sessions.created', plant.created]]),
};

const CALL: CallEntry = {
  ...{ kind: 'rpc', name: 'E.Demo.Run', sessionId: SESSION_ID, userName: USER_NAME, connectionType: 'REST' },
  ...{ remoteAddress: '10.0.0.7', startTime: '2026-03-01T08:00:00.000Z', duration: 1.5 },
};

const SESSION: SessionEntry = {
  id: SESSION_ID,
  createTime: '2026-03-01T08:00:00.000Z',
  userName: USER_NAME,
  connectionType: 'REST',
  lastActivityTime: '2026-03-01T08:00:00.000Z',
  remoteAddress: ADDRESS,
  requests: 1,
};

const monitored: Monitored = {
  sidecar: plant.monitored.sidecar,
  toTables: plant.monitored.toTables,
  live: {
    clock: systemClock,
    history: {
      ...{ startedEpochMs: 0, seq: 0, marks: [], droppedMarks: 0 },
      points: function* () {},
      lineOf: () => Array<number>(SPARK_POINTS).fill(0),
      recentCounts: () => new Map([['outside', { sinceStart: 3, inMinute: 1 }]]),
      worstCallOf: () => ({ kind: 'rpc', name: 'E.Demo.Run', failed: 1, ended: 2 }),
    },
    unclassified: { read: () => [] },
    clientTimeoutMs: () => 10_000,
    diagnosed: () => undefined,
    outside: { read: () => ({ count: 3, segments: [[SEGMENT, 2]], other: 1 }) },
    sessionsOf: () => [{ errors: 0, toEntry: () => SESSION }],
    probe: () => Promise.resolve(true),
  },
  applications: [
    {
      name: 'smartWeb',
      running: { size: 1, byName: () => [], oldest: () => [CALL] },
      slowest: { slowest: () => [{ ...CALL, endTime: CALL.startTime, status: 200, outcome: 'ok' }] },
      statistics,
      sessions: {
        created: plant.created,
        countsByType: () => ({ REST: 1, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 }),
        entries: () => [SESSION],
        find: (id) => (id === SESSION_ID ? { statistics, metrics: () => sessionMetrics } : undefined),
        metrics: () => sessionMetrics,
      },
    },
  ],
  health: { isStarted: true, isReady: () => Promise.resolve(true) },
  jvm: {
    state: {
      ...plant.monitored.jvm.state,
      kind: 'available',
      gauges: { classloader: set, memory: set, garbagecollector: set },
      server: toServerState({ threads: { live: 12 } }, 0, undefined),
      ageMs: 0,
      source: 'hsperfdata',
      memory: 'live',
    } as unknown as Monitored['jvm']['state'],
  },
};

const pageFolder = new Folder();
for (const name of ['index.html', 'page.js', 'page.css']) pageFolder.write(name, name);
const page = new PageFolder([pageFolder.path]);
const OPTIONS = { windowMs: 300_000, durationUnit: 'seconds', page } as const;

const PASSWORDS: Readonly<Record<string, string>> & { ann: string; bob: string } = {
  ann: 'annannann',
  bob: 'bobbobbob',
};
const metricsToken = tokenLine('prometheus', 'metrics');
const sessionsToken = tokenLine('grafana', 'sessions');

/** The column of the table, and what is sent. */
const CREDENTIALS: readonly (readonly [column: 0 | 1 | 2 | 3, name: string, authorization: string | undefined])[] = [
  [0, 'none', undefined],
  [0, 'another scheme', 'Digest username="ann"'],
  [0, 'Basic that cannot be read', 'Basic YW5u'],
  [1, 'a wrong password', basic('ann', 'wrong')],
  [1, 'an unknown user', basic('eve', 'annannann')],
  [1, 'a wrong token', 'Bearer d2s_wrong'],
  [2, 'metrics by password', basic('bob', 'bobbobbob')],
  [2, 'metrics by token', `Bearer ${metricsToken.token}`],
  [3, 'sessions by password', basic('ann', 'annannann')],
  [3, 'sessions by token', `Bearer ${sessionsToken.token}`],
];

let folder: Folder;
let monitor: Monitor;
let open: Monitor;
let port: number;
let openPort: number;
let agent: http.Agent;
beforeAll(async () => {
  folder = new Folder();
  const users = [await userLine('ann', 'sessions', PASSWORDS.ann), await userLine('bob', 'metrics', PASSWORDS.bob)];
  const list = await AccessList.open({
    usersFile: folder.write('users', users.join('\n')),
    tokensFile: folder.write('tokens', `${metricsToken.line}\n${sessionsToken.line}`),
  });
  const hosts = new HostCheck(['plant.example']);
  const logger = createLogger('silent');
  // Time flies, so that the many wrong credentials of the table stay below the limit.
  let ns = 0;
  const clock = { ...systemClock, nowNs: () => (ns += 60e9) };
  // The real verification takes 70 ms, and has tests of its own.
  const isRight = (password: string, expected: PasswordHash) =>
    [...list.users.values()].some((user) => user.password === expected && password === PASSWORDS[user.name]);
  const access = new AccessControl(list, clock, (...parts) => Promise.resolve(isRight(...parts)));
  monitor = new Monitor(monitored, OPTIONS, new Guard({ access, hosts }), logger);
  open = new Monitor(monitored, OPTIONS, new Guard({ access: undefined, hosts }), logger);
  port = (await monitor.listen({ host: '127.0.0.1', port: 0 })).port;
  openPort = (await open.listen({ host: '127.0.0.1', port: 0 })).port;
  agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
});

afterAll(async () => {
  agent.destroy();
  await Promise.all([monitor.close(), open.close()]);
  folder.remove();
  pageFolder.remove();
});

interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

interface Asked {
  readonly method?: string;
  readonly authorization?: string | undefined;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly port?: number;
}

function ask(path: string, { method = 'GET', authorization, headers, port: at = port }: Asked = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fields = { ...headers, ...(authorization === undefined ? {} : { authorization }) };
    const request = http.request({ host: '127.0.0.1', port: at, path, method, headers: fields, agent });
    request.on('error', reject);
    request.on('response', (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    // A CONNECT that is refused comes as an event of its own.
    request.on('connect', (response, socket) => {
      socket.destroy();
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: '' });
    });
    request.end();
  });
}

/** What is wrong with an answer, beyond its status; empty if nothing. */
function faultsOf({ status, headers, body }: Answer, method: string, path = ''): readonly string[] {
  const isPage = status === 200 && path === '/';
  const isFile = isPage || (status === 200 && path.startsWith('/page/'));
  const expected = { ...SECURITY_FIELDS, ...(isPage && { 'content-security-policy': PAGE_POLICY }) };
  const missing = Object.entries(expected).filter(([name, value]) => headers[name] !== value);
  return [
    ...missing.map(([name]) => `without ${name}`),
    ...Object.keys(headers).filter((name) => name.startsWith('access-control-')),
    ...(headers['cache-control'] === (isFile ? 'no-cache' : 'must-revalidate,no-cache,no-store')
      ? []
      : ['may be cached']),
    ...((status === 401) === 'www-authenticate' in headers ? [] : ['www-authenticate']),
    ...((status === 405) === (headers.allow === 'GET, HEAD') ? [] : ['allow']),
    ...(status >= 400 && headers['content-type'] !== 'application/problem+json' ? ['no problem document'] : []),
    ...(method === 'HEAD' && body !== '' ? ['a body'] : []),
    ...(status !== 200 && [SESSION_ID, USER_NAME, ADDRESS, SEGMENT].some((secret) => body.includes(secret))
      ? ['a leak']
      : []),
  ];
}

describe('the access matrix', () => {
  it('has every route', () => {
    const server = Fastify();
    const routes: string[] = [];
    server.addHook('onRoute', ({ url, method }) => {
      if (method !== 'HEAD') routes.push(url);
    });
    addRoutes(server, monitored, OPTIONS);
    const inTable = TABLE.flatMap(([, route]) => route ?? []);
    expect(inTable.sort(), 'each route needs a row in TABLE that says who may read it').toEqual(routes.sort());
  });

  describe.each(TABLE)('%s', (path, _route, ...statuses) => {
    it.each(CREDENTIALS)('%i: %s', async (column, _name, authorization) => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await ask(path, { method, authorization });
        expect([method, answer.status, faultsOf(answer, method, path)]).toEqual([method, statuses[column], []]);
      }
      for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
        const answer = await ask(path, { method, authorization });
        expect([method, answer.status, faultsOf(answer, method, path)]).toEqual([method, 405, []]);
      }
    });

    it('refuses other methods also with the highest role', async () => {
      const authorization = `Bearer ${sessionsToken.token}`;
      for (const method of http.METHODS.filter((one) => one !== 'GET' && one !== 'HEAD')) {
        const answer = await ask(path, { method, authorization });
        expect([method, answer.status, faultsOf(answer, method, path)]).toEqual([method, 405, []]);
      }
    });
  });

  it('shows no session to the role metrics in any answer', async () => {
    for (const [path] of TABLE) {
      const { body } = await ask(path, { authorization: basic('bob', 'bobbobbob') });
      for (const secret of [SESSION_ID, USER_NAME, ADDRESS, SEGMENT]) expect(body).not.toContain(secret);
    }
    const { body } = await ask(`${BASE}/d2/sessions`, { authorization: basic('ann', 'annannann') });
    expect(body).toContain(USER_NAME);
    expect((await ask('/live', { authorization: basic('ann', 'annannann') })).body).toContain(SEGMENT);
  });

  it('is open to everybody where no access is configured', async () => {
    for (const [path, , , , , sessions] of TABLE) {
      for (const [, , authorization] of CREDENTIALS) {
        expect([path, (await ask(path, { authorization, port: openPort })).status]).toEqual([path, sessions]);
      }
    }
  });
});

describe('an answer without a credential', () => {
  it('asks for each scheme in a field of its own', async () => {
    const socket = net.connect(port, '127.0.0.1');
    socket.end(`GET ${BASE}/metrics/d2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    let text = '';
    for await (const bytes of socket) text += (bytes as Buffer).toString('latin1');
    expect(text.match(/^www-authenticate: .*$/gim)).toEqual([
      'www-authenticate: Basic realm="d2-sidecar", charset="UTF-8"',
      'www-authenticate: Bearer realm="d2-sidecar"',
    ]);
  });
});

describe('too many wrong credentials', () => {
  it('get 429 with Retry-After, and lock nobody out', async () => {
    const list = await AccessList.open({ usersFile: undefined, tokensFile: folder.write('more', metricsToken.line) });
    const clock = { ...systemClock, nowNs: () => 0 };
    const guard = new Guard({ access: new AccessControl(list, clock), hosts: new HostCheck([]) });
    const limited = new Monitor(monitored, OPTIONS, guard, createLogger('silent'));
    const { port: at } = await limited.listen({ host: '127.0.0.1', port: 0 });
    const statuses: number[] = [];
    for (let count = 0; count < 11; count++) {
      statuses.push((await ask(`${BASE}/metrics/d2`, { authorization: 'Bearer no', port: at })).status);
    }
    const refused = await ask(`${BASE}/metrics/d2`, { authorization: 'Bearer no', port: at });
    const right = await ask(`${BASE}/metrics/d2`, { authorization: `Bearer ${metricsToken.token}`, port: at });
    const none = await ask(`${BASE}/metrics/d2`, { port: at });
    await limited.close();
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
    expect([refused.status, refused.headers['retry-after'], faultsOf(refused, 'GET')]).toEqual([429, '6', []]);
    expect(right.status).toBe(200);
    expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="d2-sidecar"']);
  });
});

describe('the requested host', () => {
  const path = `${BASE}/metrics/d2`;

  it.each([
    '127.0.0.1',
    '127.0.0.1:9280',
    '[::1]:9280',
    '10.1.2.3',
    'localhost',
    'LOCALHOST:1',
    'plant.example:9280',
    'Plant.Example.',
  ])('may be %s', async (host) => {
    expect((await ask(path, { headers: { host }, port: openPort })).status).toBe(200);
  });

  it.each([
    'evil.example',
    'evil.example:9280',
    'plant.example.evil.example',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
  ])('may not be %s, but for health, whoever asks', async (host) => {
    for (const at of [port, openPort]) {
      const answer = await ask(path, { headers: { host }, authorization: basic('ann', 'annannann'), port: at });
      expect([answer.status, faultsOf(answer, 'GET')]).toEqual([421, []]);
      expect((await ask('/nowhere', { headers: { host }, port: at })).status).toBe(421);
      expect((await ask('/livez', { headers: { host }, port: at })).status).toBe(200);
    }
  });

  it.each([
    ['an absolute target of another host', `GET http://evil.example${path} HTTP/1.1\r\nHost: localhost\r\n`, 421],
    ['an absolute target of ours', `GET http://plant.example:9280${path} HTTP/1.1\r\nHost: evil.example\r\n`, 200],
    ['two hosts', `GET ${path} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n`, 400],
    ['a host that is none', `GET ${path} HTTP/1.1\r\nHost: a b\r\n`, 400],
    ['an empty host', `GET ${path} HTTP/1.1\r\nHost:\r\n`, 400],
    ['no host in HTTP/1.0', `GET ${path} HTTP/1.0\r\n`, 200],
    ['an expectation', `GET ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: the-impossible\r\n`, 200],
    [
      'an expectation of content',
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n`,
      200,
    ],
    [
      'a wish to upgrade',
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n`,
      200,
    ],
    ['a small content', `GET ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}`, 200],
    ['a content of more than 1 KiB', `GET ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1025\r\n`, 413],
    ['a content of unknown length', `GET ${path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n`, 413],
    ['a head that is too large', `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(17_000)}\r\n`, 431],
    ['bytes that are no request', '\x16\x03\x01 not http\r\n', 400],
    ['CONNECT', 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n', 405],
  ])('%s', async (_what, head, status) => {
    const socket = net.connect(openPort, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${head}\r\n`);
    let text = '';
    socket.setEncoding('latin1').on('data', (some: string) => {
      text += some;
      if (text.includes('\r\n\r\n')) socket.destroy();
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(text.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
    for (const [name, value] of Object.entries(SECURITY_FIELDS)) {
      expect(text.toLowerCase()).toContain(`\r\n${name}: ${value.toLowerCase()}\r\n`);
    }
  });
});
