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
  ['', true],
  ['Connection: keep-alive\r\n', false],
  ['Connection: x, Keep-Alive\r\n', false],
  ['Connection: keep-alive, close\r\n', true],
  ['Keep-Alive: 5\r\n', true],
])('parseRequestHead takes HTTP/1.0 with %j, and knows whether it is the last request: %s', (field, isLast) => {
  const head = parsed(`POST / HTTP/1.0\r\nHost: a\r\n${field}Content-Length: 3\r\n\r\n`);
  expect([head.isHttp10, head.isLast, head.framing]).toEqual([true, isLast, { kind: 'length', bytes: 3 }]);
});

it.each<[string, boolean]>([
  ...['\r\nGET', '(GET', '\x16\x03\x01', 'GET / HTTP/1.1\n', 'GET / HTTP/1.1\rX', 'GET /\0'].map(
    (text): [string, boolean] => [text, true],
  ),
  ...['G', 'GET / HTTP/1.1\r', 'GET / HTTP/1.1\r\nHost: a\r\n', ''].map((text): [string, boolean] => [text, false]),
])('isOddPrefix sees whether %j begins no head: %s', (text, isOdd) => {
  expect(isOddPrefix(Buffer.from(text, 'latin1'))).toBe(isOdd);
});
