/** Clients that put a secret into every place of a request, including places where none belongs. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Markers } from './markers.ts';
import { breakOff, say } from './raw.ts';

const REST = '/smartWeb/api/rest/v0/d2';
const COMET = '/smartWeb/api/cometd';

/** Names that must appear in the output, which proves that it is about this traffic. */
export const SHOWN = { user: 'shown-user', object: 'H.Boiler', rpc: 'E.Demo.Plain', cometRpc: 'E.Comet.Call' } as const;

export interface SidecarAddresses {
  readonly listen: string;
  /** A key in the sidecar's configuration. */
  readonly apiKey: string;
  /** Names of procedures, each with an answer of its own. */
  readonly calls: readonly string[];
}

/** Sends everything; resolves to the sidecar's own answers. `name` is the sidecar's, for the names of places. */
export async function attack(markers: Markers, name: string, sidecar: SidecarAddresses): Promise<string[]> {
  const at = (place: string) => markers.at(`client of ${name}: ${place}`);
  const requests = [...readable(at, sidecar), ...odd(at), ...broken(at)];
  const answers = await Promise.all([
    ...requests.map((text) => say(sidecar.listen, text)),
    ...brokenOff(at).map((text) => breakOff(sidecar.listen, text)),
  ]);
  answers.push(...(await comet(at, sidecar.listen)));
  await chat(at, sidecar.listen);
  return answers.filter((answer) => /^HTTP\/1\.1 [45]/.test(answer) && answer.includes('d2-sidecar'));
}

type At = (place: string) => string;

function request(line: string, fields: readonly string[] = [], body = ''): string {
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [`${line} HTTP/1.1`, 'Host: plant', 'Connection: close', ...length, ...fields, '', body].join('\n');
}

function basic(user: string, password: string): string {
  return `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function readable(at: At, { apiKey, calls }: SidecarAddresses): string[] {
  const login = basic(SHOWN.user, at('password of HTTP Basic'));
  const cookie = `Cookie: a=${at('cookie')}; JSESSIONID=${at('cookie JSESSIONID')}; b`;
  const form = `j_username=form-user&j_password=${at('password of the login form')}&x=${at('field of the login form')}`;
  return [
    request(`GET ${REST}/auth/login`, [login, cookie]),
    ...calls.map((call) =>
      request(`POST ${REST}/rpc/E.Demo/${call}?q=${at(`query, ${call}`)}`, [login], `["${at(`body, ${call}`)}"]`),
    ),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [basic(SHOWN.user, at('wrong password'))]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`X-API-Key: ${apiKey}`]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`X-API-Key: ${at('unknown X-API-Key')}`]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`Authorization: Bearer ${at('bearer token')}`]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`Authorization: Digest username="u", response="${at('Digest')}"`]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`Authorization: ${at('Authorization without a scheme')}`]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`Authorization: Basic ${at('Basic that is not base64')}`]),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [`Proxy-Authorization: Basic ${at('Proxy-Authorization')}`]),
    request(`POST ${REST}/rpc/E.Demo;jsessionid=${at('path parameter')}/Plain;jsessionid=${at('last path parameter')}`),
    request(
      `GET ${REST}/object/${SHOWN.object};jsessionid=${at('path parameter of an object')}?t=${at('query of an object')}`,
    ),
    request(`GET /page;jsessionid=${at('path parameter of a page')}?token=${at('query of a page')}`, [cookie]),
    request(`GET /smartWeb/${at('path of a page')}`),
    request(`GET http://u:${at('password in an absolute target')}@plant${REST}/rpc/E.Demo/Plain?${at('its query')}`),
    request(`POST ${REST}/rpc/E.Demo/Plain`, [
      `Referer: http://h/?q=${at('Referer')}`,
      `User-Agent: ${at('User-Agent')}`,
      `traceparent: 00-${at('traceparent')}-b7ad6b7169203331-01`,
      `tracestate: a=${at('tracestate')}`,
      `X-Forwarded-For: ${at('X-Forwarded-For')}`,
      `X-Forwarded-Host: ${at('X-Forwarded-Host')}`,
      `X-Forwarded-Proto: ${at('X-Forwarded-Proto')}`,
      `Forwarded: for=${at('Forwarded')}`,
      `Content-Type: multipart/form-data; boundary=${at('Content-Type')}`,
      `Accept-Language: ${at('Accept-Language')}`,
      `X-${at('name of a field')}: 1`,
    ]),
    request(`POST /smartWeb/j_security_check`, [cookie, 'Content-Type: application/x-www-form-urlencoded'], form),
    request(`GET ${REST}/auth/logout?t=${at('query of a logout')}`, [login]),
  ];
}

/** Valid or not, but not for the fast path. */
function odd(at: At): string[] {
  const call = `POST ${REST}/rpc/E.Demo/Plain`;
  return [
    `GET ${REST}/rpc/E.Demo/Plain?q=${at('query of HTTP/1.0')} HTTP/1.0\nCookie: JSESSIONID=${at('cookie of HTTP/1.0')}\n\n`,
    request(call, [`Expect: ${at('Expect')}`]),
    request(call, [`Upgrade: ${at('Upgrade')}`, 'Connection: upgrade']),
    request(call, [`Connection: ${at('Connection')}`]),
    request(call, ['Transfer-Encoding: chunked'], '').concat(
      `1;x=${at('chunk extension')}\na\n0\nX-Trailer: ${at('trailer')}\n\n`,
    ),
    request(`CONNECT ${at('target of CONNECT')}:443`),
    request(`OPTIONS *`, [`X-Secret: ${at('field of OPTIONS')}`]),
    request(`TRACE /smartWeb?${at('query of TRACE')}`, [`Cookie: ${at('cookie of TRACE')}`]),
    request(`${at('method')} /smartWeb`),
    request(
      `GET http://u:${at('password before a bad port')}@plant:99999999/smartWeb?${at('query behind a bad port')}`,
    ),
    request(`GET http://[${at('bad address in a target')}/smartWeb`),
    request(`GET /smartWeb#${at('fragment')}`),
    request(`GET /smartWeb/%zz${at('path behind a bad escape')}`),
    request(`GET /smartWeb/../../${at('path above the root')}`),
  ];
}

/** Requests that have to be refused. */
function broken(at: At): string[] {
  const call = `POST ${REST}/rpc/E.Demo/Plain`;
  const fill = at('head that is too large');
  return [
    request(call, [`Bad ${at('name with a blank')}: 1`]),
    request(call, [`${at('line without a colon')}`]),
    request(call, [`X-Bad: ${at('value with a control')}\x01`]),
    request(call, [` ${at('folded line')}`]),
    request(call, [`Content-Length: ${at('place of a length')}`]),
    request(call, ['Content-Length: 1', `Content-Length: 1${at('second length')}`]),
    request(call, [`Transfer-Encoding: ${at('place of a coding')}`]),
    request(
      call,
      ['Transfer-Encoding: chunked', 'Content-Length: 3', `X-Secret: ${at('field beside two framings')}`],
      '',
    ),
    request(call, ['Transfer-Encoding: chunked']).concat(`${at('place of a chunk size')}\n`),
    request(call, ['Transfer-Encoding: chunked']).concat(`0\n${at('broken trailer')}\n\n`),
    request(call, [`Host: ${at('second Host')}`]),
    `${call} HTTP/1.1\nHost: ${at('password in Host')}@plant\nConnection: close\n\n`,
    `${call} HTTP/1.1\nX-Secret: ${at('field without Host')}\nConnection: close\n\n`,
    `GET /smartWeb?${at('query of another version')} HTTP/9.9\nHost: plant\n\n`,
    `GET /smartWeb ${at('target with a blank')} HTTP/1.1\nHost: plant\n\n`,
    `${at('line that is no request')}\n\n`,
    `PRI * HTTP/2.0\n\nSM\n\n${at('frames of HTTP/2')}`,
    `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${at('hello of TLS')}\n\n`,
    request(call, [`X-Secret: ${fill.repeat(4_000)}`]),
  ];
}

/** Requests that never end. */
function brokenOff(at: At): string[] {
  const call = `POST ${REST}/rpc/E.Demo/Plain HTTP/1.1\nHost: plant`;
  return [
    `${call}\nContent-Length: 1000\n\n${at('body that breaks off')}`,
    `${call}\nX-Secret: ${at('head that breaks off')}`,
  ];
}

/** Long-polling, also by forms and callbacks. */
async function comet(at: At, listen: string): Promise<string[]> {
  const fields = ['Content-Type: application/json', `Cookie: JSESSIONID=${at('cookie of long-polling')}`];
  const bodies = toBodies(at);
  const answers: string[] = [];
  for (const body of bodies) answers.push(await say(listen, request(`POST ${COMET}`, fields, body)));
  const message = encodeURIComponent(
    `[{"channel":"/service/d2/rpc","id":"q","data":{"eventName":"E","x":"${at('message in a query')}"}}]`,
  );
  answers.push(await say(listen, request(`GET ${COMET}?jsonp=${at('name of a callback')}&message=${message}`)));
  const form = ['Content-Type: application/x-www-form-urlencoded'];
  answers.push(
    await say(listen, request(`POST ${COMET}`, form, `message=${message}&token=${at('field of a Comet form')}`)),
  );
  return answers;
}

/** WebSocket: a real conversation, and two failing upgrades. */
async function chat(at: At, listen: string): Promise<void> {
  const socket = new WebSocket(
    `ws://${listen}${COMET}?token=${at('query of a WebSocket')}`,
    [at('protocol of a WebSocket')],
    {
      headers: {
        Cookie: `JSESSIONID=${at('cookie of a WebSocket')}`,
        Authorization: `Bearer ${at('token of a WebSocket')}`,
      },
    },
  );
  const closed = once(socket, 'close');
  await once(socket, 'open');
  socket.send(Buffer.from(at('binary message')));
  for (const body of toBodies((place) => at(`${place}, WebSocket`))) socket.send(body);
  socket.send(JSON.stringify([{ channel: '/meta/disconnect', id: at('id of a last message') }]));
  await closed;
  const key = Buffer.from(at('Sec-WebSocket-Key').slice(0, 16)).toString('base64');
  const upgrade = ['Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key}`];
  const head = (path: string) => `GET ${path} HTTP/1.1\nHost: plant\nConnection: Upgrade\n${upgrade.join('\n')}\n\n`;
  await breakOff(listen, head(`/smartWeb/ws?q=${at('query of a refused upgrade')}`));
  // Malformed frames.
  await breakOff(listen, `${head(COMET)}${at('bytes in place of a frame')}`);
}

/** The messages of a Comet client, in order. */
function toBodies(at: At): string[] {
  const clientId = at('clientId');
  const send = (message: object) => JSON.stringify([{ clientId, ...message }]);
  const ext = {
    authentication: { user: SHOWN.user, password: at('password of a handshake'), token: at('token of a handshake') },
  };
  return [
    send({
      channel: '/meta/handshake',
      id: at('message id'),
      version: '1.0',
      supportedConnectionTypes: ['websocket'],
      ext,
    }),
    send({
      channel: '/meta/subscribe',
      id: '2',
      subscription: `/d2/object/${SHOWN.object}`,
      ext: { key: at('ext of a message') },
    }),
    send({ channel: '/meta/subscribe', id: '3', subscription: '/d2/object/H.Denied' }),
    send({
      channel: '/service/d2/rpc',
      id: '4',
      data: {
        eventName: 'E.Comet',
        rpcName: 'Call',
        parameters: [at('parameter of a call')],
        password: at('member of a call'),
      },
    }),
    send({ channel: '/service/d2/other', data: { deep: { secret: at('data on another channel') } } }),
    send({ channel: '/meta/connect', id: '5', connectionType: 'long-polling' }),
    at('body that is no JSON'),
    JSON.stringify({ secret: at('JSON that is no Bayeux') }),
  ];
}
