import { type AmbiguousMessage, chunked, get, HOST, head, messages, post, SMUGGLED } from './message.ts';

const N = SMUGGLED.length;
const CL = `Content-Length: ${N}`;
const EXPECT = 'Expect: 100-continue';
const KEEP = 'Connection: keep-alive';
const UPGRADE = 'Connection: Upgrade';
const ONE_CHUNK = '1\r\na\r\n0\r\n\r\n';
const KEY = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
const WEBSOCKET = [UPGRADE, 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', KEY];

const early = (fields: readonly string[], body: string, method = 'POST') =>
  head(`${method} /early HTTP/1.1`, HOST, ...fields) + body;
const old = (method: string, ...fields: string[]) => head(`${method} /m HTTP/1.0`, HOST, ...fields);
const posts = (...fields: string[]) => fields.map((field) => post([field, 'Content-Length: 2'], 'ab'));

export const connectionMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §9.3, content that a server does not read: CL.0 and 0.CL; Browser, Must Die', 'served', {
    'CL.0: a request as content that is not read': ['POST', 'GET', 'HEAD'].map((method) =>
      early([CL], SMUGGLED, method),
    ),
    'CL.0: the same in chunks': early(['Transfer-Encoding: chunked'], `${N.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`),
    'CL.0: with keep-alive or Expect': [early([CL, KEEP], SMUGGLED), early([CL, EXPECT], SMUGGLED)],
  }),
  ...messages('RFC 9112 §9.3, content that never arrives', 'open', {
    'Expect and no content': [post([EXPECT, 'Content-Length: 400']), early([EXPECT, 'Content-Length: 400'], '')],
    '0.CL: a length and nothing': early(['Content-Length: 400'], ''),
    '0.CL: a length, and a request that is content': early(['Content-Length: 400'], SMUGGLED),
  }),
  ...messages('RFC 9110 §10.1.1, Expect; Must Die, Probe', 'served', {
    'Expect with content or chunks at once': [post([EXPECT, CL], SMUGGLED), chunked(ONE_CHUNK, EXPECT)],
    'Expect without content': [get(EXPECT), post([EXPECT, 'Content-Length: 0'])],
    'Expect on GET with content': `${get(EXPECT, 'Content-Length: 2')}ab`,
    'Expect on HEAD or OPTIONS': ['HEAD', 'OPTIONS'].map((method) => head(`${method} /m HTTP/1.1`, HOST, EXPECT)),
    'Expect twice': post([EXPECT, EXPECT, 'Content-Length: 2'], 'ab'),
    'Expect with a parameter, in quotes or empty': posts(
      'Expect: 100-continue;a=b',
      'Expect: "100-continue"',
      'Expect:',
    ),
    'Expect of something else': post(['Expect: 200-ok', CL], SMUGGLED),
  }),
  ...messages('RFC 9110 §7.8, Upgrade that is refused: pipelined requests after it are not read', 'closed', {
    'WebSocket that the server does not accept': get(...WEBSOCKET),
    'WebSocket and a request': `${get(...WEBSOCKET)}${SMUGGLED}`,
    'WebSocket with an odd version': get(UPGRADE, 'Upgrade: websocket', 'Sec-WebSocket-Version: 7'),
    'WebSocket in mixed case': get('connection: UPGRADE', 'UPGRADE: WebSocket'),
  }),
  ...messages('RFC 9112 §9.3, §9.6, closing; Linhart', 'served', {
    'Connection twice': get(KEEP, KEEP),
    'Connection of odd options': [get('Connection: , ,keep-alive,, x'), get('Connection: Host')],
    'Keep-Alive': get('Keep-Alive: timeout=1, max=1'),
  }),
  ...messages(
    'RFC 9112 §9.3, HTTP/1.0 goes on unchanged, and the server decides whether the connection does',
    ['served', 'closed'],
    {
      'HTTP/1.0 that is kept': old('GET', KEEP),
      'HTTP/1.0 that is kept, in between': `${get()}${old('GET', KEEP)}${get()}`,
      'HTTP/1.0 that is kept, with content': `${old('POST', KEEP, CL)}${SMUGGLED}`,
      'HTTP/1.0 that is kept, without Host': head('GET /m HTTP/1.0', KEEP),
      'HTTP/1.0 with Expect': `${old('POST', KEEP, EXPECT, 'Content-Length: 2')}ab`,
    },
  ),
  ...messages('RFC 9112 §9.6, bytes after a last request are not read', 'closed', {
    'close, then a request': `${get('Connection: close')}${SMUGGLED}`,
    'close and content, then a request': `${post(['Connection: close', 'Content-Length: 2'], 'ab')}${SMUGGLED}`,
    'close in a list, then a request': `${get('Connection: keep-alive, close')}${SMUGGLED}`,
    'close in the second of two lines': `${get(KEEP, 'Connection: close')}${SMUGGLED}`,
    'HTTP/1.0, then a request': `${old('GET')}${SMUGGLED}`,
    'HTTP/1.0 with content, then a request': `${old('POST', 'Content-Length: 2')}ab${SMUGGLED}`,
    'HTTP/1.0 without a length, then a request': `${old('POST')}${SMUGGLED}`,
  }),
  ...messages('RFC 9112 §9.3.2, pipelines; Linhart, Browser (first request validated alone)', 'served', {
    'three or ten requests': [`${get()}${post(['Content-Length: 2'], 'ab')}${SMUGGLED}`, SMUGGLED.repeat(10)],
    'content that is a request, then chunks': `${post([CL], SMUGGLED)}${chunked(ONE_CHUNK)}`,
    'another Host in the second request': `${get()}${head('GET /m HTTP/1.1', 'Host: evil.example')}`,
  }),
  ...messages('RFC 9112 §2.2, a request after a valid one is judged separately', 'refused', {
    'a second request with LF only': `${get()}GET /m HTTP/1.1\nHost: app.example\n\n`,
    'two lengths in the second request': `${get()}${post(['Content-Length: 0', 'Content-Length: 2'], 'ab')}`,
    'a fold after chunks': `${chunked(ONE_CHUNK)}${get('X-A: b', ' c')}`,
    'no Host in the second request': `${get()}${head('GET /m HTTP/1.1')}`,
    'HTTP/0.9 or TLS behind': [`${get()}GET /smuggled\r\n\r\n`, `${get()}\x16\x03\x01\x02\x00\x01\x00`],
    '0.CL: chunks that do not come, so that the marker is a size': early(['Transfer-Encoding: chunked'], ''),
    'NUL behind': `${post(['Content-Length: 1'], 'a')}\0${SMUGGLED}`,
  }),
  ...messages(
    'RFC 9112 §9.3, appendix C.2.2, options similar to close: a server may close (nginx compares the beginning of the word)',
    ['served', 'closed', 'refused'],
    { 'Proxy-Connection: close': get('Proxy-Connection: close') },
  ),
  ...messages('RFC 9110 §7.8, an Upgrade that is ignored; Browser, h2c smuggling 2020', 'served', {
    'Upgrade without Connection': get('Upgrade: h2c'),
    'WebSocket or h2c': get(UPGRADE, 'Upgrade: websocket, h2c'),
    'h2c with settings': get(
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
    ),
    'TLS/1.0': head('OPTIONS /m HTTP/1.1', HOST, UPGRADE, 'Upgrade: TLS/1.0'),
    'h2c with content': post([UPGRADE, 'Upgrade: h2c', CL], SMUGGLED),
    'h2c in chunks': chunked(ONE_CHUNK, UPGRADE, 'Upgrade: h2c'),
    'WebSocket and content': post([...WEBSOCKET, CL], SMUGGLED),
    'two Upgrades': get(UPGRADE, 'Upgrade: h2c', 'Upgrade: websocket'),
  }),
  ...messages('RFC 9112 §9.3, more content than a server cares to skip: it may close', ['served', 'closed'], {
    'CL.0: 20 kB that are not read': early(['Content-Length: 20000'], SMUGGLED.padEnd(20_000, 'x')),
    'CL.0: 20 kB of requests that are not read': early([`Content-Length: ${N * 400}`], SMUGGLED.repeat(400)),
  }),
];
