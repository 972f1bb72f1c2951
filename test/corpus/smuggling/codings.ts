import {
  type AmbiguousMessage,
  chunked,
  chunksOrLength,
  HOST,
  head,
  lengthOrChunks,
  messages,
  post,
  SMUGGLED,
} from './message.ts';

const TE = 'Transfer-Encoding: chunked';
const END = '0\r\n\r\n';
const ONE_CHUNK = '1\r\na\r\n0\r\n\r\n';

/** Messages with a length and each of these lines. */
const withLength = (...lines: string[]) => lines.map((line) => lengthOrChunks(line));
const withShortLength = (...lines: string[]) => lines.map((line) => chunksOrLength(line));
/** The same with each of these values of Transfer-Encoding; or without a length. */
const coded = (...values: string[]) => values.map((value) => lengthOrChunks(`Transfer-Encoding: ${value}`));
const codedAlone = (...values: string[]) => values.map((value) => post([`Transfer-Encoding: ${value}`], END));
const chunkedAs = (...values: string[]) => values.map((value) => post([`Transfer-Encoding: ${value}`], ONE_CHUNK));
const inHttp10 = (...fields: string[]) => `${head('POST /m HTTP/1.0', HOST, ...fields)}${END}`;

/** Characters that some parser strips, skips or stops at. */
const ODD_CHARACTERS = [...Array(0x20).keys(), 0x7f, 0x80, 0x85, 0xa0, 0xad, 0xff]
  .filter((code) => code !== 0x09 && code !== 0x0a && code !== 0x0d)
  .map((code) => String.fromCharCode(code));
const SPACES = ['\x0b', '\x0c', '\x1f', '\x7f', '\x85', '\xa0', '\xad', '\xff'];

export const codingMessages: readonly AmbiguousMessage[] = [
  ...messages('RFC 9112 §6.3 item 3, a length and a coding; Linhart, Desync', 'refused', {
    'CL.TE': lengthOrChunks(TE),
    'TE.CL': chunksOrLength(TE),
    'TE.0': post([TE, 'Content-Length: 0'], `2b\r\n${SMUGGLED}\r\n${END}`),
    'CL.TE behind a good request': `${post([])}${lengthOrChunks(TE)}`,
    'CL.TE in another case': [
      ...withLength('transfer-encoding: chunked', 'TRANSFER-ENCODING: CHUNKED'),
      ...withShortLength('tRANSFER-eNCODING: cHUNKED'),
    ],
    'CL.TE, a tab (sozu #726) or a blank behind, or none before': withShortLength(
      `${TE}\t`,
      `${TE} `,
      'Transfer-Encoding:chunked',
    ),
  }),
  ...messages('RFC 9112 §6.1, codings that are not exactly chunked; Desync (TE.TE), tinyproxy #616', 'refused', {
    'TE almost chunked': coded('xchunked', 'chunkedx', 'chunk', '"chunked"', "'chunked'", '[chunked]'),
    'TE of letters that fold to chunked': coded('chun\xe2\x84\xaaed', 'ch\xfbnked', 'chunke\xc4\x90'),
    'TE empty, or of blanks': [
      lengthOrChunks('Transfer-Encoding:'),
      post(['Transfer-Encoding:'], END),
      post(['Transfer-Encoding:   '], END),
    ],
    'TE identity': [...coded('identity'), ...codedAlone('identity', 'chunked, identity')],
    'TE of two codings': [
      ...withShortLength('Transfer-Encoding: chunked, cow', 'Transfer-Encoding: cow, chunked'),
      ...codedAlone('chunked, gzip', 'chunked, chunked'),
    ],
    'TE chunked with a comma': [...coded('chunked,', ',chunked'), ...codedAlone('chunked,', ',chunked')],
    'TE chunked with a semicolon, a parameter or more': codedAlone('chunked;', 'chunked;q=1', 'chunked true'),
    'TE gzip': codedAlone('gzip'),
    'TE in two lines': [
      post([TE, TE], END),
      lengthOrChunks(TE, 'Transfer-Encoding: identity'),
      chunksOrLength('Transfer-Encoding: cow', TE),
      post([TE, 'Transfer-Encoding: gzip'], END),
    ],
    'TE in two lines, one of them empty': [
      post([TE, 'Transfer-Encoding:'], END),
      post(['Transfer-Encoding: ,', TE], END),
    ],
    'TE with an odd coding before chunked': codedAlone(
      ...['gzip,,chunked', '"gzip", chunked', 'x;a="b, chunked", chunked', 'gzip;q=1, chunked'],
      ...['g zip, chunked', '\xe9, chunked'],
    ),
    'TE without a length, an odd space behind its value': codedAlone(...SPACES.map((odd) => `chunked${odd}`)),
    'TE without a length, an odd space before its value': SPACES.map((odd) =>
      post([`Transfer-Encoding:${odd}chunked`], END),
    ),
  }),
  ...messages('RFC 9112 §6.1, codings before a last chunked, in order or not: framed as chunks', 'served', {
    'TE of a coding, then chunked': chunkedAs('gzip, chunked', 'identity, chunked', 'xchunked, chunked'),
    'TE gzip, then chunked in two lines': post(['Transfer-Encoding: gzip', TE], ONE_CHUNK),
    'TE in blanks and tabs': chunkedAs('\t chunked \t '),
  }),
  ...messages('RFC 9112 §5.1, §5.2, malformed field lines; Desync', 'refused', {
    'TE with a blank or a tab before the colon': [
      ...withShortLength('Transfer-Encoding : chunked'),
      ...withLength('Transfer-Encoding\t:\tchunked'),
      post(['Transfer-Encoding : chunked'], END),
    ],
    'TE with a blank or a tab before, or in its name': withLength(` ${TE}`, `\t${TE}`, 'Transfer Encoding: chunked'),
    'TE with its colon on the next line': lengthOrChunks('Transfer-Encoding', ': chunked'),
    'TE with its value folded': [
      lengthOrChunks('Transfer-Encoding:', ' chunked'),
      lengthOrChunks(TE, ' , identity'),
      post(['Transfer-Encoding:', ' chunked'], END),
    ],
    'TE with a bare CR': [
      ...withShortLength(`${TE}\r`, 'Transfer-Encoding: \rchunked'),
      ...withLength('Transfer\r-Encoding: chunked'),
    ],
    'TE behind a bare CR or LF': withLength(`X: X\r${TE}`, `X: X\n${TE}`, `X: X\r\r\n${TE}`),
    'TE behind an empty name': withLength(`:${TE}`),
    'TE with two colons or an equals sign': withLength('Transfer-Encoding:: chunked', 'Transfer-Encoding=chunked'),
    // At the four places where Desync's tools put it.
    'TE with an odd character before its value': ODD_CHARACTERS.flatMap((odd) =>
      withLength(`Transfer-Encoding:${odd}chunked`),
    ),
    'TE with an odd character behind its value': ODD_CHARACTERS.flatMap((odd) => withLength(`${TE}${odd}`)),
    'TE with an odd character behind its name': ODD_CHARACTERS.flatMap((odd) =>
      withShortLength(`Transfer-Encoding${odd}: chunked`),
    ),
    'TE with an odd character before its name': ODD_CHARACTERS.flatMap((odd) => withShortLength(`${odd}${TE}`)),
  }),
  ...messages('RFC 9112 §5.1, other names are other fields, and a length counts; Desync', 'served', {
    'another name with a length': [
      ...['Transfer_Encoding', 'TransferEncoding', 'Transfer-Encodin', 'X-Transfer-Encoding', 'Content-Encoding', 'TE'],
      ...['Transfer.Encoding', 'Transfer-Encoding`', 'HTTP_TRANSFER_ENCODING', 'X: Transfer-Encoding'],
    ].map((name) => lengthOrChunks(`${name}: chunked`)),
    'another length beside chunks': chunked(ONE_CHUNK, 'Content_Length: 3'),
    'TE in Connection beside chunks': chunked(ONE_CHUNK, 'Connection: keep-alive, transfer-encoding'),
    'TE in mixed case': post(['tRaNsFeR-eNcOdInG: ChUnKeD'], ONE_CHUNK),
  }),
  ...messages('RFC 9112 §6.1, HTTP/1.0 knows no codings; http-core #879', 'refused', {
    'TE in HTTP/1.0': [inHttp10(TE), inHttp10(TE, 'Connection: keep-alive')],
    'CL.TE in HTTP/1.0': inHttp10('Content-Length: 5', TE, 'Connection: keep-alive'),
    'TE identity in HTTP/1.0': inHttp10('Transfer-Encoding: identity', 'Content-Length: 5'),
  }),
];
