import { expect, it } from 'vitest';
import { type Http1RequestHead, isOddPrefix, parseRequestHead } from '../../../../src/protocol/http1/request-head.ts';

function parsed(text: string): Http1RequestHead {
  const head = parseRequestHead(text);
  if (typeof head === 'string') throw new Error(`refused: ${head}`);
  return head;
}

it('gives all lines of a field in order', () => {
  const lines = ['Host: a', 'Cookie: lang=sk', 'COOKIE:\tJSESSIONID=1 ', 'X-Cookie: no', 'cookie: x'];
  const head = parsed(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  expect(head.fields('cookie')).toEqual(['lang=sk', 'JSESSIONID=1', 'x']);
  expect(head.field('cookie')).toBe('lang=sk');
  expect(head.fields('none')).toEqual([]);
});

it('parseRequestHead reads method, target, fields and framing of a regular head', () => {
  const head = parsed('POST /a/b?x=1 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 12\r\nX-API-Key: \t k \r\n\r\n');
  expect(head).toMatchObject({ method: 'POST', target: '/a/b?x=1', host: 'h:80', isLast: false });
  expect(head.framing).toEqual({ kind: 'length', bytes: 12 });
  expect([head.field('x-api-key'), head.field('x-api')]).toEqual(['k', undefined]);
});

it.each([
  ['no framing field', '', { kind: 'none' }],
  ['a length with leading zeros', 'Content-Length: 007\r\n', { kind: 'length', bytes: 7 }],
  ['chunked in any letter case', 'transfer-ENCODING: Chunked\r\n', { kind: 'chunked' }],
  ['a coding before chunked', 'Transfer-Encoding: gzip\t,  chunked\r\n', { kind: 'chunked' }],
  ['codings in several lines', 'Transfer-Encoding: a, b\r\nTransfer-Encoding: chunked\r\n', { kind: 'chunked' }],
])('parseRequestHead finds the framing of %s', (_what, field, framing) => {
  expect(parsed(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n`).framing).toEqual(framing);
});

it.each([
  ['two lengths', 'Content-Length: 3\r\nContent-Length: 3\r\n', 'framing'],
  ['a signed length', 'Content-Length: +3\r\n', 'framing'],
  ['a length beyond any body', 'Content-Length: 9999999999999999\r\n', 'framing'],
  ['length and chunked', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', 'framing'],
  ['a coding after chunked', 'Transfer-Encoding: chunked, gzip\r\n', 'framing'],
  ['a coding with a parameter', 'Transfer-Encoding: gzip;q=1, chunked\r\n', 'framing'],
  ['chunked in a quoted string', 'Transfer-Encoding: a;b="c, chunked"\r\n', 'framing'],
  ['an empty coding', 'Transfer-Encoding: chunked,\r\n', 'framing'],
  ['an empty line of codings', 'Transfer-Encoding:\r\nTransfer-Encoding: chunked\r\n', 'framing'],
  ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', 'framing'],
  ['a coding that only looks like chunked', 'Transfer-Encoding: xchunked\r\n', 'framing'],
  ['a second host', 'Host: b\r\n', 'host'],
  ['a folded line', 'X: a\r\n b\r\n', 'fields'],
  ['a blank before a colon', 'X : a\r\n', 'fields'],
  ['a bare line feed', 'X: a\nY: b\r\n', 'fields'],
  ['a NUL', 'X: a\0\r\n', 'fields'],
  ['a name that is no token', 'X(: a\r\n', 'fields'],
])('parseRequestHead refuses %s', (_what, field, fault) => {
  expect(parseRequestHead(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n`)).toBe(fault);
});

it.each([
  ['HTTP/1.2', 'GET / HTTP/1.2', 'version'],
  ['HTTP/2.0', 'GET / HTTP/2.0', 'version'],
  ['HTTP/0.9', 'GET /', 'start-line'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0', 'start-line'],
  ['another protocol', 'GET / RTSP/1.0', 'start-line'],
  ['CONNECT', 'CONNECT a:443 HTTP/1.1', 'method'],
  ['a method that is no token', 'GE(T / HTTP/1.1', 'start-line'],
  ['a method of more than 64 characters', `${'A'.repeat(65)} / HTTP/1.1`, 'start-line'],
  ['no target', 'GET  HTTP/1.1', 'start-line'],
  ['a target of neither form', 'GET a HTTP/1.1', 'start-line'],
  ['an absolute target without a host', 'GET http:///a HTTP/1.1', 'start-line'],
  ['an absolute target with a user and no host', 'GET http://a@/x HTTP/1.1', 'start-line'],
  ['an absolute target whose port is no number', 'GET http://a:b/x HTTP/1.1', 'start-line'],
  ['a fragment', 'GET /a#b HTTP/1.1', 'start-line'],
  ['a control character in the target', 'GET /a\x01 HTTP/1.1', 'start-line'],
  ['a blank at the end', 'GET / HTTP/1.1 ', 'start-line'],
  ['a protocol in lower case', 'GET / http/1.1', 'start-line'],
])('parseRequestHead refuses %s', (_what, startLine, fault) => {
  expect(parseRequestHead(`${startLine}\r\nHost: a\r\n\r\n`)).toBe(fault);
});

it.each([
  ['http://app.example/a?x=1', 'app.example'],
  ['HTTPS://user:word@app.example:81', 'app.example:81'],
  ['http://[2001:db8::1]:80/', '[2001:db8::1]:80'],
  ['/a', 'h'],
  ['*', 'h'],
])('parseRequestHead takes the target %s as it came, and its host %s', (target, host) => {
  expect(parsed(`GET ${target} HTTP/1.1\r\nHost: h\r\n\r\n`)).toMatchObject({ target, host });
});

it.each([
  ['one', 'Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n', true],
  ['none without Connection', 'Upgrade: websocket\r\n', false],
  ['none among others', 'Connection: upgrade\r\nUpgrade: h2c, websocket\r\n', false],
  ['none twice', 'Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: websocket\r\n', false],
  ['none with a body', 'Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n', false],
])('parseRequestHead takes an upgrade to WebSocket for %s', (_what, fields, isWebSocket) => {
  const head = parsed(`GET / HTTP/1.1\r\nHost: h\r\n${fields}\r\n`);
  expect([head.summary.hasUpgrade, head.isWebSocket]).toEqual([true, isWebSocket]);
});

it.each(['FOO', 'get', "aZ09!#$%&'*+-.^_`|~", 'A'.repeat(64)])(
  'parseRequestHead takes any other method: %s',
  (method) => {
    expect(parsed(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`).method).toBe(method);
  },
);

it.each([
  ['', true],
  ['Connection: keep-alive\r\n', false],
  ['Connection: x, Keep-Alive\r\n', false],
  ['Connection: keep-alive, close\r\n', true],
  ['Keep-Alive: 5\r\n', true],
])('parseRequestHead takes HTTP/1.0 with %j, and knows whether it is the last request: %s', (field, isLast) => {
  const head = parsed(`POST / HTTP/1.0\r\nHost: a\r\n${field}Content-Length: 3\r\n\r\n`);
  expect([head.isHttp10, head.isLast, head.framing]).toEqual([true, isLast, { kind: 'length', bytes: 3 }]);
});

it.each([
  ['HTTP/1.0 with a transfer coding', 'HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n', 'framing'],
  ['HTTP/1.0 with two hosts', 'HTTP/1.0\r\nHost: a\r\nHost: a\r\n', 'host'],
  ['HTTP/1.1 without a host', 'HTTP/1.1\r\n', 'host'],
])('parseRequestHead refuses %s', (_what, head, fault) => {
  expect(parseRequestHead(`POST / ${head}\r\n`)).toBe(fault);
});

it('parseRequestHead sees forwarding fields that the client sent', () => {
  const head = parsed('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nx-forwarded-HOST: b\r\n\r\n');
  expect(head.summary).toMatchObject({ hasForwardedProto: true, hasForwardedHost: true });
});

it.each<[string, boolean]>([
  ...['\r\nGET', '(GET', '\x16\x03\x01', 'GET / HTTP/1.1\n', 'GET / HTTP/1.1\rX', 'GET /\0'].map(
    (text): [string, boolean] => [text, true],
  ),
  ...['G', 'GET / HTTP/1.1\r', 'GET / HTTP/1.1\r\nHost: a\r\n', ''].map((text): [string, boolean] => [text, false]),
])('isOddPrefix sees whether %j begins no head: %s', (text, isOdd) => {
  expect(isOddPrefix(Buffer.from(text, 'latin1'))).toBe(isOdd);
});

it('reads a list of 30,000 codings about as fast as one long value', () => {
  /** The quickest of many, in ms. */
  const quickest = (value: string) => {
    const text = `POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${value}\r\n\r\n`;
    const wire = Buffer.from(text, 'latin1');
    const spent = Array.from({ length: 100 }, () => {
      const beganMs = performance.now();
      parseRequestHead(text, wire);
      return performance.now() - beganMs;
    });
    return Math.min(...spent);
  };
  // Split into strings it takes some 20 times as long.
  expect(quickest(`${'a,'.repeat(30_000)}chunked`)).toBeLessThan(8 * quickest(`${'a'.repeat(60_000)}, chunked`));
});
