import { expect } from 'vitest';
import { OK, oneExchange, request, requestWith, response, responseWith } from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';

function target(what: string, text: string, method = 'GET'): DataPathCase {
  return oneExchange(`target: ${what}`, request(`${method} ${text}`), OK, {
    verify: ({ requests }) => expect(requests[0]?.startLine).toBe(`${method} ${text} HTTP/1.1`),
  });
}

/** RFC 9112 §3.2: the request-target passes byte for byte. */
const targets: readonly DataPathCase[] = [
  target('with a query', '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1&y=a%20b&z'),
  target('with an empty query', '/calls?'),
  target('with slashes in a row', '//smartWeb///api//'),
  target('with dot segments', '/a/./b/../c/%2e%2E/d'),
  target('with encoded characters, also slashes and broken encodings', '/%2F%2f%41%zz%/%C5%BE?%3D=%26'),
  target('with sub-delimiters and matrix parameters', "/a;jsessionid=1;v='2'!$&()*+,=:@-._~"),
  target('with characters that belong encoded', '/a"<>\\^`{|}?[x]={"y":1}'),
  target('with a query that holds question marks and slashes', '/a?b=/c?d=//e'),
  target('of 8,000 octets', `/${'a'.repeat(3_999)}?${'b'.repeat(3_999)}`),
  target('asterisk-form', '*', 'OPTIONS'),
  { ...target('absolute-form', 'http://app.example/calls/1?x=//y'), isIrregular: true },
];

function requestFields(what: string, ...fields: readonly string[]): DataPathCase {
  return oneExchange(`request fields: ${what}`, request('GET /calls/1', ...fields), OK);
}

function responseFields(what: string, ...fields: readonly string[]): DataPathCase {
  return oneExchange(`response fields: ${what}`, request('GET /calls/1'), responseWith('fine', '200 OK', ...fields));
}

const MANY = Array.from({ length: 150 }, (_, index) => `X-Field-${index}: ${index}`);
// 40 KB of head in parts, since servers also limit the single field.
const LARGE_HEAD = Array.from({ length: 10 }, (_, index) => `Cookie-Part-${index}: ${'c'.repeat(4_000)}`);
const LONG_FIELD = `Cookie: sso=${'x'.repeat(12_000)}`;
const TOKEN_NAME = "X-!#$%&'*+-.^_`|~09: odd";
// ISO 8859-1 and UTF-8 octets: obs-text of RFC 9110 §5.5.
const OBS_TEXT = 'X-User: \xe9l\xe8ve \xc5\xbeena \xff';

/** RFC 9110 §5: names, values, their order and their repetition. */
const fields: readonly DataPathCase[] = [
  requestFields('order and case', 'zeta: 1', 'ALPHA: 2', 'mIxEd-cAsE: 3', 'accept: */*', 'USER-AGENT: suite'),
  {
    ...requestFields(
      'the same name several times, between others',
      'X-Twice: a',
      'Accept: a/b',
      'x-twice: b',
      'X-Twice: a',
    ),
    // The order among lines of one name is kept, which is all that RFC 9110 §5.3 gives a meaning to.
    knownDifference: { gateway: 'http-proxy hands fields to node:http by name: lines of one name come together' },
  },
  {
    ...requestFields('cookies in several lines', 'Cookie: a=1; b=2', 'Cookie: c=3'),
    // As RFC 9113 §8.2.3 says for HTTP/2; the upstream reads the same cookies.
    knownDifference: { gateway: 'node:http writes several Cookie values as one line, joined by a semicolon' },
  },
  requestFields(
    'the same name several times in a row',
    'X-Twice: a',
    'X-Twice: b',
    'X-Twice: a',
    'Accept: a/b',
    'Accept: c/d',
  ),
  requestFields('empty values', 'X-Empty:', 'X-Blank: ', 'Accept-Encoding:', 'X-Comma: ,'),
  requestFields('blanks around and in values', 'X-None:v', 'X-Tab:\tv\t', 'X-Many:    v    ', 'X-In: a  b\tc'),
  requestFields('a field of 12,000 octets', LONG_FIELD),
  requestFields('a head of 40,000 octets', ...LARGE_HEAD),
  requestFields('150 fields', ...MANY),
  requestFields('octets above ASCII', OBS_TEXT),
  requestFields('a name of every character that a token may have', TOKEN_NAME),
  requestFields(
    'credentials, conditions and ranges',
    'Authorization: Basic dTpw',
    'If-None-Match: "a", W/"b"',
    'Range: bytes=0-1',
  ),
  requestFields('TE and its nomination in Connection', 'TE: trailers', 'Connection: TE'),
  requestFields('Via and Forwarded of an earlier proxy', 'Via: 1.1 edge', 'Forwarded: for=192.0.2.1;proto=https'),
  responseFields(
    'order and case',
    'zeta: 1',
    'ALPHA: 2',
    'mIxEd-cAsE: 3',
    'server: suite',
    'DATE: Sat, 21 Nov 2026 00:00:00 GMT',
  ),
  responseFields(
    'cookies in several lines',
    'Set-Cookie: a=1; Path=/',
    'X-Between: 1',
    'set-cookie: b=2',
    'Set-Cookie: a=1',
  ),
  responseFields('the same name several times', 'X-Twice: a', 'Vary: a', 'X-Twice: b', 'Vary: b'),
  responseFields('empty values', 'X-Empty:', 'X-Blank: '),
  responseFields('blanks around and in values', 'X-None:v', 'X-Tab:\tv\t', 'X-In: a  b\tc'),
  responseFields('a field of 12,000 octets', `Set-Cookie: sso=${'x'.repeat(12_000)}`),
  responseFields('a head of 40,000 octets', ...LARGE_HEAD),
  responseFields('150 fields', ...MANY),
  responseFields('octets above ASCII', OBS_TEXT),
  responseFields('a name of every character that a token may have', TOKEN_NAME),
  responseFields('a location with slashes in a row', 'Location: http://app.example//a?b=//c'),
];

/** RFC 9112 §4, RFC 9110 §15: codes and phrases are not the proxy's. */
const statusLines: readonly DataPathCase[] = [
  oneExchange('status line: without a phrase', request('GET /'), responseWith('fine', '200 ')),
  oneExchange(
    'status line: with a phrase of its own',
    request('GET /'),
    responseWith('fine', '200 All (is) well: 100 %'),
  ),
  oneExchange('status line: with a phrase above ASCII', request('GET /'), responseWith('fine', '404 D\xe9sol\xe9')),
  oneExchange('status line: codes that nobody knows', request('GET /'), responseWith('fine', '299 Odd')),
  oneExchange('status line: 599', request('GET /'), responseWith('fine', '599 Late')),
  oneExchange(
    'status line: 401 with its challenges',
    request('GET /'),
    responseWith('no', '401 Unauthorized', 'WWW-Authenticate: Basic realm="d2"', 'WWW-Authenticate: Bearer'),
  ),
  oneExchange(
    'status line: 303 without content',
    requestWith('a', 'POST /'),
    response('303 See Other', 'Location: /b', 'Content-Length: 0'),
  ),
  oneExchange(
    'status line: 206 with its range',
    request('GET /', 'Range: bytes=0-1'),
    responseWith('ab', '206 Partial Content', 'Content-Range: bytes 0-1/4'),
  ),
  oneExchange(
    'status line: 500 with content',
    request('GET /'),
    responseWith('{"error":1}', '500 Internal Server Error', 'Content-Type: application/json'),
  ),
];

export const targetAndFieldCases: readonly DataPathCase[] = [...targets, ...fields, ...statusLines];
