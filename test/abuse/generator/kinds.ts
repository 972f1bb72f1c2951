/** All kinds of small pieces that a client can send, each filling the largest head or body. */
import zlib from 'node:zlib';
import { type Fields, toHead, toUpgrade } from '../../support/load/heads.ts';
import { clientText, frame, MASK, OPCODES } from '../../support/protocol/websocket/frames.ts';
import { doubleGzipBomb, manyMessages, nestedArrays, subscription } from '../floods/bombs.ts';
import { KNOWN, toPost } from '../floods/flood.ts';
import { fragment } from '../floods/websockets.ts';
import { COMET_PATH, RPC_PATH } from '../plant.ts';

/** Listeners differ in how they find the address of a client. */
type Listener = 'x-forwarded-for' | 'forwarded' | 'proxy-protocol';

export interface Kind {
  readonly name: string;
  readonly listener: Listener;
  /** `request`: the same on one connection, after each answer. `connection`: on a new one. `tunnel`: in a WebSocket, without answers. */
  readonly how: 'request' | 'connection' | 'tunnel';
  build(): Buffer;
}

export const ONE_FIELD = 'a head of one long field';

const HEAD_BYTES = 60_000;
const BODY_BYTES = 1_000_000;
const FORM_BYTES = 16_000;
const TUNNEL_BYTES = 200_000;
/** The default of `limits.fields` is 1,000. */
const LINES = 900;
const LOGIN_PATH = '/smartWeb/j_security_check';
const CHUNKED = { ...KNOWN, 'Transfer-Encoding': 'chunked' };
const FORM = { ...KNOWN, 'Content-Type': 'application/x-www-form-urlencoded' };
const FAR: Fields = { ...KNOWN, 'X-Forwarded-For': '192.0.2.7', Forwarded: 'for=192.0.2.7' };

const LISTS =
  'X-Forwarded-For Forwarded X-Forwarded-Proto X-Forwarded-Host Via Connection Keep-Alive TE Trailer Transfer-Encoding ' +
  'Content-Length Content-Type Content-Encoding Expect Cookie Authorization X-API-Key Accept Accept-Encoding ' +
  'Cache-Control If-None-Match Range Sec-WebSocket-Protocol Sec-WebSocket-Extensions Sec-WebSocket-Key HTTP2-Settings ' +
  'Upgrade traceparent tracestate baggage X-Other';
/** Of these three kinds `{}` stands for a number that differs. */
const MEMBERS = (
  ',| ,|a,|a;b=c,|;|a=b;|"|\\"| |a |%41|\xff|10.0.0.1,|fd00::1,|::ffff:10.0.0.1,|for=10.0.0.1,|' +
  'for="[fd00::1]:80";proto=https,|JSESSIONID={};|chunked,|close,|gzip,|00-|Basic YTpi,'
).split('|');
const SEGMENTS = (
  '/|/.|/..|/a|/a/..|//a|/%2e|/%2e%2e|/%61|/%c4%8c|%41|%c4|%|%2f|%2fa/..|;|/;|/a;b|;jsessionid={}|\\|\\a|.|/%01|' +
  '%e2%80%ae|/{}'
).split('|');
const PARAMETERS = '&|a&|a=b&|message=[]&|m%65ssage=1&|%zz&|+&|message=%5b%zz&|j_username=%zz&|jsonp=a&'.split('|');
const PATHS = ['', '/smartWeb/api/rest/v0/d2/object', '/smartWeb/api/rest/v0/d2', COMET_PATH, 'http://a/app'];

function fill(piece: string, bytes: number): string {
  let text = '';
  for (let nth = 0; text.length < bytes; nth += 1) text += piece.replace('{}', String(nth));
  return Buffer.from(text.slice(0, bytes), 'latin1').toString('latin1');
}

function latin1(...texts: readonly string[]): Buffer {
  return Buffer.from(texts.join(''), 'latin1');
}

function get(target: string, lines: string, fields: Fields = KNOWN): Buffer {
  return latin1(toHead(`GET ${target}`, fields).slice(0, -2), lines, '\r\n');
}

function chunks(piece: string, bytes: number): string {
  return `${fill(piece, bytes - (bytes % piece.length))}0\r\n`;
}

function request(name: string, build: Kind['build'], change: Partial<Kind> = {}): Kind {
  return { name, build, how: 'request', listener: 'x-forwarded-for', ...change };
}

function* heads(): Generator<Kind> {
  yield request(ONE_FIELD, () => get('/app', `X-Other: ${fill('a', HEAD_BYTES)}\r\n`));
  yield request('a head of 900 short fields', () => get('/app', 'a:\r\n'.repeat(LINES)));
  yield request('a head of 15,000 short fields', () => get('/app', 'a:\r\n'.repeat(15_000)));
  for (const field of LISTS.split(' ')) {
    const listener = field === 'Forwarded' ? 'forwarded' : 'x-forwarded-for';
    // A request with such a field is one of an upgrade.
    const upgrade = /^HTTP2/.test(field) ? 'Upgrade: h2c\r\n' : '';
    const before = upgrade + (/^Sec-/.test(field) ? 'Upgrade: websocket\r\nConnection: Upgrade\r\n' : '');
    for (const member of MEMBERS) {
      // Otherwise the next request would be sent into the tunnel.
      const how = before.includes('websocket') ? 'connection' : 'request';
      const list = (bytes: number) => `${field}: ${fill(member, bytes)}\r\n`;
      const fields = member.startsWith('JSESSIONID') || !/^(?:Authorization|X-API-Key)$/.test(field) ? KNOWN : {};
      const ask = (lines: string) => get(RPC_PATH, before + lines, fields);
      yield request(`${field}: ${member}`, () => ask(list(HEAD_BYTES)), { how, listener });
      const many = () => list(HEAD_BYTES / LINES - field.length).repeat(LINES);
      yield request(`${field}: ${member} in 900 lines`, () => ask(many()), { how, listener });
    }
    const half = fill('a,', HEAD_BYTES / 2);
    const lines = `Upgrade: h2c\r\nConnection: ${half}\r\n${field}: ${half}\r\n`;
    yield request(`Connection: a, of an upgrade, and ${field}`, () => get('/app', lines));
  }
  for (const path of PATHS) {
    for (const segment of SEGMENTS)
      yield request(`path ${path} ${segment}`, () => get(`${path}/${fill(segment, HEAD_BYTES)}`, '', FAR));
    for (const parameter of PARAMETERS) {
      const target = () => `${path}/?${fill(parameter, HEAD_BYTES)}message=[]`;
      yield request(`query ${path} ${parameter}`, () => get(target(), '', FAR));
    }
  }
}

function* bodies(): Generator<Kind> {
  const json = { ...KNOWN, 'Content-Type': 'application/json' };
  const gzip = { ...json, 'Content-Encoding': 'gzip' };
  const chunked = (path: string, ...pieces: readonly string[]) => latin1(toHead(`POST ${path}`, CHUNKED), ...pieces);
  for (const path of [RPC_PATH, COMET_PATH, LOGIN_PATH, `http://a${RPC_PATH}`]) {
    for (const chunk of ['1\r\na\r\n', '1;a=b\r\na\r\n', '0000001\r\na\r\n']) {
      const build = () => chunked(path, chunks(chunk, BODY_BYTES / 4), '\r\n');
      yield request(`chunks ${path} ${JSON.stringify(chunk)}`, build);
    }
    yield request(`trailers ${path}`, () => chunked(path, '0\r\n', 'a:\r\n'.repeat(LINES), '\r\n'));
  }
  const twice = toHead(`POST ${RPC_PATH}`, { ...KNOWN, 'Transfer-Encoding': 'a, chunked' });
  const inChunks = () => latin1(twice, chunks('1\r\na\r\n', BODY_BYTES / 4), '\r\n');
  yield request('chunks of Transfer-Encoding: a, chunked', inChunks);
  for (const parameter of PARAMETERS) {
    const form = (path: string, bytes: number) => toPost(path, latin1(fill(parameter, bytes)), FORM);
    yield request(`login form ${parameter}`, () => form(LOGIN_PATH, FORM_BYTES));
    yield request(`Comet form ${parameter}`, () => form(COMET_PATH, HEAD_BYTES));
  }
  const texts: Record<string, () => string> = {
    'Bayeux messages': () => manyMessages(9_000),
    'Bayeux messages without a channel': () => `[${'{},'.repeat(BODY_BYTES / 3)}{}]`,
    'channels of one subscription': () => subscription(2_800),
    'channels of many subscriptions': () =>
      `[${Array.from({ length: 15 }, () => subscription(2_500).slice(1, -1)).join(',')}]`,
    'nested arrays': () => nestedArrays().slice(0, BODY_BYTES),
    'objects of one field': () => `[${'{"a":1},'.repeat(BODY_BYTES / 9)}{}]`,
    'escaped quotes': () => `["${'\\"'.repeat(BODY_BYTES / 2 - 10)}"]`,
    blanks: () => `[${' '.repeat(BODY_BYTES)}]`,
    strings: () => `[${'"",'.repeat(BODY_BYTES / 3 - 10)}""]`,
  };
  for (const [what, toText] of Object.entries(texts)) {
    yield request(`Comet body: ${what}`, () => toPost(COMET_PATH, latin1(toText()), json));
    yield request(`Comet body with gzip: ${what}`, () => toPost(COMET_PATH, zlib.gzipSync(toText()), gzip));
  }
  const codings = { ...gzip, 'Content-Encoding': 'gzip, gzip' };
  yield request('Comet body with gzip twice', () => toPost(COMET_PATH, doubleGzipBomb(), codings));
}

function* connections(): Generator<Kind> {
  const handshake = () => latin1(toUpgrade(COMET_PATH).slice(0, -2), `X-Other: ${fill('a', HEAD_BYTES)}\r\n\r\n`);
  yield request('a head of one long field, on a new WebSocket', handshake, { how: 'connection' });
  const tlvs = () => {
    const header = Buffer.alloc(4_096, 1);
    latin1('\r\n\r\n\0\r\nQUIT\n\x21\x11').copy(header);
    header.writeUInt16BE(header.length - 16, 14);
    return Buffer.concat([header, get('/app', '')]);
  };
  yield request('additional fields of a PROXY header', tlvs, { how: 'connection', listener: 'proxy-protocol' });
  const frames: Record<string, Buffer> = {
    'empty messages': clientText('[]'),
    'empty frames': clientText(''),
    'fragments of one byte': fragment(' '),
    'empty fragments': fragment(''),
    pings: frame({ opcode: OPCODES.ping, mask: MASK }),
    'binary frames': frame({ opcode: OPCODES.binary, payload: 'a', mask: MASK }),
  };
  for (const [what, one] of Object.entries(frames)) {
    const build = () => Buffer.concat(Array.from({ length: TUNNEL_BYTES / one.length }, () => one));
    yield request(`WebSocket: ${what}`, build, { how: 'tunnel' });
  }
}

export function allKinds(): readonly Kind[] {
  return [...heads(), ...bodies(), ...connections()];
}

/** E.g. `Cookie in 900 lines` for all members, `chunks /smartWeb/api/cometd` for all chunks. */
export function groupOf(name: string): string {
  const [, what = name] = /^(path|query|chunks \S+|login form|Comet form)/.exec(name) ?? [];
  return what.replace(/^([^:]+): .*?( in 900 lines|)$/s, '$1$2');
}
