/** Messages that the sidecar must refuse (RFC 9112 §2.2, §3, §5, §6, §7.1), and of which the upstream must see nothing. */

export interface RefusedRequest {
  readonly name: string;
  readonly bytes: string;
  /** What the client is told; default 400. */
  readonly status?: number;
  /** True when the head is in order, so that it may have gone on before the fault came: then only no whole request may. */
  readonly isFaultInContent?: boolean;
}

const HOST = 'Host: app.example';

function head(...lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function post(...fields: readonly string[]): string {
  return head('POST /calls/1 HTTP/1.1', HOST, 'X-Case: refused', ...fields);
}

export const refusedRequests: readonly RefusedRequest[] = [
  { name: 'lines that end with LF alone', bytes: 'GET / HTTP/1.1\nHost: app.example\n\n' },
  { name: 'one field line that ends with LF alone', bytes: 'GET / HTTP/1.1\r\nHost: app.example\nX-A: b\r\n\r\n' },
  { name: 'a bare CR in a value', bytes: head('GET / HTTP/1.1', HOST, 'X-A: b\rX-C: d') },
  { name: 'a folded field line', bytes: head('GET / HTTP/1.1', HOST, 'X-A: b', ' c') },
  { name: 'a folded first line', bytes: head('GET / HTTP/1.1', ' X-A: b', HOST) },
  { name: 'no Host', bytes: head('GET / HTTP/1.1', 'Accept: */*') },
  { name: 'two Hosts', bytes: head('GET / HTTP/1.1', HOST, 'Host: other.example') },
  { name: 'the same Host twice', bytes: head('GET / HTTP/1.1', HOST, HOST) },
  { name: 'two lengths that differ', bytes: `${post('Content-Length: 4', 'Content-Length: 5')}body!` },
  { name: 'two lengths in a list that differ', bytes: `${post('Content-Length: 4, 5')}body!` },
  { name: 'a length with a sign', bytes: `${post('Content-Length: +4')}body` },
  { name: 'a negative length', bytes: post('Content-Length: -1') },
  { name: 'a length in hexadecimal', bytes: `${post('Content-Length: 0x4')}body` },
  { name: 'an empty length', bytes: post('Content-Length:') },
  { name: 'a length beyond all counting', bytes: post(`Content-Length: ${'9'.repeat(30)}`) },
  { name: 'a length and chunks', bytes: `${post('Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n` },
  { name: 'chunks and a length', bytes: `${post('Transfer-Encoding: chunked', 'Content-Length: 5')}0\r\n\r\n` },
  { name: 'a coding that is not chunked last', bytes: `${post('Transfer-Encoding: chunked, gzip')}0\r\n\r\n` },
  { name: 'a coding that only looks like chunked', bytes: `${post('Transfer-Encoding: xchunked')}0\r\n\r\n` },
  { name: 'a blank before the colon', bytes: head('GET / HTTP/1.1', HOST, 'X-A : b') },
  { name: 'a blank before the colon of Content-Length', bytes: `${post('Content-Length : 4')}body` },
  { name: 'a line without a colon', bytes: head('GET / HTTP/1.1', HOST, 'nothing') },
  { name: 'an empty field name', bytes: head('GET / HTTP/1.1', HOST, ': b') },
  { name: 'a NUL in a value', bytes: head('GET / HTTP/1.1', HOST, 'X-A: b\0c') },
  { name: 'a NUL in a name', bytes: head('GET / HTTP/1.1', HOST, 'X\0A: b') },
  { name: 'a name above ASCII', bytes: head('GET / HTTP/1.1', HOST, 'X-\xe9: b') },
  { name: 'a NUL in the target', bytes: head('GET /a\0b HTTP/1.1', HOST) },
  { name: 'a blank in the target', bytes: head('GET /a b HTTP/1.1', HOST) },
  { name: 'no target', bytes: head('GET HTTP/1.1', HOST) },
  { name: 'a method that is no token', bytes: head('GE(T / HTTP/1.1', HOST) },
  { name: 'a version that does not exist', bytes: head('GET / HTTP/1.2', HOST) },
  { name: 'the preface of HTTP/2', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { name: 'a TLS handshake', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n' },
  {
    name: 'a head larger than the limit',
    bytes: head('GET / HTTP/1.1', HOST, `X-A: ${'a'.repeat(70_000)}`),
    status: 431,
  },
  { name: 'a target larger than the limit', bytes: head(`GET /${'a'.repeat(70_000)} HTTP/1.1`, HOST), status: 431 },
  { name: 'a chunk size that is none', bytes: `${post('Transfer-Encoding: chunked')}zz\r\n`, isFaultInContent: true },
  { name: 'a chunk size with a sign', bytes: `${post('Transfer-Encoding: chunked')}-1\r\n`, isFaultInContent: true },
  {
    name: 'a chunk size beyond all counting',
    bytes: `${post('Transfer-Encoding: chunked')}${'f'.repeat(20)}\r\nabc`,
    isFaultInContent: true,
  },
  {
    name: 'a chunk that is longer than its size',
    bytes: `${post('Transfer-Encoding: chunked')}1\r\nabc\r\n0\r\n\r\n`,
    isFaultInContent: true,
  },
  {
    name: 'a chunk extension with LF alone',
    bytes: `${post('Transfer-Encoding: chunked')}1;a\nb\r\nc\r\n0\r\n\r\n`,
    isFaultInContent: true,
  },
];
