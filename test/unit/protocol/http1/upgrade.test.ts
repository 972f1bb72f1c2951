import { describe, expect, it } from 'vitest';
import { withoutUpgrade } from '../../../../src/protocol/http1/upgrade.ts';

describe('a head without its upgrade', () => {
  it('loses the fields of an h2c request and their names in Connection', () => {
    const head =
      'POST /x HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: 3\r\nHost: a\r\nHTTP2-Settings: AAEA\r\nUpgrade: h2c\r\nUser-Agent: Java\r\n\r\n';
    expect(withoutUpgrade(head)).toBe('POST /x HTTP/1.1\r\nContent-Length: 3\r\nHost: a\r\nUser-Agent: Java\r\n\r\n');
  });

  it('keeps what else Connection names', () => {
    const head =
      'GET / HTTP/1.1\r\nConnection: keep-alive,  UPGRADE , X-Hop\r\nconnection: upgrade\r\nupgrade: a, b\r\nX-Hop: 1\r\n\r\n';
    expect(withoutUpgrade(head)).toBe('GET / HTTP/1.1\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\r\n');
  });

  it('is byte for byte the same without an upgrade', () => {
    const head =
      'GET /upgrade: HTTP/1.1\r\nHost: a\r\nConnection:keep-alive ,x\r\nX-Upgrade: \xe9 \r\nUpgrade-Insecure-Requests: 1\r\n\r\n';
    expect(withoutUpgrade(head)).toBe(head);
  });

  it('loses a folded line together with its first one', () => {
    const head = 'GET / HTTP/1.1\r\nUpgrade: h2c,\r\n\twebsocket\r\n more\r\nHost: a\r\n\r\n';
    expect(withoutUpgrade(head)).toBe('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  });
});
