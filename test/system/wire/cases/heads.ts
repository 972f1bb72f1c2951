import { METHODS } from 'node:http';
import { expect } from 'vitest';
import { answering, asking, OK, oneExchange, request, requestInChunks, requestWith, responseWith } from '../compose.ts';
import type { DataPathCase } from '../run-case.ts';

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
  ['with an empty query', '/calls?'],
  ['with slashes in a row', '//smartWeb///api//'],
  ['with dot segments', '/a/./b/../c/%2e%2E/d'],
  ['with encoded characters, also slashes and broken encodings', '/%2F%2f%41%zz%/%C5%BE?%3D=%26'],
  ['with sub-delimiters and matrix parameters', "/a;jsessionid=1;v='2'!$&()*+,=:@-._~"],
  ['with characters that belong encoded', '/a"<>\\^`{|}?[x]={"y":1}'],
  ['with a query that holds question marks and slashes', '/a?b=/c?d=//e'],
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
  requestFields('the same name several times, between others', 'X-Twice: a', 'Accept: a/b', 'x-twice: b'),
  requestFields('cookies in several lines', 'Cookie: a=1; b=2', 'Cookie: c=3'),
  requestFields('TE and its nomination in Connection', 'TE: trailers', 'Connection: TE'),
  requestFields('Via and Forwarded of an earlier proxy', 'Via: 1.1 edge', 'Forwarded: for=192.0.2.1;proto=https'),
  responseFields(
    'cookies in several lines',
    'Set-Cookie: a=1; Path=/',
    'X-Between: 1',
    'set-cookie: b=2',
    'Set-Cookie: a=1',
  ),
  responseFields('the same name several times, between others', 'X-Twice: a', 'Vary: a', 'X-Twice: b', 'Vary: b'),
  responseFields('a location with slashes in a row', 'Location: http://app.example//a?b=//c'),
];

/** RFC 9112 §4, RFC 9110 §15: codes and phrases are not the proxy's. */
const statusLines = [
  ['without a phrase', '200 '],
  ['with a phrase of its own', '200 All (is) well: 100 %'],
  ['with a phrase above ASCII', '404 D\xe9sol\xe9'],
  ['codes that nobody knows', '299 Odd'],
  ['599', '599 Late'],
  ['401 with its challenges', '401 Unauthorized', 'WWW-Authenticate: Basic realm="d2"', 'WWW-Authenticate: Bearer'],
].map(([what, status = '', ...lines]) =>
  oneExchange(`status line: ${what}`, request('GET /'), responseWith('fine', status, ...lines)),
);

export const headCases: readonly DataPathCase[] = [...methods, ...targets, ...fields, ...statusLines];
