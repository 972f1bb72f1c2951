import { expect, it } from 'vitest';
import { withoutUpgrade } from '../../../../src/protocol/http1/forwarded.ts';

it.each([
  [
    'loses the fields of an h2c request and their names in Connection',
    'Connection: Upgrade, HTTP2-Settings\r\nContent-Length: 3\r\nHTTP2-Settings: AAEA\r\nUpgrade: h2c\r\nUser-Agent: Java',
    'Content-Length: 3\r\nUser-Agent: Java',
  ],
  [
    'keeps what else Connection names',
    'Connection: keep-alive,  UPGRADE , X-Hop\r\nconnection: upgrade\r\nupgrade: a, b\r\nX-Hop: 1',
    'Connection: keep-alive, X-Hop\r\nX-Hop: 1',
  ],
  ['loses a folded line together with its first one', 'Upgrade: h2c,\r\n\twebsocket\r\n more\r\nX: 1', 'X: 1'],
])('a head without its upgrade %s', (_, fields, left) => {
  const headOf = (lines: string) => `POST /x HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`;
  expect(withoutUpgrade(headOf(fields))).toBe(headOf(left));
});

it('a head that has no upgrade stays byte for byte the same', () => {
  const fields = 'Connection:keep-alive ,x\r\nX-Upgrade: \xe9 \r\nUpgrade-Insecure-Requests: 1';
  const head = `GET /upgrade: HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;
  expect(withoutUpgrade(head)).toBe(head);
});
