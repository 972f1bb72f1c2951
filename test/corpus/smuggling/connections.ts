import { type AmbiguousMessage, chunked, HOST, head, messages, post, SMUGGLED } from './message.ts';

const N = SMUGGLED.length;
const GET = 'GET /m HTTP/1.1';
const WEBSOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];

/** For a server that answers without reading. */
function early(fields: readonly string[], body: string): string {
  return head('POST /early HTTP/1.1', HOST, ...fields) + body;
}

export const connectionMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §9.3, content that a server does not read: CL.0 and 0.CL; Browser, Must Die', 'served', [
    ['CL.0: a request as content that is not read', early([`Content-Length: ${N}`], SMUGGLED)],
    [
      'CL.0: the same in chunks',
      early(['Transfer-Encoding: chunked'], `${N.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`),
    ],
    ['CL.0: on GET', `${head('GET /early HTTP/1.1', HOST, `Content-Length: ${N}`)}${SMUGGLED}`],
    ['CL.0: on HEAD', `${head('HEAD /early HTTP/1.1', HOST, `Content-Length: ${N}`)}${SMUGGLED}`],
    ['CL.0: with keep-alive', early([`Content-Length: ${N}`, 'Connection: keep-alive'], SMUGGLED)],
    ['CL.0: with Expect', early([`Content-Length: ${N}`, 'Expect: 100-continue'], SMUGGLED)],
    ['CL.0: twice', `${early([`Content-Length: ${N}`], SMUGGLED)}${early([`Content-Length: ${N}`], SMUGGLED)}`],
  ]),
  ...messages('RFC 9112 §9.3, content that never arrives', 'open', [
    ['0.CL: a length and nothing', early(['Content-Length: 400'], '')],
    ['0.CL: a length, and a request that is content', early(['Content-Length: 400'], SMUGGLED)],
  ]),
  ...messages('RFC 9110 §10.1.1, Expect; Must Die, Probe', 'served', [
    ['Expect with content at once', post(['Expect: 100-continue', `Content-Length: ${N}`], SMUGGLED)],
    ['Expect with chunks at once', chunked('1\r\na\r\n0\r\n\r\n', 'Expect: 100-continue')],
    ['Expect without content', head(GET, HOST, 'Expect: 100-continue')],
    ['Expect with length zero', post(['Expect: 100-continue', 'Content-Length: 0'])],
    ['Expect on GET with content', `${head(GET, HOST, 'Expect: 100-continue', 'Content-Length: 2')}ab`],
    ['Expect on HEAD', head('HEAD /m HTTP/1.1', HOST, 'Expect: 100-continue')],
    ['Expect on OPTIONS', head('OPTIONS /m HTTP/1.1', HOST, 'Expect: 100-continue')],
    ['Expect in mixed case', post(['eXpEcT: 100-CONTINUE', 'Content-Length: 2'], 'ab')],
    ['Expect twice', post(['Expect: 100-continue', 'Expect: 100-continue', 'Content-Length: 2'], 'ab')],
    ['Expect y 100-continue', post(['Expect: y 100-continue', 'Content-Length: 2'], 'ab')],
    ['Expect with a list', post(['Expect: 100-continue, x', 'Content-Length: 2'], 'ab')],
    ['Expect with a parameter', post(['Expect: 100-continue;a=b', 'Content-Length: 2'], 'ab')],
    ['Expect in quotes', post(['Expect: "100-continue"', 'Content-Length: 2'], 'ab')],
    ['Expect of something else', post(['Expect: 200-ok', `Content-Length: ${N}`], SMUGGLED)],
    ['Expect empty', post(['Expect:', 'Content-Length: 2'], 'ab')],
    [
      'Expect twice over pipelined',
      `${post(['Expect: 100-continue', 'Content-Length: 2'], 'ab')}${post(['Expect: 100-continue', 'Content-Length: 2'], 'cd')}`,
    ],
  ]),
  ...messages('RFC 9110 §10.1.1, Expect and the marker as content', 'open', [
    ['Expect and no content', post(['Expect: 100-continue', 'Content-Length: 400'])],
    ['Expect and no chunks', early(['Expect: 100-continue', 'Content-Length: 400'], '')],
  ]),
  ...messages('RFC 9110 §7.8, Upgrade that is refused; Browser, h2c smuggling 2020', 'served', [
    ['Upgrade without Connection', head(GET, HOST, 'Upgrade: foo')],
    ['Upgrade without Connection, to h2c', head(GET, HOST, 'Upgrade: h2c')],
  ]),
  ...messages('RFC 9110 §7.8, Upgrade that is refused: pipelined requests after it are not read', 'closed', [
    ['WebSocket that the server does not accept', head(GET, HOST, ...WEBSOCKET)],
    ['WebSocket and a request', `${head(GET, HOST, ...WEBSOCKET)}${SMUGGLED}`],
    [
      'WebSocket with an odd version',
      head(GET, HOST, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 7'),
    ],
    ['WebSocket in mixed case', head(GET, HOST, 'connection: UPGRADE', 'UPGRADE: WebSocket')],
  ]),
  ...messages('RFC 9112 §9.3, §9.6, closing; Linhart', 'served', [
    ['Connection twice', head(GET, HOST, 'Connection: keep-alive', 'Connection: keep-alive')],
    ['Connection of odd options', head(GET, HOST, 'Connection: , ,keep-alive,, x')],
    ['Connection: Host', head(GET, HOST, 'Connection: Host')],
    ['Keep-Alive', head(GET, HOST, 'Keep-Alive: timeout=1, max=1')],
  ]),
  ...messages(
    'RFC 9112 §9.3, HTTP/1.0 goes on unchanged, and the server decides whether the connection does',
    ['served', 'closed'],
    [
      ['HTTP/1.0 that is kept', head('GET /m HTTP/1.0', HOST, 'Connection: keep-alive')],
      [
        'HTTP/1.0 that is kept, in between',
        `${head(GET, HOST)}${head('GET /m HTTP/1.0', HOST, 'Connection: keep-alive')}${head(GET, HOST)}`,
      ],
      [
        'HTTP/1.0 that is kept, with content',
        `${head('POST /m HTTP/1.0', HOST, 'Connection: keep-alive', `Content-Length: ${N}`)}${SMUGGLED}`,
      ],
      ['HTTP/1.0 that is kept, without Host', head('GET /m HTTP/1.0', 'Connection: keep-alive')],
      [
        'HTTP/1.0 with Expect',
        `${head('POST /m HTTP/1.0', HOST, 'Connection: keep-alive', 'Expect: 100-continue', 'Content-Length: 2')}ab`,
      ],
    ],
  ),
  ...messages('RFC 9112 §9.6, bytes after a last request are not read', 'closed', [
    ['close, then a request', `${head(GET, HOST, 'Connection: close')}${SMUGGLED}`],
    ['close and content, then a request', `${post(['Connection: close', 'Content-Length: 2'], 'ab')}${SMUGGLED}`],
    ['close in a list, then a request', `${head(GET, HOST, 'Connection: keep-alive, close')}${SMUGGLED}`],
    ['close in mixed case, then a request', `${head(GET, HOST, 'cOnNeCtIoN: CLOSE')}${SMUGGLED}`],
    [
      'close in the second of two lines',
      `${head(GET, HOST, 'Connection: keep-alive', 'Connection: close')}${SMUGGLED}`,
    ],
    ['HTTP/1.0, then a request', `${head('GET /m HTTP/1.0', HOST)}${SMUGGLED}`],
    ['HTTP/1.0 with content, then a request', `${head('POST /m HTTP/1.0', HOST, 'Content-Length: 2')}ab${SMUGGLED}`],
    ['HTTP/1.0 without a length, then a request', `${head('POST /m HTTP/1.0', HOST)}${SMUGGLED}`],
  ]),
  ...messages('RFC 9112 §9.3.2, pipelines; Linhart, Browser (first request validated alone)', 'served', [
    ['three requests', `${head(GET, HOST)}${post(['Content-Length: 2'], 'ab')}${SMUGGLED}`],
    ['ten requests', SMUGGLED.repeat(10)],
    [
      'content that is a request, then chunks',
      `${post([`Content-Length: ${N}`], SMUGGLED)}${chunked('1\r\na\r\n0\r\n\r\n')}`,
    ],
    ['another Host in the second request', `${head(GET, HOST)}${head('GET /m HTTP/1.1', 'Host: evil.example')}`],
    [
      'absolute-form in the second request',
      `${head(GET, HOST)}${head('GET http://evil.example/m HTTP/1.1', HOST)}${head(GET, HOST)}`,
    ],
    ['HEAD, then GET', `${head('HEAD /m HTTP/1.1', HOST)}${head(GET, HOST)}`],
  ]),
  ...messages('RFC 9112 §2.2, a request after a valid one is judged separately', 'refused', [
    ['a second request with LF only', `${head(GET, HOST)}GET /m HTTP/1.1\nHost: app.example\n\n`],
    [
      'two lengths in the second request',
      `${head(GET, HOST)}${post(['Content-Length: 0', 'Content-Length: 2'], 'ab')}`,
    ],
    ['a fold after chunks', `${chunked('1\r\na\r\n0\r\n\r\n')}${head(GET, HOST, 'X-A: b', ' c')}`],
    ['no Host in the second request', `${head(GET, HOST)}${head(GET)}`],
    ['HTTP/0.9 behind', `${head(GET, HOST)}GET /smuggled\r\n\r\n`],
    ['NUL behind', `${post(['Content-Length: 1'], 'a')}\0${SMUGGLED}`],
    ['TLS behind', `${head(GET, HOST)}\x16\x03\x01\x02\x00\x01\x00`],
  ]),
  ...messages('RFC 9112 §7.1, a marker is not a chunk size', 'refused', [
    ['0.CL: chunks that do not come', early(['Transfer-Encoding: chunked'], '')],
  ]),
  ...messages(
    'RFC 9112 §9.3, appendix C.2.2, options similar to close: a server may close (nginx compares the beginning of the word)',
    ['served', 'closed', 'refused'],
    [['Proxy-Connection: close', head(GET, HOST, 'Proxy-Connection: close')]],
  ),
  ...messages(
    'RFC 9110 §7.8, an Upgrade that is ignored: the relay goes on, the gateway closes, since Node’s parser may have stopped',
    ['served', 'closed'],
    [
      ['WebSocket or h2c', head(GET, HOST, 'Connection: Upgrade', 'Upgrade: websocket, h2c')],
      [
        'h2c with settings',
        head(
          GET,
          HOST,
          'Connection: Upgrade, HTTP2-Settings',
          'Upgrade: h2c',
          'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
        ),
      ],
      ['h2c in Connection alone', head(GET, HOST, 'Connection: Upgrade', 'Upgrade: h2c')],
      ['TLS/1.0', head('OPTIONS /m HTTP/1.1', HOST, 'Connection: Upgrade', 'Upgrade: TLS/1.0')],
      ['h2c with content', post(['Connection: Upgrade', 'Upgrade: h2c', `Content-Length: ${N}`], SMUGGLED)],
      ['h2c in chunks', chunked('1\r\na\r\n0\r\n\r\n', 'Connection: Upgrade', 'Upgrade: h2c')],
      ['two Upgrades', head(GET, HOST, 'Connection: Upgrade', 'Upgrade: h2c', 'Upgrade: websocket')],
    ],
  ),
  ...messages(
    'RFC 9112 §9.3, more content than a server cares to skip: it may close',
    ['served', 'closed'],
    [
      ['CL.0: 20 kB that are not read', early(['Content-Length: 20000'], SMUGGLED.padEnd(20_000, 'x'))],
      ['CL.0: 20 kB of requests that are not read', early([`Content-Length: ${N * 400}`], SMUGGLED.repeat(400))],
    ],
  ),
  ...messages(
    'RFC 9110 §7.8, an Upgrade to WebSocket with content is ignored: served, and then closed by newer versions of Node',
    ['served', 'closed'],
    [['WebSocket and content', `${head('POST /m HTTP/1.1', HOST, ...WEBSOCKET, `Content-Length: ${N}`)}${SMUGGLED}`]],
  ),
];
