import { type AmbiguousMessage, chunked, messages, SMUGGLED } from './message.ts';

const END = '0\r\n\r\n';
/** The content of a chunk that holds the smuggled request; its size in hexadecimal. */
const SIZE = SMUGGLED.length.toString(16);
const TEN = 'a'.repeat(10);
const SIXTEEN = 'a'.repeat(16);

const bodies = (...all: string[]) => all.map((body) => chunked(body));
/** A chunk with each of these as its size, or as its whole line. */
const sizes = (...all: string[]) => all.map((size) => chunked(`${size}\r\nhello\r\n${END}`));
/** A chunk followed by each of these instead of by CRLF and the last chunk. */
const ends = (...all: string[]) => all.map((end) => chunked(`5\r\nhello${end}`));
const trailers = (...all: string[]) => all.map((lines) => chunked(`0\r\n${lines}\r\n`));

export const chunkMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §7.1, a size is hexadecimal digits; Garden, uhttpd #3, trafficserver #10580', 'refused', {
    'a size with 0x': [...sizes('0x5'), ...bodies('0x0\r\n\r\n')],
    'a size with a sign': [...sizes('+5', '-5'), ...bodies('-0\r\n\r\n')],
    'a size after a blank or a tab, or with one in it': [
      ...sizes(' 5', '\t5'),
      ...bodies(`1 0\r\n${SIXTEEN}\r\n${END}`),
    ],
    'a size that is empty or only an extension': [...sizes('', ';a=b'), ...bodies('5\r\nhello\r\n\r\n\r\n')],
    'a size with NUL, a vertical tab or an octet above ASCII': sizes('5\0', '\x005', '5\x0b', '\xb5'),
    'a size that overflows, or of 2^64 - 1': sizes('10000000000000005', 'f'.repeat(16)),
    'a size behind CR or LF': bodies('\r0\r\n\r\n', '\n0\r\n\r\n'),
  }),
  ...messages('RFC 9112 §7.1, sizes that overflow a word are valid, and an endless body; Garden', 'open', {
    'a size of 2^32 and 5, or of 2^31': sizes('100000005', '80000000'),
    'a chunk, or its size, that takes the marker in': bodies(`fff\r\n${SMUGGLED}`, `1bb\r\n${SMUGGLED}\r\n${END}`),
  }),
  ...messages('RFC 9112 §7.1, leading zeros and both letter cases are digits', 'served', {
    'a size with leading zeros': [...sizes('0000000000000005'), ...bodies('5\r\nhello\r\n00000000\r\n\r\n')],
    'a size in upper or lower case': bodies(`A\r\n${TEN}\r\n${END}`, `a\r\n${TEN}\r\n${END}`),
    'a chunk that is a request, or the end of chunks': bodies(
      `${SIZE}\r\n${SMUGGLED}\r\n${END}`,
      `5\r\n${END}\r\n${END}`,
    ),
    'a request behind the chunks': bodies(`${END}${SMUGGLED}`),
  }),
  ...messages(
    'RFC 9112 §7.1, the line’s end is CRLF: TERM.EXT, EXT.TERM; Funky, CVE-2025-22871, CVE-2025-55315',
    'refused',
    {
      'a size with LF': bodies(`5\nhello\r\n${END}`, '0\n\r\n', '0\n\n', '0\r\n\n'),
      'a size with CR': bodies('0\r\n\r', `5\rhello\r\n${END}`, `5\r\r\nhello\r\n${END}`, `5\n\rhello\r\n${END}`),
      'a size with CR and another octet': bodies(`2\rX\nab\r\n${END}`),
      'TERM.EXT: LF in an extension': [
        chunked(`2;\nxx\r\n4c\r\n0\r\n\r\n${SMUGGLED}`),
        ...sizes('5;a\nb', '5;a=\nb', '5;a="\n"', '5;a="\\\n"'),
      ],
      'EXT.TERM: LF in an extension, the other way': bodies(`5;\n\nxx\r\n0\r\n\r\n${SMUGGLED}`),
      'TERM.EXT: CR in an extension': sizes('5;\rxx', '5;a=b\rc', '5;a="\r"', '5;a="\r\n"', '5;a=b\r'),
    },
  ),
  ...messages('RFC 9112 §7.1, a chunk ends with CRLF: TERM.SPILL, SPILL.TERM and the like; Funky', 'refused', {
    'TERM.SPILL: LF behind a chunk': ends(`\n${END}`),
    'SPILL.TERM: an octet or a request too many': ends(`X\r\n${END}`, `${SMUGGLED}\r\n${END}`),
    'TWO.ONE, TWO.ZERO, ONE.TWO: other octets, or none, behind a chunk': ends(
      'XX0\r\n\r\n',
      '0\r\n\r\n',
      '\nX0\r\n\r\n',
    ),
    'ZERO.TWO: a size right behind': bodies('1\r\na1\r\nb0\r\n\r\n'),
    'CR or LF behind a chunk': ends(`\r${END}`, `\rX${END}`, `\n\r${END}`, `\r\r\n${END}`, `\r\n\r\n${END}`),
    'LF LF, or an octet, behind the last chunk': bodies('0\r\n\n\n', '0\r\nX\r\n'),
  }),
  ...messages('RFC 9112 §7.1.1, extensions are tokens or quoted strings; Funky, Probe', 'refused', {
    'an extension without a name': sizes('5;', '5; '),
    'an extension without a semicolon': sizes('5a=b', '5 a=b'),
    'an extension with an odd octet': sizes('5;\0ext', '5;a=\0', '5;a=\x01', '5;a:b', '5;\xe9'),
    'an extension with a quote that is not closed, or text behind it': sizes('5;a="b', '5;a="b"c'),
    'an extension with an empty value, or a token and a quote': sizes('5;a=', '5;a=b"c"'),
    'an extension larger than 16 KiB': sizes(`5;a=${'b'.repeat(17_000)}`),
  }),
  ...messages(
    'RFC 9112 §7.1.1, blanks after a size and in extensions go on as they came: the server reads or refuses them',
    ['served', 'closed'],
    {
      'a size before a blank or a tab': [...sizes('5 ', '5\t'), ...bodies('0 \r\n\r\n')],
      'an extension with blanks': sizes('5 ;a', '5; a', '5;a =b', '5;a= "b" ;c'),
    },
  ),
  ...messages('RFC 9112 §7.1.1, extensions are ignored', 'served', {
    'an extension, or one that looks like a size': sizes('5;a', '5;a=b', '5;0=0'),
    'an extension with a quoted value': sizes('5;a="b c;d"', '5;a="\\"\\\\"'),
    'many extensions': bodies('5;a;b=c;d="e"\r\nhello\r\n0;f=g\r\n\r\n'),
  }),
  ...messages('RFC 9112 §7.1.2, trailers are field lines; Probe, Tomcat CVE-2023-46589', 'refused', {
    'a trailer without a colon, or with a blank before it': trailers('X-A\r\n', 'X-A : b\r\n'),
    'a folded trailer': trailers('X-A: b\r\n c\r\n', ' X-A: b\r\n'),
    'a trailer with LF, CR or NUL': trailers('X-A: b\n', 'X-A: b\rX-C: d\r\n', 'X-A: b\0\r\n'),
    'a trailer with an empty name': trailers(': b\r\n'),
    'a trailer that is a request': trailers('GET /smuggled HTTP/1.1\r\nHost: app.example\r\n'),
    'a trailer of CL or TE': trailers('Content-Length: 100\r\n', 'Transfer-Encoding: chunked\r\n'),
    'a trailer of Connection or Upgrade': trailers('Connection: keep-alive\r\n', 'Upgrade: websocket\r\n'),
    'a trailer larger than a head': trailers(`X-A: ${'b'.repeat(70_000)}\r\n`),
  }),
  ...messages('RFC 9110 §6.5, trailers are not merged into the head; Garden', 'served', {
    'a trailer': chunked('1\r\na\r\n0\r\nX-A: b\r\n\r\n'),
    'a trailer that Trailer announces': chunked('0\r\nX-A: b\r\n\r\n', 'Trailer: X-A'),
    'CL announced by Trailer': chunked(END, 'Trailer: Content-Length'),
    'a trailer of Host or X-Forwarded-For': trailers('Host: evil.example\r\n', 'X-Forwarded-For: 6.6.6.6\r\n'),
  }),
];
