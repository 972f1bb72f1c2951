import { expect, it } from 'vitest';
import { withoutUpgrade } from '../../../../src/protocol/http1/upgrade.ts';

it('a head without its upgrade loses the fields of an h2c request and their names in Connection', () => {
  const head =
    'POST /x HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: 3\r\nHost: a\r\nHTTP2-Settings: AAEA\r\nUpgrade: h2c\r\nUser-Agent: Java\r\n\r\n';
  expect(withoutUpgrade(head)).toBe('POST /x HTTP/1.1\r\nContent-Length: 3\r\nHost: a\r\nUser-Agent: Java\r\n\r\n');
});

it('a head without its upgrade keeps what else Connection names', () => {
  const head =
    'GET / HTTP/1.1\r\nConnection: keep-alive,  UPGRADE , X-Hop\r\nconnection: upgrade\r\nupgrade: a, b\r\nX-Hop: 1\r\n\r\n';
  expect(withoutUpgrade(head)).toBe('GET / HTTP/1.1\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\r\n');
});

it('a head that has no upgrade stays byte for byte the same', () => {
  const head =
    'GET /upgrade: HTTP/1.1\r\nHost: a\r\nConnection:keep-alive ,x\r\nX-Upgrade: \xe9 \r\nUpgrade-Insecure-Requests: 1\r\n\r\n';
  expect(withoutUpgrade(head)).toBe(head);
});

it('a head without its upgrade loses a folded line together with its first one', () => {
  const head = 'GET / HTTP/1.1\r\nUpgrade: h2c,\r\n\twebsocket\r\n more\r\nHost: a\r\n\r\n';
  expect(withoutUpgrade(head)).toBe('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
});
