/** Readers of everything that a sidecar publishes: its monitoring port, its control socket, and its files. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Markers } from './markers.ts';
import { say, sayLocally } from './raw.ts';

const BASE = '/smartWeb/api/rest/v0/admin';

/** As monitor/routes.ts lists them, without the names below `rpc`, `sba` and `object`. */
const PATHS = [
  ...['d2/sessions', 'd2/calls', 'd2/calls/slowest'],
  ...['d2', 'd2/sessions', 'd2/rpc', 'd2/sba', 'd2/object'].map((name) => `metrics/${name}`),
  ...['jvm', 'jvm/classloader', 'jvm/memory', 'jvm/garbagecollector', 'server'].map((name) => `metrics/${name}`),
].map((name) => `${BASE}/${name}`);

/** Outside of an application's monitoring interface. */
const OTHERS = [
  ...['/livez', '/readyz', '/startupz', '/openapi.json', '/', '/live'],
  ...['rpc', 'sba', 'objects', 'sessions', 'running', 'slowest', 'unclassified'].map(
    (table) => `/live/smartWeb/${table}`,
  ),
];

/** All answers of the monitoring port to an authenticated reader; `fields` authenticate. */
export async function readAll(monitor: string, fields: readonly string[]): Promise<string[]> {
  const get = (target: string, more: readonly string[] = []) =>
    say(monitor, toRequest(`GET ${target}`, [...fields, ...more]));
  const sessions = (await get(`${BASE}/d2/sessions`)).match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
  const texts = await Promise.all([
    ...PATHS.flatMap((target) => [get(target), get(`${target}?pretty=true`)]),
    ...OTHERS.map((target) => get(target)),
    get('/metrics'),
    get('/metrics', ['Accept: application/openmetrics-text; version=1.0.0']),
    ...sessions.map((id) => get(`${BASE}/metrics/d2?session=${id}`)),
  ]);
  const names = texts.flatMap((text) => [...text.matchAll(/"(rpc|sba|object)\.([^"]+)":/g)]);
  const targets = new Set(
    names.map(([, kind, name]) => `${BASE}/metrics/d2/${kind}/${encodeURIComponent(name ?? '')}`),
  );
  return [...texts, ...(await Promise.all([...targets].slice(0, MAX_NAMES).map((target) => get(target))))];
}

const MAX_NAMES = 40;

/** Requests with secrets where none belongs, and their answers. `fields` authenticate; some requests use others. */
export function askOddly(
  markers: Markers,
  name: string,
  monitor: string,
  fields: readonly string[],
): Promise<string[]> {
  const at = (place: string) => markers.at(`reader of ${name}: ${place}`);
  const metrics = `${BASE}/metrics/d2`;
  const basic = (password: string) => `Authorization: Basic ${Buffer.from(`reader:${password}`).toString('base64')}`;
  const fill = at('head that is too large');
  const requests = [
    toRequest(`GET ${metrics}`, [basic(at('wrong password'))]),
    toRequest(`GET ${metrics}`, [`Authorization: Bearer ${at('wrong token')}`]),
    toRequest(`GET ${metrics}`, [`Authorization: ${at('Authorization without a scheme')}`]),
    toRequest(`GET ${metrics}?access_token=${at('token in a query')}`),
    ...[
      `GET ${metrics}?session=${at('unknown session')}`,
      `GET ${metrics}?session=a&session=${at('second session')}`,
      `GET ${metrics}?pretty=${at('pretty')}&q=${at('query')}`,
      `GET ${metrics}/rpc;jsessionid=${at('path parameter')}`,
      `GET ${metrics}/rpc/E.Nothing;jsessionid=${at('path parameter of a name')}`,
      `GET /${at('application')}/api/rest/v0/admin/d2/sessions`,
      `GET /nothing/${at('unknown path')}?q=${at('query of an unknown path')}`,
      `GET /%zz${at('path behind a bad escape')}`,
      `GET http://u:${at('password in an absolute target')}@127.0.0.1${metrics}`,
      `POST ${metrics}?q=${at('query of a POST')}`,
      `${at('method')} ${metrics}`,
      `CONNECT ${at('target of CONNECT')}:1`,
    ].map((line) => toRequest(line, [...fields, `Cookie: JSESSIONID=${at(`cookie, ${line.slice(0, 20)}`)}`])),
    toRequest(`GET ${metrics}`, [...fields, `Content-Length: 24`]).concat(at('body')),
    toRequest(`GET ${metrics}`, [...fields, 'Content-Length: 2400']).concat(at('body that is too large').repeat(100)),
    toRequest(`GET /metrics`, [...fields, `Accept: ${at('Accept')}`, `X-API-Key: ${at('X-API-Key')}`]),
    toRequest(`GET ${metrics}`, [...fields, `Expect: ${at('Expect')}`, `Upgrade: ${at('Upgrade')}`]),
    `GET ${metrics} HTTP/1.1\nHost: ${at('Host')}\nConnection: close\n\n`,
    `GET ${metrics} HTTP/1.1\nHost: u:${at('password in Host')}@127.0.0.1\nConnection: close\n\n`,
    `GET ${metrics} HTTP/1.1\n${at('line without a colon')}\n\n`,
    `${at('line that is no request')}\n\n`,
    toRequest(`GET ${metrics}`, [`X-Secret: ${fill.repeat(2_000)}`]),
  ];
  return Promise.all(requests.map((text) => say(monitor, text)));
}

/** The answers of the control socket to valid and invalid commands. */
export async function askControl(markers: Markers, name: string, socket: string): Promise<string[]> {
  const word = markers.at(`control socket of ${name}: a word that is no command`);
  return await Promise.all(
    [`status\n`, `${word}\n`, `status ${word}\n`, word.repeat(20)].map((text) => sayLocally(socket, text)),
  );
}

/** Contents and names of all files below `folder`; sockets have no content. */
export function readFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.isFile() ? `${entry.name}\n${readFileSync(path.join(entry.parentPath, entry.name), 'latin1')}` : entry.name,
  );
}

function toRequest(line: string, fields: readonly string[] = []): string {
  return [`${line} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: close', ...fields, '', ''].join('\n');
}
