import { type AmbiguousMessage, HOST, head, messages, post, SMUGGLED } from './message.ts';

/** Requests with each of these request lines; of these versions; of these targets; with these methods. */
const starts = (...lines: string[]) => lines.map((line) => head(line, HOST));
const versions = (...all: string[]) => all.map((version) => head(`GET /m ${version}`, HOST));
const targets = (...all: string[]) => all.map((target) => head(`GET ${target} HTTP/1.1`, HOST));
const methods = (...all: string[]) => all.map((method) => head(`${method} /m HTTP/1.1`, HOST));
const connect = (...fields: string[]) => head('CONNECT app.example:80 HTTP/1.1', HOST, ...fields);
const absolute = (...fields: string[]) => head('POST http://app.example/m HTTP/1.1', HOST, ...fields);

export const requestLineMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §3, method SP target SP version; T-Reqs, Probe', 'refused', {
    'two blanks': starts('GET  /m HTTP/1.1', 'GET /m  HTTP/1.1'),
    'a tab for a blank': starts('GET\t/m HTTP/1.1', 'GET /m\tHTTP/1.1'),
    'a blank or a tab around the line': starts('GET /m HTTP/1.1 ', ' GET /m HTTP/1.1', '\tGET /m HTTP/1.1'),
    'a blank, or a whole request, in the target': targets('/m n', '/m HTTP/1.1 /smuggled'),
    'another space for a blank': starts('GET\x0b/m HTTP/1.1', 'GET /m\x0cHTTP/1.1', 'GET /m\xa0HTTP/1.1'),
    'a bare CR in the line': starts('GET /m\rHTTP/1.1'),
    'a control character in the target': targets('/m\0n', '/m\x01', '/m\x7f'),
    'no target': starts('GET HTTP/1.1', 'GET  HTTP/1.1'),
    'no method, or only a method': starts('/m HTTP/1.1', 'GET'),
    'a method that is no token': methods('GET:', 'GE{T', 'GE\0T', 'GET\0', 'A'.repeat(65)),
  }),
  ...messages(
    'RFC 9110 §9.1, §5.5, any token is a method, a target may be above ASCII: the server decides',
    ['served', 'closed'],
    {
      'bytes above ASCII in the target': targets('/m\xe9'),
      'a method in another case': methods('get', 'Get'),
      'an unknown method, or a known one and more': methods('FROBNICATE', 'GETX'),
    },
  ),
  ...messages('RFC 9112 §2.3, the version; T-Reqs, Probe, llhttp #877', 'refused', {
    'HTTP/0.9': [
      `GET /m\r\n\r\n`,
      ...starts('GET /m', 'GET /m HTTP/0.9'),
      `${head('POST /m', HOST, 'Content-Length: 5')}hello`,
      `GET /m\n${HOST}\r\nContent-Length: 5\r\n\r\nhello`,
    ],
    'another version': versions('HTTP/1.2', 'HTTP/1.9', 'HTTP/2.0', 'HTTP/3.0'),
    'a malformed version': versions('HTTP/1', 'HTTP/1.', 'HTTP/1.10', 'HTTP/01.1', 'HTTP/1.01', 'HTTP/1,1', 'HTTP 1.1'),
    'another protocol': versions('http/1.1', 'HTTPS/1.1', 'XHTTP/1.1'),
    'ICE and RTSP': starts('SOURCE /m ICE/1.1', 'GET /m RTSP/1.0'),
    'RTSP/1.1 with content': `${head('ANNOUNCE /m RTSP/1.1', HOST, 'Content-Length: 2')}ab`,
    'a TLS handshake': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
    'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', ...starts('PRI * HTTP/1.1')],
  }),
  ...messages('RFC 9112 §3.2, forms of the target; Must Die, Garden', 'served', {
    'absolute-form': targets('http://app.example/m', 'http://evil.example/m', 'http://app.example:81/m'),
    'absolute-form with content': [
      `${absolute('Content-Length: 2')}ab`,
      `${absolute('Transfer-Encoding: chunked')}1\r\na\r\n0\r\n\r\n`,
      `${absolute(`Content-Length: ${SMUGGLED.length}`)}${SMUGGLED}`,
    ],
    'absolute-form of another scheme': targets('https://app.example/m', 'HTTP://app.example/m', 'ftp://app.example/m'),
    'absolute-form with user info': targets('http://user@app.example/m'),
    'asterisk-form, also of GET, or asterisk and more': starts(
      ...['OPTIONS * HTTP/1.1', 'GET * HTTP/1.1', 'OPTIONS *m HTTP/1.1'],
    ),
    'two slashes first': targets('//evil.example/m'),
    dots: targets('/a/../m', '/a/%2e%2e/m'),
    'a line’s end, a blank or NUL encoded': targets('/m%0d%0aX-A:%20b', '/m%20HTTP/1.1%0d%0a', '/m%00'),
    'odd marks': targets('/m\\n', '/m"<>{}|^`', '/m;x=y', '/m%zz'),
    'a version in the target': targets('/HTTP/1.1'),
  }),
  ...messages('RFC 9112 §3.2, malformed targets', 'refused', {
    'a fragment': targets('/m#n', 'http://app.example/m#n'),
    'a target without a slash': targets('m', '?m', 'http:app.example/m', '%'),
    'absolute-form without a host, or with an odd port': targets('http:///m', 'http://a@/m', 'http://a:b/m'),
    'authority-form of GET': targets('app.example:80'),
  }),
  ...messages('RFC 9110 §9.3.6, CONNECT; Browser, Must Die', 'refused', {
    CONNECT: [connect(), ...starts('CONNECT /m HTTP/1.1', 'connect app.example:80 HTTP/1.1')],
    'CONNECT and a request': `${connect()}${SMUGGLED}`,
    'CONNECT with content': [`${connect('Content-Length: 2')}ab`, `${connect('Transfer-Encoding: chunked')}0\r\n\r\n`],
    'CONNECT behind a request': `${post([])}${connect()}${SMUGGLED}`,
  }),
];
