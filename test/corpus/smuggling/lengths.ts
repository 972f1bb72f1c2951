import { type AmbiguousMessage, HOST, head, messages, post, SMUGGLED } from './message.ts';

const N = SMUGGLED.length;

/** In one reading the smuggled request is content, in another it is a request. */
const length = (...lines: string[]) => post(lines, SMUGGLED);
const each = (...all: (string | number)[]) => all.map((value) => length(`Content-Length: ${value}`));
const lines = (...all: string[]) => all.map((line) => length(line));
const withContent = (...starts: string[]) =>
  starts.map((start) => `${head(`${start} HTTP/1.1`, HOST, `Content-Length: ${N}`)}${SMUGGLED}`);
const inChunks = (method: string, body: string) =>
  `${head(`${method} /m HTTP/1.1`, HOST, 'Transfer-Encoding: chunked')}${body}`;
const ONE_CHUNK = '1\r\na\r\n0\r\n\r\n';

export const lengthMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §6.3 item 5, two lengths; Linhart, Probe', 'refused', {
    'CL.CL: zero and all': [
      length('Content-Length: 0', `Content-Length: ${N}`),
      length(`Content-Length: ${N}`, 'Content-Length: 0'),
      length('Content-Length: 0', 'X-A: b', `Content-Length: ${N}`),
    ],
    'CL.CL: the same twice': length(`Content-Length: ${N}`, `Content-Length: ${N}`),
    'CL.CL: empty, then all (CVE-2023-40225)': length('Content-Length:', `Content-Length: ${N}`),
    'CL list: the same twice, or zero and all': each(`${N}, ${N}`, `0, ${N}`, `${N},0`),
    'CL list: an empty member': each(`,${N}`, `${N},`),
    'CL list: by semicolon, blank or tab': each(`0;${N}`, `0 ${N}`, `0\t${N}`),
  }),
  ...messages('RFC 9110 §8.6, a length is digits; Garden, T-Reqs, Probe', 'refused', {
    'CL with a sign': each(`+${N}`, `-${N}`, '-0', '+0', '-1'),
    'CL in hexadecimal': each(`0x${N.toString(16)}`, 'a'),
    'CL with an underscore (Python) or a thousands mark': each('4_3', "1'0"),
    'CL in quotes or apostrophes': each(`"${N}"`, `'${N}'`),
    'CL with digits above ASCII, or fullwidth digits in UTF-8': each('\xb2\xb3', '\xef\xbc\x94\xef\xbc\x93'),
    'CL empty, or of blanks': lines('Content-Length:', 'Content-Length:  \t '),
    'CL with a vertical tab or a form feed': lines(`Content-Length:\x0b${N}`, `Content-Length: ${N}\x0c`),
    'CL with NUL': each(`${N}\0`, `\0${N}`, '4\x003'),
    'CL with a space above ASCII': lines(`Content-Length:\xa0${N}`, `Content-Length: ${N}\x85`),
    'CL with a bare CR': each(`${N}\r`, `\r${N}`),
  }),
  ...messages('RFC 9112 §6.3, integers above the countable range; Garden', 'refused', {
    'CL 2^53 and 2^63': each('9007199254740992', '9223372036854775808'),
    'CL about 2^64': each('18446744073709551616', '18446744073709551615', `${2n ** 64n + BigInt(N)}`),
    'CL of forty digits': each('1'.repeat(40)),
  }),
  ...messages('RFC 9112 §6.3, integers that overflow a word are valid lengths; Garden', 'open', {
    'a length that takes the marker in': each(4000),
    'CL 2^32 and all, or 2^31': each(`${2n ** 32n + BigInt(N)}`, '2147483648'),
  }),
  ...messages('RFC 9110 §8.6, leading zeros are digits, not octal; T-Reqs', 'served', {
    'CL with leading zeros': each(`0000${N}`, String(N).padStart(40, '0')),
    'CL of many zeros': post(['Content-Length: 00000000']),
  }),
  ...messages('RFC 9112 §5.1, names are tokens and whole; Desync, Garden', 'served', {
    'Content_Length beside none': post([`Content_Length: ${N}`]),
    'another name beside the true one': length(`Content-Length: ${N}`, 'Content_Length: 0'),
    'Content-Length in mixed case, or in many blanks or none': lines(
      `cOnTeNt-LeNgTh: ${N}`,
      `Content-Length:${N}`,
      `Content-Length:\t${N}\t`,
    ),
    'Content-Length in Connection': length('Connection: keep-alive, content-length', `Content-Length: ${N}`),
  }),
  ...messages('RFC 9112 §5.1, §5.2, malformed field lines; Desync, Probe', 'refused', {
    'a blank or a tab before the colon of CL': lines(`Content-Length : ${N}`, `Content-Length\t: ${N}`),
    'a blank before CL': lines(` Content-Length: ${N}`),
    'CL without a colon': lines(`Content-Length ${N}`, `Content-Length= ${N}`),
    'CL with two colons': lines(`Content-Length:: ${N}`),
    'a folded CL': [length('Content-Length:', ` ${N}`), length('Content-Length: 4', ' 3')],
    'CL behind a bare CR or LF': [
      length('X-A: b\rContent-Length: 0', `Content-Length: ${N}`),
      length(`X-A: b\nContent-Length: ${N}`),
    ],
  }),
  ...messages('RFC 9110 §9.3, any method may have content; Linhart, Browser (CL.0)', 'served', {
    'a method with content': withContent('GET /m', 'HEAD /m', 'DELETE /m', 'OPTIONS /m', 'OPTIONS *', 'TRACE /m'),
    'a method in chunks': [inChunks('GET', '0\r\n\r\n'), inChunks('HEAD', ONE_CHUNK), inChunks('OPTIONS', ONE_CHUNK)],
    'DELETE in chunks (http-proxy #1721)': inChunks('DELETE', ONE_CHUNK),
    'POST without a length, then a request': `${post([])}${SMUGGLED}`,
    'POST with length zero, then a request': `${post(['Content-Length: 0'])}${SMUGGLED}`,
  }),
  ...messages('RFC 9112 §3, the rest of a body is not a request line', 'refused', {
    'content without a length, or behind length zero': [post([], 'a=b&c=d'), post(['Content-Length: 0'], 'a=b&c=d')],
  }),
  ...messages(
    'RFC 9110 §9.1, the rest of a body makes another method, which the server judges',
    ['served', 'refused', 'closed'],
    {
      'a length one too short': post([`Content-Length: ${N - 3}`], `${SMUGGLED.slice(0, -4)}XYZ!`),
      'a length one too long': each(N + 1),
    },
  ),
];
