import { type AmbiguousMessage, get, HOST, head, messages, post, SMUGGLED } from './message.ts';

const GET = 'GET /m HTTP/1.1';

const gets = (...lines: string[]) => lines.map((line) => get(line));
/** The same lines, each the whole head behind the request line. */
const heads = (...all: (readonly string[])[]) => all.map((lines) => head(GET, ...lines));

export const fieldLineMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §2.2, a line ends with CRLF; T-Reqs, Garden, Tomcat #999', 'refused', {
    'all lines end with LF': [`${GET}\n${HOST}\n\n`, `POST /m HTTP/1.1\n${HOST}\nContent-Length: 2\n\nab`],
    'LF or CR at the head’s beginning': [`\n${get()}`, `\r${get()}`],
    'LF between two requests': `${get()}\n${get()}`,
    'one line ends with LF': [
      `${GET}\n${HOST}\r\n\r\n`,
      `${GET}\r\n${HOST}\nX-A: b\r\n\r\n`,
      `${GET}\r\n${HOST}\n\r\n`,
      `${GET}\r\n${HOST}\r\n\n`,
    ],
    'the empty line is LF before a request': `${GET}\r\n${HOST}\r\n\n${SMUGGLED}`,
    'lines end with CR or LF CR': [`${GET}\r\n${HOST}\r\n\r`, `${GET}\r${HOST}\r\r`, `${GET}\n\r${HOST}\n\r\n\r`],
    'a line ends with CR CR LF': [`${GET}\r\r\n${HOST}\r\n\r\n`, `${GET}\r\n${HOST}\r\r\n\r\n`],
    'CR or LF in a value': gets(`X-A: b\n\n${SMUGGLED.trimEnd()}`, 'X-A: b\r\rc', 'X-A: b\rX-C: d', 'X-A:\rb'),
    'CR or LF at a name’s beginning': gets('\rX-A: b', '\nX-A: b'),
    'a next-line character or a line separator in a name': gets('\x85X-A: b', '\xe2\x80\xa8X-A: b'),
  }),
  ...messages('RFC 9112 §2.2, empty lines before a request line are ignored; Probe', 'served', {
    'empty lines first': [`\r\n${get()}`, `\r\n\r\n\r\n${get()}`],
    'empty lines between requests': `${get()}\r\n\r\n${get()}`,
    'an empty line behind a body': `${post(['Content-Length: 1'], 'a')}\r\n`,
  }),
  ...messages('RFC 9112 §5.2, folded lines; Desync, Probe', 'refused', {
    'a folded value': [get('X-A: b', ' c'), get('X-A: b', '\tc'), get('X-A: b', ' '), get('X-A: b\n c')],
    'a folded Host': heads(['Host:', ' app.example'], [HOST, ' .evil.example']),
    'a fold first': heads([' X-A: b', HOST], [' Host: evil.example', HOST]),
    'a fold that looks like a request': get('X-A: b', ' GET /smuggled HTTP/1.1'),
    'a folded request line': `GET /m\r\n HTTP/1.1\r\n${HOST}\r\n\r\n`,
  }),
  ...messages('RFC 9110 §5.1, §5.5, characters of names and values; Garden, Probe', 'refused', {
    'a blank or a tab before a colon, or in a name': gets('X-A : b', 'X-A\t: b', 'X A: b'),
    'an empty name, or no colon': gets(': b', 'X-A', 'X-A b'),
    'NUL in a name or a value (WEBrick #126)': gets('X\0A: b', 'X-A: b\0c', 'X-A: b\0'),
    'X-Forwarded-For in disguise': gets('X-Forwarded-For : 6.6.6.6', 'X-A: b\nX-Forwarded-For: 6.6.6.6'),
    'NUL before the head': `\0${get()}`,
    'a control character in a value': gets('X-A: b\x01c', 'X-A: b\x1fc', 'X-A: b\x7fc'),
    'an octet that is no token in a name': gets(
      'X-\xe9: b',
      ...[...'(/@;='].map((mark) => `X${mark}A${mark === '(' ? ')' : ''}: b`),
    ),
    'a request line for a field line': get('GET /smuggled HTTP/1.1'),
  }),
  ...messages('RFC 9110 §5.5, obs-text and tabs are values', 'served', {
    'bytes above ASCII or tabs in a value, or no value': gets('X-A: \xe9\xff\x80', 'X-A:\tb\tc\t', 'X-A:'),
    'a value that looks like a line’s end': gets(
      'X-A: b\\r\\nTransfer-Encoding: chunked',
      'X-A: b%0d%0aTransfer-Encoding: chunked',
      // CR LF in UTF-8 lookalikes (U+010D U+010A).
      'X-A: \xc4\x8d\xc4\x8aX-C: d',
    ),
    'marks of a token, digits, or a colon in a value’s beginning': gets("!#$%&'*+-.^_`|~: b", '0: 1', 'X-A:: b'),
    'a very long name': get(`${'x'.repeat(900)}: b`),
  }),
  ...messages('RFC 9112 §3.2, one Host; Must Die (visible and hidden Host)', 'refused', {
    'no Host': heads(['X-A: b']),
    'two Hosts': [
      ...gets('Host: evil.example', HOST),
      ...heads(['host: app.example', 'HOST: evil.example'], ['Host: app.example\rHost: evil.example']),
      head('GET /m HTTP/1.0', HOST, 'Host: evil.example'),
    ],
    'a Host and one in disguise': gets('Host : evil.example', ' Host: evil.example', '\0Host: evil.example'),
    'only a Host behind a tab': heads(['\tHost: app.example']),
    'no host': [
      ...['app.example/evil', 'evil@app.example', 'app.example, evil.example', 'app.example evil.example'],
      ...['app.example:80:80', 'app.example:x', ':80', '[::1', '::1', '"a"', 'a\\b', '\xe4.example'],
    ].map((host) => head(GET, `Host: ${host}`)),
  }),
  ...messages('RFC 9110 §7.2, unusual Hosts, and fields that some parsers mistake for it', 'served', {
    'an unusual Host': ['', ' [::1]:8080', ' a_b.example.', ' 10.0.0.7:', ' a%20b,c:80'].map((host) =>
      head(GET, `Host:${host}`),
    ),
    'Host_ and X-Host': gets('Host_: evil.example', 'X-Host: evil.example'),
    'X-Forwarded-For and -Host of the client’s': get('X-Forwarded-For: 6.6.6.6', 'X-Forwarded-Host: evil'),
    'X-Forwarded-Proto twice': get('X-Forwarded-Proto: https', 'X-Forwarded-Proto: http'),
    'X_Forwarded_For, or X-Forwarded-For in Connection': gets(
      'X_Forwarded_For: 6.6.6.6',
      ...['Connection: X-Forwarded-For', 'Connection: keep-alive, x-forwarded-proto ,X-Forwarded-Host, X-A'],
    ),
    'X-Forwarded-For with an empty value, first and last': heads(['X-Forwarded-For:', HOST, 'X-Forwarded-Proto:']),
  }),
];
