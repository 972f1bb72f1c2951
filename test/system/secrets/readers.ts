/** Readers of everything that a sidecar publishes: its monitoring port, its control socket, and its files. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Markers } from './markers.ts';
import { say, sayLocally } from './raw.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const METRICS = `${BASE}/metrics/d2`;

/** As openapi.yaml lists them, without the names below `rpc`, `sba` and `object`. */
const PATHS = [
  ...['d2/sessions', 'd2/calls', 'd2/calls/slowest', 'metrics/d2', 'metrics/server', 'metrics/jvm'],
  ...['sessions', 'rpc', 'sba', 'object'].map((name) => `metrics/d2/${name}`),
  ...['classloader', 'memory', 'garbagecollector'].map((name) => `metrics/jvm/${name}`),
].map((name) => `${BASE}/${name}`);
const TABLES = ['rpc', 'sba', 'objects', 'sessions', 'running', 'slowest', 'unclassified'];
/** Outside of an application's monitoring interface. */
const OTHERS = [
  ...['/livez', '/readyz', '/startupz', '/openapi.json', '/', '/live', '/metrics'],
  ...TABLES.map((table) => `/live/smartWeb/${table}`),
];
const MAX_NAMES = 80;

/** All answers of the monitoring port to an authenticated reader; `fields` authenticate. */
export async function readAll(monitor: string, fields: readonly string[]): Promise<string[]> {
  const get = (target: string, more: readonly string[] = []) =>
    say(monitor, toRequest(`GET ${target}`, [...fields, ...more]));
  const sessions = (await get(`${BASE}/d2/sessions`)).match(/[0-9a-f]{8}-[0-9a-f-]{27}/g) ?? [];
  const texts = await Promise.all([
    ...PATHS.flatMap((target) => [get(target), get(`${target}?pretty=true`)]),
    ...OTHERS.map((target) => get(target)),
    get('/metrics', ['Accept: application/openmetrics-text; version=1.0.0']),
    ...sessions.flatMap((id) => [get(`${METRICS}?session=${id}`), get(`/live/smartWeb/sessions/${id}`)]),
  ]);
  const names = texts.flatMap((text) => [...text.matchAll(/"(rpc|sba|object)\.([^"]+)":/g)]);
  const targets = new Set(
    names.flatMap(([, kind, name = '']) => {
      const table = kind === 'object' ? 'objects' : kind;
      return [`${METRICS}/${kind}`, `/live/smartWeb/${table}`].map((path) => `${path}/${encodeURIComponent(name)}`);
    }),
  );
  return [...texts, ...(await Promise.all([...targets].slice(0, MAX_NAMES).map((target) => get(target))))];
}

/** Asked with a cookie and by an authenticated reader. */
const LINES = [
  `GET ${METRICS}?session=«unknown session»`,
  `GET ${METRICS}/rpc;jsessionid=«path parameter»`,
  'GET /%zz«path behind a bad escape»',
  `GET http://u:«password in an absolute target»@127.0.0.1${METRICS}`,
  `POST ${METRICS}?q=«query of a POST»`,
  `«method» ${METRICS}`,
  'CONNECT «target of CONNECT»:1',
];

/** Requests with secrets where none belongs, and their answers. `fields` authenticate; some requests use others. */
export function askOddly(
  markers: Markers,
  name: string,
  monitor: string,
  fields: readonly string[],
): Promise<string[]> {
  const get = (more: readonly string[], target = METRICS) => toRequest(`GET ${target}`, more);
  const tooLarge = '«body that is too large»'.repeat(100);
  const requests = [
    get(['Authorization: Basic base64(reader:«wrong password»)']),
    get(['Authorization: Bearer «wrong token»']),
    get([], `${METRICS}?access_token=«token in a query»`),
    ...LINES.map((line, index) => toRequest(line, [...fields, `Cookie: JSESSIONID=«cookie ${index}»`])),
    `${get([...fields, 'Content-Length: 24'])}«body»`,
    `${get([...fields, 'Content-Length: 2400'])}${tooLarge}`,
    get([...fields, 'Accept: «Accept»', 'X-API-Key: «X-API-Key»'], '/metrics'),
    get([...fields, 'Expect: «Expect»', 'Upgrade: «Upgrade»']),
    `GET ${METRICS} HTTP/1.1\nHost: «Host»\nConnection: close\n\n`,
    `GET ${METRICS} HTTP/1.1\n«line without a colon»\n\n`,
    '«line that is no request»\n\n',
    get([`X-Secret: ${'«head that is too large»'.repeat(2_000)}`]),
  ];
  return Promise.all(requests.map(markers.filling(`reader of ${name}: `)).map((text) => say(monitor, text)));
}

/** The answers of the control socket to valid and invalid commands. */
export async function askControl(markers: Markers, name: string, socket: string): Promise<string[]> {
  const word = markers.at(`control socket of ${name}: a word that is no command`);
  const commands = [toRequest('GET /status'), toRequest(`POST /${word}`), toRequest(`GET /${word.repeat(2_000)}`)];
  return await Promise.all(commands.map((text) => sayLocally(socket, text)));
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
