import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  type Http1RequestHead,
  isOddPrefix,
  isOtherProtocol,
  parseRequestHead,
} from '../../../../src/protocol/http1/request-head.ts';
import { GatewayRequestHead } from '../../../../src/proxy/gateway/raw-fields.ts';

function parsed(text: string): Http1RequestHead {
  const head = parseRequestHead(text);
  if (typeof head === 'string') throw new Error(`irregular: ${head}`);
  return head;
}

it('gives all lines of a field in order, on both data paths', () => {
  const lines = ['Host: a', 'Cookie: lang=sk', 'COOKIE:\tJSESSIONID=1 ', 'X-Cookie: no', 'cookie: x'];
  const head = parseRequestHead(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const rawHeaders = ['Host', 'a', 'Cookie', 'lang=sk', 'COOKIE', 'JSESSIONID=1', 'X-Cookie', 'no', 'cookie', 'x'];
  const heads = [head, new GatewayRequestHead({ method: 'GET', url: '/', rawHeaders } as unknown as IncomingMessage)];
  for (const each of heads) {
    if (typeof each === 'string') throw new Error(each);
    expect(each.fields('cookie')).toEqual(['lang=sk', 'JSESSIONID=1', 'x']);
    expect(each.field('cookie')).toBe('lang=sk');
    expect(each.fields('none')).toEqual([]);
  }
});

describe('parseRequestHead', () => {
  it('reads method, target, fields and framing of a regular head', () => {
    const head = parsed('POST /a/b?x=1 HTTP/1.1\r\nHost: h:80\r\nContent-Length: 12\r\nX-API-Key: \t k \r\n\r\n');
    expect(head).toMatchObject({ method: 'POST', target: '/a/b?x=1', host: 'h:80', isLast: false });
    expect(head.framing).toEqual({ kind: 'length', bytes: 12 });
    expect([head.field('x-api-key'), head.field('x-api')]).toEqual(['k', undefined]);
  });

  it.each([
    ['no framing field', '', { kind: 'none' }],
    ['a length with leading zeros', 'Content-Length: 007\r\n', { kind: 'length', bytes: 7 }],
    ['chunked in any letter case', 'transfer-ENCODING: Chunked\r\n', { kind: 'chunked' }],
  ])('finds the framing of %s', (_what, field, framing) => {
    expect(parsed(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n`).framing).toEqual(framing);
  });

  it.each([
    ['two lengths', 'Content-Length: 3\r\nContent-Length: 3\r\n', 'framing'],
    ['a signed length', 'Content-Length: +3\r\n', 'framing'],
    ['a length beyond any body', 'Content-Length: 9999999999999999\r\n', 'framing'],
    ['length and chunked', 'Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', 'framing'],
    ['a coding before chunked', 'Transfer-Encoding: gzip, chunked\r\n', 'framing'],
    ['chunked twice', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', 'framing'],
    ['a coding that only looks like chunked', 'Transfer-Encoding: xchunked\r\n', 'framing'],
    ['a second host', 'Host: b\r\n', 'host'],
    ['an upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n', 'upgrade'],
    ['a folded line', 'X: a\r\n b\r\n', 'fields'],
    ['a blank before a colon', 'X : a\r\n', 'fields'],
    ['a bare line feed', 'X: a\nY: b\r\n', 'fields'],
    ['a NUL', 'X: a\0\r\n', 'fields'],
    ['a name that is no token', 'X(: a\r\n', 'fields'],
  ])('leaves %s to the gateway', (_what, field, irregularity) => {
    expect(parseRequestHead(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n`)).toBe(irregularity);
  });

  it.each([
    ['HTTP/1.2', 'GET / HTTP/1.2'],
    ['HTTP/0.9', 'GET /'],
    ['CONNECT', 'CONNECT a:443 HTTP/1.1'],
    ['a method that is no token', 'GE(T / HTTP/1.1'],
    ['a method of more than 64 characters', `${'A'.repeat(65)} / HTTP/1.1`],
    ['an absolute target', 'GET http://a/ HTTP/1.1'],
    ['an asterisk without OPTIONS', 'GET * HTTP/1.1'],
    ['a fragment', 'GET /a#b HTTP/1.1'],
    ['a control character in the target', 'GET /a\x01 HTTP/1.1'],
    ['a blank at the end', 'GET / HTTP/1.1 '],
    ['a protocol in lower case', 'GET / http/1.1'],
  ])('leaves %s to the gateway', (_what, startLine) => {
    expect(parseRequestHead(`${startLine}\r\nHost: a\r\n\r\n`)).toBe('start-line');
  });

  it.each(['FOO', 'get', "aZ09!#$%&'*+-.^_`|~", 'A'.repeat(64)])('takes any other method: %s', (method) => {
    expect(parsed(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`).method).toBe(method);
  });

  it.each([
    ['', true],
    ['Connection: keep-alive\r\n', false],
    ['Connection: x, Keep-Alive\r\n', false],
    ['Connection: keep-alive, close\r\n', true],
    ['Keep-Alive: 5\r\n', true],
  ])('takes HTTP/1.0 with %j, and knows whether it is the last request: %s', (field, isLast) => {
    const head = parsed(`POST / HTTP/1.0\r\nHost: a\r\n${field}Content-Length: 3\r\n\r\n`);
    expect([head.isOld, head.isLast, head.framing]).toEqual([true, isLast, { kind: 'length', bytes: 3 }]);
  });

  it.each([
    ['HTTP/1.0 with a transfer coding', 'HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n', 'framing'],
    ['HTTP/1.0 with two hosts', 'HTTP/1.0\r\nHost: a\r\nHost: a\r\n', 'host'],
    ['HTTP/1.1 without a host', 'HTTP/1.1\r\n', 'host'],
  ])('leaves %s to the gateway', (_what, head, irregularity) => {
    expect(parseRequestHead(`POST / ${head}\r\n`)).toBe(irregularity);
  });

  it('takes HTTP/1.0 without a host', () => {
    expect(parsed('GET / HTTP/1.0\r\n\r\n').host).toBeUndefined();
  });

  it('sees forwarding fields that the client sent', () => {
    const head = parsed('GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nx-forwarded-HOST: b\r\n\r\n');
    expect([head.hasForwardedProto, head.hasForwardedHost]).toEqual([true, true]);
  });
});

it.each<[string, boolean]>([
  ...['\r\nGET', '(GET', '\x16\x03\x01', 'GET / HTTP/1.1\n', 'GET / HTTP/1.1\rX', 'GET /\0'].map(
    (text): [string, boolean] => [text, true],
  ),
  ...['G', 'GET / HTTP/1.1\r', 'GET / HTTP/1.1\r\nHost: a\r\n', ''].map((text): [string, boolean] => [text, false]),
])('isOddPrefix sees whether %j begins no regular head: %s', (text, isOdd) => {
  expect(isOddPrefix(Buffer.from(text, 'latin1'))).toBe(isOdd);
});

it.each([
  ['GET /a RTSP/1.0\r\n', true],
  ['OPTIONS * RTSP/1.1\r\nHost: a\r\n\r\n', true],
  ['SOURCE /a ICE/1.0\n', true],
  ['GET /a RTSP/', true],
  ['GET / HTTP/1.0\r\n\r\n', false],
  ['GET /a\r\nX: RTSP/1.0\r\n\r\n', false],
  ['GET /RTSP/1.0 HTTP/1.1\r\nX: a RTSP/1.0\r\n\r\n', false],
  ['GET /a HTTP/2.0\r\n', false],
  ['', false],
])('isOtherProtocol knows %j: %s', (text, isOther) => {
  expect(isOtherProtocol(Buffer.from(text, 'latin1'))).toBe(isOther);
});
