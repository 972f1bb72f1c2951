import { expect } from 'vitest';
import {
  answering,
  asking,
  askingUntilEnd,
  inChunksOfOne,
  MEBIBYTE,
  NOISE,
  OK,
  oneExchange,
  request,
  response,
  responseWith,
} from '../compose.ts';
import type { DataPathCase } from '../run-case.ts';
import { finals, finish, requestsCame, send, takeRequest } from '../steps.ts';

const BINARY = `\0\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))}`;
const BYTES_64K = NOISE.toString('latin1', 0, 65_536);

type Framed = readonly [field: string, text: string];

const ofLength = (text: string): Framed => [`Content-Length: ${text.length}`, text];
const inChunks = (...chunks: readonly string[]): Framed => ['Transfer-Encoding: chunked', chunks.join('\r\n')];

const FRAMED: Readonly<Record<string, Framed>> = {
  'length 0': ofLength(''),
  'length 1': ofLength('a'),
  'length with leading zeros': ['Content-Length: 0004', 'four'],
  'length 65,536': ofLength(BYTES_64K),
  'octets that look like framing': ofLength(BINARY),
  'chunks of one octet': inChunks(inChunksOfOne('{"one":"octet"}')),
  'chunk extensions, token and quoted': inChunks(
    ...['4;name=value', 'Wiki', '5;quoted="a;\\"b\\r";flag', 'pedia', '0;last', '', ''],
  ),
  'chunk sizes with leading zeros, in upper and lower case': inChunks(
    ...['000a', '0123456789', '0000000000000001', 'x', 'B', '0123456789a', 'c', '0123456789ab'],
    ...['1F', 'y'.repeat(31), '000', '', ''],
  ),
  trailers: inChunks('4', 'Wiki', '0', 'X-Sum: abc', 'x-second:', 'X-Sum: def', '', ''),
  'trailers behind nothing': inChunks('0', 'X-Sum: none', '', ''),
  'chunks, but none': inChunks('0', '', ''),
  'one chunk of 65,536': inChunks('10000', BYTES_64K, '0', '', ''),
  'chunks that hold what looks like framing': inChunks(BINARY.length.toString(16), BINARY, '0', '', ''),
  'Transfer-Encoding in another case': ['transfer-encoding: Chunked', '1\r\na\r\n0\r\n\r\n'],
};

const bothWays = Object.entries(FRAMED).flatMap(([name, [field, text]]) => [
  oneExchange(`request content: ${name}`, request('POST /calls', field) + text, OK),
  oneExchange(`response content: ${name}`, request('GET /calls/1'), response('200 OK', field) + text),
]);

/** RFC 9112 §6.3: responses that end with their heads, whatever these say. The second answer shows where the first ended. */
const bodilessCases = [
  ['204', 'DELETE', response('204 No Content')],
  ['304', 'GET', response('304 Not Modified', 'ETag: "a"')],
  ['304 with the length of what it stands for', 'GET', response('304 Not Modified', 'Content-Length: 5000')],
  ['304 with Transfer-Encoding', 'GET', response('304 Not Modified', 'Transfer-Encoding: chunked')],
  ['HEAD with a length', 'HEAD', response('200 OK', 'Content-Length: 5000')],
  ['HEAD with Transfer-Encoding', 'HEAD', response('200 OK', 'Transfer-Encoding: chunked')],
  ['HEAD without either', 'HEAD', response('200 OK', 'Content-Type: text/plain')],
].map(
  ([name = '', method = '', answer = '']): DataPathCase => ({
    name: `no response content: ${name}`,
    statuses: [Number(answer.slice(9, 12)), 200],
    upstream: answering(answer, OK),
    client: asking(request(`${method} /a`), request('GET /next')),
    verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(['', 'fine']),
  }),
);

/** RFC 9112 §6.3 rule 8: only the end of the connection delimits the content. */
function untilClose(name: string, answer: string, more: Partial<DataPathCase> = {}): DataPathCase {
  return {
    name: `until close: ${name}`,
    statuses: [200],
    upstream: [takeRequest, send(answer), finish],
    client: [send(request('GET /calls/1')), finals(1), requestsCame(1)],
    verify: ({ responses }) => expect(responses[0]?.isComplete).toBe(true),
    ...more,
  };
}

export const closedAsAnnounced = untilClose(
  'HTTP/1.1 that says so',
  `${response('200 OK', 'Connection: close')}until the end`,
  { client: askingUntilEnd(request('GET /calls/1')) },
);

const untilCloseCases = [
  untilClose('HTTP/1.1, octets that look like framing', `${response('200 OK')}${BINARY}${BYTES_64K}`),
  closedAsAnnounced,
  untilClose('nothing at all', response('200 OK', 'Connection: close')),
  untilClose('a response of HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end'),
  untilClose('a response of HTTP/1.0 with a length', 'HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nend'),
];

const AS_CHUNK = Buffer.concat([Buffer.from('100000\r\n'), NOISE, Buffer.from('\r\n')]);
const sixteenChunks = [...Array.from({ length: 16 }, () => send(AS_CHUNK)), send('0\r\n\r\n')];

/** With a length: the cases of back pressure. */
const large: DataPathCase = {
  name: 'large: 16 MiB each way in chunks',
  statuses: [200],
  deadlineMs: 20_000,
  upstream: [takeRequest, send(response('200 OK', 'Transfer-Encoding: chunked')), ...sixteenChunks],
  client: [send(request('POST /both', 'Transfer-Encoding: chunked')), ...sixteenChunks, finals(1)],
  verify: ({ requests, responses }) => {
    expect(requests[0]?.body).toMatch(`${16 * MEBIBYTE} bytes`);
    expect(requests[0]?.body).toBe(responses[0]?.body);
  },
};

export const contentCases: readonly DataPathCase[] = [
  ...bothWays,
  ...bodilessCases,
  ...untilCloseCases,
  large,
  oneExchange(
    'response content: Content-Encoding is left alone',
    request('GET /calls/1'),
    responseWith('\x1f\x8b\x08\0', '200 OK', 'Content-Encoding: gzip'),
  ),
];
