/** Every endpoint by every credential by every method. */
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createServerState } from '../../../src/jvm/server-reading.ts';
import { AccessControl } from '../../../src/monitor/access/access-control.ts';
import { AccessList } from '../../../src/monitor/access/access-list.ts';
import type { PasswordHash } from '../../../src/monitor/access/password-hash.ts';
import { openPageFolder, PAGE_POLICY } from '../../../src/monitor/live/page-routes.ts';
import type { MonitoredJvm } from '../../../src/monitor/monitored.ts';
import { addRoutes } from '../../../src/monitor/routes.ts';
import { SECURITY_FIELDS } from '../../../src/monitor/send.ts';
import { until } from '../../support/comet/until.ts';
import { basic, Folder, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { HEALTHY, type OpenMonitor, openMonitor } from '../../support/monitor/open-monitor.ts';
import { AVAILABLE } from '../../support/monitor/prometheus/plant.ts';
import { type Answer, exchange, restCall, send } from '../../support/net.ts';
import { OK, startStand } from '../../support/wire/stand.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const USER_NAME = 'a-user-name';
const ADDRESS = '127.0.0.9';
/** First segment of a path outside of the application. */
const SEGMENT = 'a-path-segment';

const stand = await startStand({
  onConnection: (socket) => socket.on('data', (bytes) => bytes.includes('Held') || socket.write(OK)),
});
await callAll();
const server = createServerState({ threads: { live: 12 } }, 0, undefined);
const jvm = { state: { ...AVAILABLE.state, server } as MonitoredJvm['state'] };
const monitored = { ...stand.sidecar.monitored, health: HEALTHY, jvm };
const SESSION_ID = [...(monitored.applications[0]?.sessions.entries() ?? [])][0]?.id ?? 'none';
const SECRETS = [SESSION_ID, USER_NAME, ADDRESS, SEGMENT];

async function callAll(): Promise<void> {
  const call = (path: string) => restCall(stand.port, path, USER_NAME, { localAddress: ADDRESS });
  for (const path of ['rpc/E.Demo/Run', 'sba/E.Demo/Run', 'object/H.Level']) await call(path);
  await send(stand.port, `/${SEGMENT}`);
  // A running call.
  call('rpc/E.Demo/Held').catch(() => undefined);
  await until('a call runs', () => stand.sidecar.reporter.inFlight === 1);
}

/** The status of GET and HEAD without a credential, with a wrong one, and with the roles metrics and sessions. */
type Statuses = readonly [none: number, wrong: number, metrics: number, sessions: number];
const OPEN: Statuses = [200, 200, 200, 200];
const NUMBERS: Statuses = [401, 401, 200, 200];
const ALL: Statuses = [401, 401, 403, 200];
/** Without `history.file`. */
const NO_HISTORY: Statuses = [401, 401, 503, 503];
const NOT_THERE: Statuses = [401, 401, 404, 404];
const MALFORMED: Statuses = [401, 401, 400, 400];

const METRICS = [
  ...['d2', 'd2/sessions', 'd2/rpc', 'd2/sba', 'd2/object', 'd2/rpc/:name', 'd2/sba/:name', 'd2/object/:name'],
  ...['server', 'jvm', 'jvm/classloader', 'jvm/memory', 'jvm/garbagecollector'],
];
const ROUTES: readonly (readonly [Statuses, readonly string[]])[] = [
  [OPEN, ['/livez', '/readyz', '/startupz', '/', '/page/:file']],
  [NUMBERS, ['/metrics', '/openapi.json', '/live']],
  [
    NUMBERS,
    ['rpc', 'sba', 'objects'].flatMap((table) => [table, `${table}/:name`]).map((path) => `/live/:application/${path}`),
  ],
  [NUMBERS, [`${BASE}/d2/verdict`]],
  [
    NO_HISTORY,
    ['history', 'history.csv', 'history/marks', 'history/names', 'history/slower'].map((path) => `${BASE}/${path}`),
  ],
  [NUMBERS, METRICS.map((path) => `${BASE}/metrics/${path}`)],
  [ALL, ['sessions', 'sessions/:id', 'unclassified'].map((table) => `/live/:application/${table}`)],
  [ALL, ['sessions', 'calls', 'calls/slowest'].map((path) => `${BASE}/d2/${path}`)],
];

function pathOf(route: string): string {
  const path = route.replace(':file', 'page.js').replace(':application', 'smartWeb');
  return path
    .replace('slower', 'slower?since=-1h')
    .replace('object/:name', 'object/H.Level')
    .replace(':name', 'E.Demo.Run')
    .replace(':id', SESSION_ID);
}

const TABLE: readonly (readonly [path: string, Statuses])[] = [
  ...ROUTES.flatMap(([statuses, routes]) => routes.map((route) => [pathOf(route), statuses] as const)),
  // Paths without a route.
  [`${BASE}/metrics/d2?session=${SESSION_ID}`, ALL],
  [`${BASE}/metrics/d2/rpc?session=none`, [401, 401, 403, 404]],
  [`${BASE}/metrics/d2/rpc?pretty=true&session=`, [401, 401, 403, 400]],
  [`${BASE}/metrics/d2/rpc?sessio%6e=${SESSION_ID}`, ALL],
  [`${BASE}/d2/%73essions`, ALL],
  [`${BASE}/metrics/d2/rpc/E.Demo.None`, NOT_THERE],
  [`${BASE}/metrics/d2/rpc/%zz`, MALFORMED],
  ['/other/api/rest/v0/admin/metrics/d2', NOT_THERE],
  ['/nowhere', NOT_THERE],
  ['/page/nowhere.js', [404, 404, 404, 404]],
  ['/page/../live', NOT_THERE],
  [`/live?session=${SESSION_ID}`, ALL],
  ['/live/other/rpc', NOT_THERE],
  ['/live/other/sessions', [401, 401, 403, 404]],
  ['/live/smartWeb/%73essions/', ALL],
];

const folder = new Folder();
for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg']) folder.write(name, name);
const OPTIONS = { page: openPageFolder((name) => readFile(`${folder.path}/${name}`)), hosts: ['plant.example'] };

const PASSWORDS = { ann: 'annannann', bob: 'bobbobbob' };
const metricsToken = tokenLine('prometheus', 'metrics');
const sessionsToken = tokenLine('grafana', 'sessions');
const ANN = basic('ann', PASSWORDS.ann);
const BOB = basic('bob', PASSWORDS.bob);

/** The column of `Statuses`, and the credential. */
const CREDENTIALS: readonly (readonly [column: 0 | 1 | 2 | 3, name: string, authorization: string | undefined])[] = [
  [0, 'none', undefined],
  [0, 'another scheme', 'Digest username="ann"'],
  [0, 'Basic that cannot be read', 'Basic YW5u'],
  [1, 'a wrong password', basic('ann', 'wrong')],
  [1, 'an unknown user', basic('eve', 'annannann')],
  [1, 'a wrong token', 'Bearer d2s_wrong'],
  [2, 'metrics by password', BOB],
  [2, 'metrics by token', `Bearer ${metricsToken.token}`],
  [3, 'sessions by password', ANN],
  [3, 'sessions by token', `Bearer ${sessionsToken.token}`],
];

let monitor: OpenMonitor;
let open: OpenMonitor;
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
beforeAll(async () => {
  const users = [await userLine('ann', 'sessions', PASSWORDS.ann), await userLine('bob', 'metrics', PASSWORDS.bob)];
  const list = await AccessList.open({
    usersFile: folder.write('users', users.join('\n')),
    tokensFile: folder.write('tokens', `${metricsToken.line}\n${sessionsToken.line}`),
  });
  // A fast clock, so that the many wrong credentials of the table stay below the limit.
  let ns = 0;
  const clock = { ...systemClock, nowNs: () => (ns += 60e9) };
  // The real verification takes 70 ms, and has separate tests.
  const isRight = async (password: string, expected: PasswordHash) =>
    [...list.users.values()].some(
      (user) => user.password === expected && password === PASSWORDS[user.name as keyof typeof PASSWORDS],
    );
  monitor = await openMonitor(monitored, { ...OPTIONS, access: new AccessControl(list, clock, isRight) });
  open = await openMonitor(monitored, OPTIONS);
});

afterAll(async () => {
  agent.destroy();
  await Promise.all([monitor.close(), open.close(), stand.close()]);
  folder.remove();
});

const REFUSED = http.METHODS.filter((method) => method !== 'GET' && method !== 'HEAD');

type Asked = Partial<Record<'method' | 'authorization' | 'host', string | undefined>> & { readonly port?: number };

function ask(path: string, { method = 'GET', authorization, host, port = monitor.port }: Asked = {}): Promise<Answer> {
  const headers = { ...(host !== undefined && { host }), ...(authorization !== undefined && { authorization }) };
  return send(port, path, { method, headers, agent });
}

/** The faults of an answer besides its status; empty if none. */
function faultsOf({ status, headers, body }: Answer, method: string, path = ''): readonly string[] {
  const isPage = status === 200 && path === '/';
  const isFile = isPage || (status === 200 && path.startsWith('/page/'));
  const expected = {
    ...{ ...SECURITY_FIELDS, ...(isPage && { 'content-security-policy': PAGE_POLICY }) },
    'cache-control': isFile ? 'no-cache' : 'must-revalidate,no-cache,no-store',
    ...(status >= 400 && { 'content-type': 'application/problem+json' }),
    ...(status === 405 && { allow: 'GET, HEAD' }),
  };
  return [
    ...Object.entries(expected).flatMap(([name, value]) => (headers[name] === value ? [] : [`without ${name}`])),
    ...Object.keys(headers).filter((name) => name.startsWith('access-control-')),
    ...((status === 401) === 'www-authenticate' in headers ? [] : ['www-authenticate']),
    ...((status === 405) === 'allow' in headers ? [] : ['allow']),
    ...(method === 'HEAD' && body !== '' ? ['a body'] : []),
    ...(status !== 200 && SECRETS.some((secret) => body.includes(secret)) ? ['a leak'] : []),
  ];
}

async function expectStatus(status: number | undefined, path: string, method: string, authorization?: string) {
  const answer = await ask(path, { method, authorization });
  expect([method, answer.status, faultsOf(answer, method, path)]).toEqual([method, status, []]);
}

it('the view of a name has users, addresses and sessions for the role sessions only', async () => {
  const list = expect.any(Array);
  for (const item of ['rpc/E.Demo.Run', 'sba/E.Demo.Run', 'objects/H.Level']) {
    const read = async (authorization: string) =>
      JSON.parse((await ask(`/live/smartWeb/${item}`, { authorization })).body) as object;
    expect(await read(BOB), item).toMatchObject({ callers: null, running: null, slowest: null });
    expect(await read(ANN), item).toMatchObject({ callers: list, running: list, slowest: list });
  }
});

describe('the access matrix', () => {
  it('has every route', () => {
    const server = Fastify();
    const routes: string[] = [];
    server.addHook('onRoute', ({ url, method }) => {
      if (method !== 'HEAD') routes.push(url);
    });
    addRoutes(server, monitored, { windowMs: 300_000, durationUnit: 'seconds', ...OPTIONS });
    const named = ROUTES.flatMap(([, some]) => some);
    expect(named.sort(), 'each route needs a place in ROUTES that says who may read it').toEqual(routes.sort());
  });

  describe.each(TABLE)('%s', (path, statuses) => {
    it.each(CREDENTIALS)('%i: %s', async (column, _name, authorization) => {
      for (const method of ['GET', 'HEAD']) await expectStatus(statuses[column], path, method, authorization);
      // Every method is refused also with the highest role.
      for (const method of authorization === ANN ? REFUSED : ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE']) {
        await expectStatus(405, path, method, authorization);
      }
    });
  });

  it('shows no session to the role metrics in any answer', async () => {
    for (const [path] of TABLE) {
      const { body } = await ask(path, { authorization: BOB });
      for (const secret of SECRETS) expect(body).not.toContain(secret);
    }
    expect((await ask(`${BASE}/d2/sessions`, { authorization: ANN })).body).toContain(USER_NAME);
    expect((await ask('/live', { authorization: ANN })).body).toContain(SEGMENT);
  });

  it('is open to everybody where no access is configured', async () => {
    for (const [path, statuses] of TABLE) {
      for (const [, , authorization] of CREDENTIALS) {
        expect([path, (await ask(path, { authorization, port: open.port })).status]).toEqual([path, statuses[3]]);
      }
    }
  });
});

it('an answer without a credential asks for each scheme in a separate field', async () => {
  const request = `GET ${BASE}/metrics/d2 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  expect((await exchange(monitor.port, request)).match(/^www-authenticate: .*$/gim)).toEqual([
    'www-authenticate: Basic realm="d2-sidecar", charset="UTF-8"',
    'www-authenticate: Bearer realm="d2-sidecar"',
  ]);
});

it('too many wrong credentials get 429 with Retry-After, and lock nobody out', async () => {
  const list = await AccessList.open({ usersFile: undefined, tokensFile: folder.write('more', metricsToken.line) });
  const access = new AccessControl(list, { ...systemClock, nowNs: () => 0 });
  const limited = await openMonitor(monitored, { access });
  const askLimited = (token?: string) =>
    ask(`${BASE}/metrics/d2`, { authorization: token && `Bearer ${token}`, port: limited.port });
  const statuses: number[] = [];
  for (let count = 0; count < 11; count++) statuses.push((await askLimited('no')).status);
  const refused = await askLimited('no');
  const right = await askLimited(metricsToken.token);
  const none = await askLimited();
  await limited.close();
  expect(statuses).toEqual([...Array<number>(10).fill(401), 429]);
  expect([refused.status, refused.headers['retry-after'], faultsOf(refused, 'GET')]).toEqual([429, '6', []]);
  expect(right.status).toBe(200);
  expect([none.status, none.headers['www-authenticate']]).toEqual([401, 'Bearer realm="d2-sidecar"']);
});

it('a password for which the queue has no room gets 503, and may be sent again in a second', async () => {
  const list = await AccessList.open({ usersFile: `${folder.path}/users`, tokensFile: undefined });
  let end = () => undefined as unknown;
  const ended = new Promise<boolean>((resolve) => {
    end = () => resolve(false);
  });
  const busy = await openMonitor(monitored, { access: new AccessControl(list, systemClock, () => ended) });
  // One is verified, 64 wait, and the last one takes the place of the first that waits.
  const answers = Array.from({ length: 66 }, (_, i) =>
    send(busy.port, '/metrics', { headers: { authorization: basic('ann', `wrong${i}`) } }),
  );
  const refused = await Promise.race(answers);
  end();
  expect([refused.status, refused.headers['retry-after'], faultsOf(refused, 'GET')]).toEqual([503, '1', []]);
  // The later ones are over the limit of their address.
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([401, 429, 503]));
  expect(statuses.filter((status) => status === 503)).toHaveLength(1);
  await busy.close();
});

const path = `${BASE}/metrics/d2`;
const HOST = 'Host: localhost\r\n';

it.each([
  ...['127.0.0.1', '127.0.0.1:9280', '[::1]:9280', '10.1.2.3', 'localhost', 'LOCALHOST:1'],
  ...['plant.example:9280', 'Plant.Example.'],
])('the requested host may be %s', async (host) => {
  expect((await ask(path, { host, port: open.port })).status).toBe(200);
});

it.each([
  ...['evil.example', 'evil.example:9280', 'plant.example.evil.example'],
  ...['127.0.0.1.evil.example', 'localhost.evil.example'],
])('only health answers a request for %s, whatever the role', async (host) => {
  for (const { port } of [monitor, open]) {
    const answer = await ask(path, { host, authorization: ANN, port });
    expect([answer.status, faultsOf(answer, 'GET')]).toEqual([421, []]);
    expect((await ask('/nowhere', { host, port })).status).toBe(421);
    expect((await ask('/livez', { host, port })).status).toBe(200);
  }
});

it.each([
  ['an absolute target of another host', `GET http://evil.example${path} HTTP/1.1\r\n${HOST}`, 421],
  ['an absolute target of ours', `GET http://plant.example:9280${path} HTTP/1.1\r\nHost: evil.example\r\n`, 200],
  ['two hosts', `GET ${path} HTTP/1.1\r\n${HOST}Host: evil.example\r\n`, 400],
  ['a host with a space', `GET ${path} HTTP/1.1\r\nHost: a b\r\n`, 400],
  ['no host in HTTP/1.0', `GET ${path} HTTP/1.0\r\n`, 200],
  ['an expectation', `GET ${path} HTTP/1.1\r\n${HOST}Expect: the-impossible\r\n`, 200],
  ['a wish to upgrade', `GET ${path} HTTP/1.1\r\n${HOST}Connection: upgrade\r\nUpgrade: websocket\r\n`, 200],
  ['a small content', `GET ${path} HTTP/1.1\r\n${HOST}Content-Length: 2\r\n\r\n{}`, 200],
  ['a content of more than 1 KiB', `GET ${path} HTTP/1.1\r\n${HOST}Content-Length: 1025\r\n`, 413],
  ['a content of unknown length', `GET ${path} HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n`, 413],
  ['a head that is too large', `GET ${path} HTTP/1.1\r\n${HOST}X: ${'x'.repeat(17_000)}\r\n`, 431],
  ['bytes that are no request', '\x16\x03\x01 not http\r\n', 400],
  ['CONNECT', `CONNECT localhost:1 HTTP/1.1\r\n${HOST}`, 405],
  ['a method that Node.js does not know', `FOO ${path} HTTP/1.1\r\n${HOST}`, 405],
  ['a method that is no token', `G(T ${path} HTTP/1.1\r\n${HOST}`, 400],
])('the requested host %s', async (_what, head, status) => {
  const text = await exchange(open.port, `${head}\r\n`, '\r\n\r\n');
  expect(text.slice(0, 12)).toBe(`HTTP/1.1 ${status}`);
  const fields = { ...SECURITY_FIELDS, ...(status >= 400 && { 'content-type': 'application/problem+json' }) };
  for (const [name, value] of Object.entries(fields)) {
    expect(text.toLowerCase()).toContain(`\r\n${name}: ${value.toLowerCase()}\r\n`);
  }
});
