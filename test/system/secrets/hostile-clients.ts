/** Clients that put a secret into every place of a request, including places where none belongs. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Fill, Markers } from './markers.ts';
import { breakOff, say } from './raw.ts';

const REST = '/smartWeb/api/rest/v0/d2';
const COMET = '/smartWeb/api/cometd';
const CALL = `POST ${REST}/rpc/E.Demo/Plain`;

/** Names that must appear in the output, which proves that it is about this traffic. */
export const SHOWN = { user: 'shown-user', object: 'H.Boiler', rpc: 'E.Demo.Plain', cometRpc: 'E.Comet.Call' } as const;

/** Sends everything; resolves to the sidecar's own answers. `name` is the sidecar's, for the names of places. */
export async function attack(markers: Markers, name: string, listen: string, apiKey: string, calls: readonly string[]) {
  const fill = markers.filling(`client of ${name}: `);
  const requests = [
    ...[...READABLE, ...calls.map(toCall), ...ODD].map((row) => toRequest(fill, row)),
    ...[`X-API-Key: ${apiKey}`, ...FIELDS].map((field) => toRequest(fill, [CALL, [field]])),
    ...RAW.map(fill),
  ];
  const answers = await Promise.all([
    ...requests.map((text) => say(listen, text)),
    ...ENDLESS.map((text) => breakOff(listen, fill(`${CALL} HTTP/1.1\nHost: plant\n${text}`))),
  ]);
  answers.push(...(await poll(fill, listen)));
  await chat(fill, listen);
  return answers.filter((answer) => /^HTTP\/1\.1 [45]/.test(answer) && answer.includes('d2-sidecar'));
}

type Row = readonly [line: string, fields?: readonly string[], body?: string];

function toRequest(fill: Fill, [line, fields = [], body = '']: Row): string {
  const content = fill(body);
  const length = content === '' ? [] : [`Content-Length: ${Buffer.byteLength(content)}`];
  const head = [`${line} HTTP/1.1`, 'Host: plant', 'Connection: close', ...length, ...fields, '', ''];
  return fill(head.join('\n')) + content;
}

const LOGIN = `Authorization: Basic base64(${SHOWN.user}:«password of HTTP Basic»)`;
const COOKIE = 'Cookie: a=«cookie»; JSESSIONID=«cookie JSESSIONID»; b';
const CHUNKED = 'Transfer-Encoding: chunked';
const FORM = 'Content-Type: application/x-www-form-urlencoded';

function toCall(call: string): Row {
  return [`POST ${REST}/rpc/E.Demo/${call}?q=«query, ${call}»`, [LOGIN], `["«body, ${call}»"]`];
}

const READABLE: readonly Row[] = [
  [`GET ${REST}/auth/login`, [LOGIN, COOKIE]],
  [`POST ${REST}/rpc/E.Demo;jsessionid=«path parameter»/Plain;jsessionid=«last path parameter»`],
  [`GET ${REST}/object/${SHOWN.object};jsessionid=«path parameter of an object»?t=«query of an object»`],
  ['GET /page;jsessionid=«path parameter of a page»?token=«query of a page»', [COOKIE]],
  ['GET /smartWeb/«path of a page»'],
  [`GET http://u:«password in an absolute target»@plant${REST}/rpc/E.Demo/Plain?«its query»`],
  [
    CALL,
    [
      ...['Referer: http://h/?q=«Referer»', 'User-Agent: «User-Agent»', 'Accept-Language: «Accept-Language»'],
      ...['traceparent: 00-«traceparent»-b7ad6b7169203331-01', 'tracestate: a=«tracestate»', 'X-«name of a field»: 1'],
      ...['For', 'Host', 'Proto'].map((name) => `X-Forwarded-${name}: «X-Forwarded-${name}»`),
      ...['Forwarded: for=«Forwarded»', 'Content-Type: multipart/form-data; boundary=«Content-Type»'],
    ],
  ],
  [
    'POST /smartWeb/j_security_check',
    [COOKIE, FORM],
    'j_username=form-user&j_password=«password of the login form»&x=«field of the login form»',
  ],
  [`GET ${REST}/auth/logout?t=«query of a logout»`, [LOGIN]],
];

/** Each in a call of its own. The second half has to be refused. */
const FIELDS = [
  `Authorization: Basic base64(${SHOWN.user}:«wrong password»)`,
  'Authorization: Bearer «bearer token»',
  'Authorization: Digest username="u", response="«Digest»"',
  'Authorization: Basic «Basic that is not base64»',
  'Expect: «Expect»',
  'Upgrade: «Upgrade»\nConnection: upgrade',
  `${CHUNKED}\n\n1;x=«chunk extension»\na\n0\nX-Trailer: «trailer»`,
  '«line without a colon»',
  'X-Bad: «value with a control»\x01',
  'Bad «name with a blank»: 1',
  'Content-Length: «place of a length»',
  'Content-Length: 1\nContent-Length: 1«second length»',
  'Transfer-Encoding: «place of a coding»',
  `${CHUNKED}\nContent-Length: 3\nX-Secret: «field beside two framings»`,
  `${CHUNKED}\n\n«place of a chunk size»`,
  `${CHUNKED}\n\n0\n«broken trailer»`,
  `X-Secret: ${'«head that is too large»'.repeat(4_000)}`,
];

/** Valid or not, but not for the fast path. */
const ODD: readonly Row[] = [
  ['CONNECT «target of CONNECT»:443'],
  ['«method» /smartWeb'],
  ['GET http://u:«password before a bad port»@plant:99999999/smartWeb?«query behind a bad port»'],
  ['GET /smartWeb/%zz«path behind a bad escape»'],
];

const RAW = [
  `GET ${REST}/rpc/E.Demo/Plain?q=«query of HTTP/1.0» HTTP/1.0\nCookie: JSESSIONID=«cookie of HTTP/1.0»\n\n`,
  `${CALL} HTTP/1.1\nX-Secret: «field without Host»\nConnection: close\n\n`,
  'GET /smartWeb «target with a blank» HTTP/1.1\nHost: plant\n\n',
  '«line that is no request»\n\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03«hello of TLS»\n\n',
];

const ENDLESS = ['Content-Length: 1000\n\n«body that breaks off»', 'X-Secret: «head that breaks off»'];

async function poll(fill: Fill, listen: string): Promise<string[]> {
  const fields = ['Content-Type: application/json', 'Cookie: JSESSIONID=«cookie of long-polling»'];
  const message = encodeURIComponent(
    fill('[{"channel":"/service/d2/rpc","id":"q","data":{"x":"«message in a query»"}}]'),
  );
  const answers: string[] = [];
  for (const row of [
    ...BODIES.map((body): Row => [`POST ${COMET}`, fields, body]),
    [`GET ${COMET}?jsonp=«name of a callback»&message=${message}`],
    [`POST ${COMET}`, [FORM], `message=${message}&token=«field of a Comet form»`],
  ] satisfies Row[]) {
    answers.push(await say(listen, toRequest(fill, row)));
  }
  return answers;
}

/** WebSocket: a real conversation, and two failing upgrades. */
async function chat(fill: Fill, listen: string): Promise<void> {
  const headers = {
    Cookie: fill('JSESSIONID=«cookie of a WebSocket»'),
    Authorization: fill('Bearer «token of a WebSocket»'),
  };
  const url = fill(`ws://${listen}${COMET}?token=«query of a WebSocket»`);
  const socket = new WebSocket(url, [fill('«protocol of a WebSocket»')], { headers });
  const closed = once(socket, 'close');
  await once(socket, 'open');
  socket.send(Buffer.from(fill('«binary message»')));
  for (const body of BODIES) socket.send(fill(body.replaceAll('»', ', WebSocket»')));
  socket.send(fill('[{"channel":"/meta/disconnect","id":"«id of a last message»"}]'));
  await closed;
  const key = Buffer.from(fill('«Sec-WebSocket-Key»').slice(0, 16)).toString('base64');
  const fields = `Upgrade: websocket\nSec-WebSocket-Version: 13\nSec-WebSocket-Key: ${key}`;
  const head = (path: string) => `GET ${path} HTTP/1.1\nHost: plant\nConnection: Upgrade\n${fields}\n\n`;
  await breakOff(listen, fill(head('/smartWeb/ws?q=«query of a refused upgrade»')));
  // Malformed frames.
  await breakOff(listen, fill(`${head(COMET)}«bytes in place of a frame»`));
}

/** The messages of a Comet client, in order. */
const BODIES = [
  ...[
    {
      channel: '/meta/handshake',
      ...{ id: '«message id»', version: '1.0', supportedConnectionTypes: ['websocket'] },
      ext: { authentication: { user: SHOWN.user, password: '«password in ext»', token: '«token in ext»' } },
    },
    { channel: '/meta/subscribe', id: '2', subscription: `/d2/object/${SHOWN.object}`, ext: { key: '«ext»' } },
    { channel: '/meta/subscribe', id: '3', subscription: '/d2/object/H.Denied' },
    {
      ...{ channel: '/service/d2/rpc', id: '4' },
      data: { eventName: 'E.Comet', rpcName: 'Call', parameters: ['«parameter»'], password: '«member of a call»' },
    },
    { channel: '/service/d2/other', data: { deep: { secret: '«data on another channel»' } } },
    { channel: '/meta/connect', id: '5', connectionType: 'long-polling' },
  ].map((message) => JSON.stringify([{ clientId: '«clientId»', ...message }])),
  '«body that is no JSON»',
  '{"secret":"«JSON that is no Bayeux»"}',
];
