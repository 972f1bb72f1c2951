import { METHODS } from 'node:http';
import { expect } from 'vitest';
import {
  answering,
  asking,
  askingUntilEnd,
  inChunksOfOne,
  NOISE,
  OK,
  oneExchange,
  request,
  requestInChunks,
  requestWith,
  response,
  responseWith,
} from '../compose.ts';
import type { DataPathCase } from '../run-case.ts';
import { finals, finish, requestsCame, send, takeRequest } from '../steps.ts';

/** RFC 9110 §9: a proxy forwards methods without knowing them, and any request may carry content. */
const methods: readonly DataPathCase[] = [
  // CONNECT asks for a tunnel to elsewhere, which a reverse proxy does not offer.
  ...METHODS.filter((method) => method !== 'CONNECT').map((method) => ({
    name: `${method} without content, with a length, and in chunks`,
    statuses: [200, 200, 200],
    upstream: answering(),
    client: asking(
      request(`${method} /calls/1`),
      requestWith('two bodies', `${method} /calls/2`, 'Content-Type: text/plain'),
      requestInChunks('5\r\nthree\r\n3\r\n go\r\n0\r\n\r\n', `${method} /calls/3`),
    ),
    verify: ({ requests }: { readonly requests: readonly { readonly body: string }[] }) =>
      expect(requests.map(({ body }) => body)).toEqual(['', 'two bodies', 'three go']),
  })),
  ...[
    ['that nobody knows', 'FROBNICATE'],
    ['get in lower case, which is not GET', 'get'],
    ['of every character that a token may have', "aZ09!#$%&'*+-.^_`|~"],
  ].map(([what, method]) => oneExchange(`a method ${what}`, request(`${method} /calls/1`), OK)),
];

/** RFC 9112 §3.2: the request-target passes byte for byte. */
const targets = [
  ['with a query', '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1&y=a%20b&z'],
  ['with slashes in a row', '//smartWeb///api//'],
  ['with dot segments', '/a/./b/../c/%2e%2E/d'],
  ['with encoded characters, also slashes and broken encodings', '/%2F%2f%41%zz%/%C5%BE?%3D=%26'],
  ['with sub-delimiters and matrix parameters', "/a;jsessionid=1;v='2'!$&()*+,=:@-._~"],
  ['with characters that belong encoded', '/a"<>\\^`{|}?[x]={"y":1}'],
  ['of 8,000 octets', `/${'a'.repeat(3_999)}?${'b'.repeat(3_999)}`],
  ['asterisk-form', '*', 'OPTIONS'],
  ['absolute-form', 'http://app.example/calls/1?x=//y'],
].map(([what, text, method = 'GET']) =>
  oneExchange(`target: ${what}`, request(`${method} ${text}`), OK, {
    verify: ({ requests }) => expect(requests[0]?.startLine).toBe(`${method} ${text} HTTP/1.1`),
  }),
);

function requestFields(what: string, ...fields: readonly string[]): DataPathCase {
  return oneExchange(`request fields: ${what}`, request('GET /calls/1', ...fields), OK);
}

function responseFields(what: string, ...fields: readonly string[]): DataPathCase {
  return oneExchange(`response fields: ${what}`, request('GET /calls/1'), responseWith('fine', '200 OK', ...fields));
}

const numbered = (count: number, toLine: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => toLine(i));

/** RFC 9110 §5: names, values, their order and their repetition. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  'order and case': ['zeta: 1', 'ALPHA: 2', 'mIxEd-cAsE: 3', 'DATE: Sat, 21 Nov 2026 00:00:00 GMT', 'accept: */*'],
  'the same name several times in a row': ['X-Twice: a', 'X-Twice: b', 'X-Twice: a', 'Accept: a/b', 'Accept: c/d'],
  'empty values': ['X-Empty:', 'X-Blank: ', 'Accept-Encoding:', 'X-Comma: ,'],
  'blanks around and in values': ['X-None:v', 'X-Tab:\tv\t', 'X-Many:    v    ', 'X-In: a  b\tc'],
  'a field of 12,000 octets': [`X-Long: ${'x'.repeat(12_000)}`],
  // 40 KB of head in parts, since servers also limit the single field.
  'a head of 40,000 octets': numbered(10, (index) => `X-Part-${index}: ${'c'.repeat(4_000)}`),
  '150 fields': numbered(150, (index) => `X-Field-${index}: ${index}`),
  // ISO 8859-1 and UTF-8 octets: obs-text of RFC 9110 §5.5.
  'octets above ASCII': ['X-User: \xe9l\xe8ve \xc5\xbeena \xff'],
  'a name of every character that a token may have': ["X-!#$%&'*+-.^_`|~09: odd"],
};

const fields: readonly DataPathCase[] = [
  ...Object.entries(FIELDS).flatMap(([what, lines]) => [requestFields(what, ...lines), responseFields(what, ...lines)]),
  requestFields('cookies in several lines', 'Cookie: a=1; b=2', 'Cookie: c=3'),
  requestFields('TE and its nomination in Connection', 'TE: trailers', 'Connection: TE'),
  requestFields('Via and Forwarded of an earlier proxy', 'Via: 1.1 edge', 'Forwarded: for=192.0.2.1;proto=https'),
  responseFields('a location with slashes in a row', 'Location: http://app.example//a?b=//c'),
];

/** RFC 9112 §4, RFC 9110 §15: codes and phrases are not the proxy's. */
const statusLines = [
  ['without a phrase', '200 '],
  ['with a phrase of its own', '200 All (is) well: 100 %'],
  ['with a phrase above ASCII', '404 D\xe9sol\xe9'],
  ['codes that nobody knows', '299 Odd'],
  ['401 with its challenges', '401 Unauthorized', 'WWW-Authenticate: Basic realm="d2"', 'WWW-Authenticate: Bearer'],
].map(([what, status = '', ...lines]) =>
  oneExchange(`status line: ${what}`, request('GET /'), responseWith('fine', status, ...lines)),
);

export const headCases: readonly DataPathCase[] = [...methods, ...targets, ...fields, ...statusLines];

const BINARY = `\0\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))}`;
const BYTES_64K = NOISE.toString('latin1', 0, 65_536);

type Framed = readonly [field: string, text: string];

const ofLength = (text: string): Framed => [`Content-Length: ${text.length}`, text];
const inChunks = (...chunks: readonly string[]): Framed => ['Transfer-Encoding: chunked', chunks.join('\r\n')];

const FRAMED: Readonly<Record<string, Framed>> = {
  'length 0': ofLength(''),
  'length with leading zeros': ['Content-Length: 0004', 'four'],
  'length 65,536': ofLength(BYTES_64K),
  'octets that look like framing': ofLength(BINARY),
  'chunks of one octet': inChunks(inChunksOfOne('{"one":"octet"}')),
  'chunk extensions, token and quoted': inChunks(
    ...['4;name=value', 'Wiki', '5;quoted="a;\\"b\\r";flag', 'pedia', '0;last', '', ''],
  ),
  'chunk sizes with leading zeros, in upper and lower case': inChunks(
    ...['000a', '0123456789', '0000000000000001', 'x', 'B', '0123456789a', 'c', '0123456789ab'],
    ...['1F', 'y'.repeat(31), '000', '', ''],
  ),
  trailers: inChunks('4', 'Wiki', '0', 'X-Sum: abc', 'x-second:', 'X-Sum: def', '', ''),
  'chunks, but none': inChunks('0', '', ''),
  'one chunk of 65,536': inChunks('10000', BYTES_64K, '0', '', ''),
  'chunks that hold what looks like framing': inChunks(BINARY.length.toString(16), BINARY, '0', '', ''),
  'Transfer-Encoding in another case': ['transfer-encoding: Chunked', '1\r\na\r\n0\r\n\r\n'],
};

const bothWays = Object.entries(FRAMED).flatMap(([name, [field, text]]) => [
  oneExchange(`request content: ${name}`, request('POST /calls', field) + text, OK),
  oneExchange(`response content: ${name}`, request('GET /calls/1'), response('200 OK', field) + text),
]);

/** RFC 9112 §6.3: responses that end with their heads, whatever these say. The second answer shows where the first ended. */
const bodilessCases = [
  ['204', 'DELETE', response('204 No Content')],
  ['304', 'GET', response('304 Not Modified', 'ETag: "a"')],
  ['304 with the length of what it stands for', 'GET', response('304 Not Modified', 'Content-Length: 5000')],
  ['304 with Transfer-Encoding', 'GET', response('304 Not Modified', 'Transfer-Encoding: chunked')],
  ['HEAD with a length', 'HEAD', response('200 OK', 'Content-Length: 5000')],
  ['HEAD with Transfer-Encoding', 'HEAD', response('200 OK', 'Transfer-Encoding: chunked')],
].map(
  ([name = '', method = '', answer = '']): DataPathCase => ({
    name: `no response content: ${name}`,
    statuses: [Number(answer.slice(9, 12)), 200],
    upstream: answering(answer, OK),
    client: asking(request(`${method} /a`), request('GET /next')),
    verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(['', 'fine']),
  }),
);

/** RFC 9112 §6.3 rule 8: only the end of the connection delimits the content. */
function untilClose(name: string, answer: string, more: Partial<DataPathCase> = {}): DataPathCase {
  return {
    name: `until close: ${name}`,
    upstream: [takeRequest, send(answer), finish],
    client: [send(request('GET /calls/1')), finals(1), requestsCame(1)],
    verify: ({ responses }) => expect(responses[0]?.isComplete).toBe(true),
    ...more,
  };
}

export const closedAsAnnounced = untilClose(
  'HTTP/1.1 that says so',
  `${response('200 OK', 'Connection: close')}until the end`,
  { client: askingUntilEnd(request('GET /calls/1')) },
);

const untilCloseCases = [
  untilClose('HTTP/1.1, octets that look like framing', `${response('200 OK')}${BINARY}${BYTES_64K}`),
  closedAsAnnounced,
  untilClose('nothing at all', response('200 OK', 'Connection: close')),
  untilClose('a response of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end'),
];

export const contentCases: readonly DataPathCase[] = [...bothWays, ...bodilessCases, ...untilCloseCases];
