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
  requestInChunks,
  requestWith,
  response,
  responseInChunks,
  responseWith,
} from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import { finals, finish, requestsCame, send, takeRequest } from '../steps.ts';

const LARGE_MEBIBYTES = 64;
const LARGE_DEADLINE_MS = 20_000;
const CHUNKS_WITH_EXTENSIONS = '4;name=value\r\nWiki\r\n5;quoted="a;\\"b\\r";flag\r\npedia\r\n0;last\r\n\r\n';
const CHUNKS_WITH_TRAILERS = '4\r\nWiki\r\n0\r\nX-Sum: abc\r\nx-second:\r\nX-Sum: def\r\n\r\n';
const CHUNK_SIZES = `000a\r\n0123456789\r\n0000000000000001\r\nx\r\nB\r\n0123456789a\r\nc\r\n0123456789ab\r\n1F\r\n${'y'.repeat(31)}\r\n000\r\n\r\n`;
/** Octets that look like framing. */
const BINARY = `\0\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n${String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))}`;
const BYTES_64K = NOISE.toString('latin1', 0, 65_536);

function upload(name: string, text: string): DataPathCase {
  return oneExchange(`request content: ${name}`, text, OK);
}

const uploads: readonly DataPathCase[] = [
  upload('length 0', requestWith('', 'POST /calls')),
  upload('length 1', requestWith('a', 'POST /calls')),
  upload('length with leading zeros', `${request('POST /calls', 'Content-Length: 0004')}four`),
  upload('length 65,536', requestWith(BYTES_64K, 'PUT /calls')),
  upload('octets that look like framing', requestWith(BINARY, 'POST /calls')),
  upload('chunks of one octet', requestInChunks(inChunksOfOne('{"one":"octet"}'), 'POST /calls')),
  upload('chunk extensions, token and quoted', requestInChunks(CHUNKS_WITH_EXTENSIONS, 'POST /calls')),
  upload('chunk sizes with leading zeros, in upper and lower case', requestInChunks(CHUNK_SIZES, 'POST /calls')),
  upload('trailers', requestInChunks(CHUNKS_WITH_TRAILERS, 'POST /calls', 'Trailer: X-Sum')),
  upload('trailers behind nothing', requestInChunks('0\r\nX-Sum: none\r\n\r\n', 'POST /calls')),
  upload('chunks, but none', requestInChunks('0\r\n\r\n', 'POST /calls')),
  upload('one chunk of 65,536', requestInChunks(`10000\r\n${BYTES_64K}\r\n0\r\n\r\n`, 'POST /calls')),
  upload(
    'chunks that hold what looks like framing',
    requestInChunks(`${BINARY.length.toString(16)}\r\n${BINARY}\r\n0\r\n\r\n`, 'POST /c'),
  ),
  upload(
    'Transfer-Encoding in another case',
    `${request('POST /calls', 'transfer-encoding: Chunked')}1\r\na\r\n0\r\n\r\n`,
  ),
];

function download(name: string, answer: string, requestText = request('GET /calls/1')): DataPathCase {
  return oneExchange(`response content: ${name}`, requestText, answer);
}

const downloads: readonly DataPathCase[] = [
  download('length 0', responseWith('', '200 OK')),
  download('length 1', responseWith('a', '200 OK')),
  download('length 65,536', responseWith(BYTES_64K, '200 OK')),
  download('octets that look like framing', responseWith(BINARY, '200 OK')),
  download('chunks of one octet', responseInChunks(inChunksOfOne('{"one":"octet"}'), '200 OK')),
  download('chunk extensions, token and quoted', responseInChunks(CHUNKS_WITH_EXTENSIONS, '200 OK')),
  download('chunk sizes with leading zeros, in upper and lower case', responseInChunks(CHUNK_SIZES, '200 OK')),
  download('trailers', responseInChunks(CHUNKS_WITH_TRAILERS, '200 OK', 'Trailer: X-Sum')),
  download('trailers behind nothing', responseInChunks('0\r\nX-Sum: none\r\n\r\n', '200 OK')),
  download('chunks, but none', responseInChunks('0\r\n\r\n', '200 OK')),
  download('one chunk of 65,536', responseInChunks(`10000\r\n${BYTES_64K}\r\n0\r\n\r\n`, '200 OK')),
  download('Content-Encoding is left alone', responseWith('\x1f\x8b\x08\0', '200 OK', 'Content-Encoding: gzip')),
];

/** RFC 9112 §6.3: responses that end with their heads, whatever these say. The second answer shows where the first ended. */
function bodiless(name: string, requestText: string, answer: string): DataPathCase {
  return {
    name: `no response content: ${name}`,
    statuses: [Number(answer.slice(9, 12)), 200],
    upstream: answering(answer, OK),
    client: asking(requestText, request('GET /next')),
    verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(['', 'fine']),
  };
}

const bodilessCases: readonly DataPathCase[] = [
  bodiless('204', request('DELETE /calls/1'), response('204 No Content')),
  bodiless('304', request('GET /a', 'If-None-Match: "a"'), response('304 Not Modified', 'ETag: "a"')),
  bodiless(
    '304 with the length of what it stands for',
    request('GET /a'),
    response('304 Not Modified', 'Content-Length: 5000'),
  ),
  bodiless('304 with Transfer-Encoding', request('GET /a'), response('304 Not Modified', 'Transfer-Encoding: chunked')),
  bodiless('205 of length 0', request('POST /a'), response('205 Reset Content', 'Content-Length: 0')),
  bodiless('HEAD with a length', request('HEAD /a'), response('200 OK', 'Content-Length: 5000')),
  bodiless('HEAD with Transfer-Encoding', request('HEAD /a'), response('200 OK', 'Transfer-Encoding: chunked')),
  bodiless('HEAD without either', request('HEAD /a'), response('200 OK', 'Content-Type: text/plain')),
  bodiless('HEAD not found', request('HEAD /a'), response('404 Not Found', 'Content-Length: 9')),
];

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

const untilCloseCases: readonly DataPathCase[] = [
  untilClose('HTTP/1.1', `${response('200 OK')}until the end`),
  untilClose('HTTP/1.1 that says so', `${response('200 OK', 'Connection: close')}until the end`, {
    client: askingUntilEnd(request('GET /calls/1')),
  }),
  untilClose('nothing at all', response('200 OK', 'Connection: close')),
  untilClose('a response of HTTP/1.0', `HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end`),
  untilClose('a response of HTTP/1.0 with a length', `HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nend`),
  untilClose('octets that look like framing', `${response('200 OK')}${BINARY}`),
  untilClose('65,536 octets', `${response('200 OK')}${BYTES_64K}`),
];

const large: readonly DataPathCase[] = [
  {
    name: `large: ${LARGE_MEBIBYTES} MiB to the upstream, with a length`,
    statuses: [200],
    deadlineMs: LARGE_DEADLINE_MS,
    upstream: answering(),
    client: async (client) => {
      await client.send(request('POST /upload', `Content-Length: ${LARGE_MEBIBYTES * MEBIBYTE}`));
      for (let sent = 0; sent < LARGE_MEBIBYTES; sent += 1) await client.send(NOISE);
      await client.finals(1);
    },
    verify: ({ requests }) => expect(requests[0]?.body).toMatch(`${LARGE_MEBIBYTES * MEBIBYTE} bytes`),
  },
  {
    name: `large: ${LARGE_MEBIBYTES} MiB to the client, with a length`,
    statuses: [200],
    deadlineMs: LARGE_DEADLINE_MS,
    upstream: async (connection) => {
      await connection.request();
      await connection.send(response('200 OK', `Content-Length: ${LARGE_MEBIBYTES * MEBIBYTE}`));
      for (let sent = 0; sent < LARGE_MEBIBYTES; sent += 1) await connection.send(NOISE);
    },
    client: asking(request('GET /download')),
    verify: ({ responses }) => expect(responses[0]?.body).toMatch(`${LARGE_MEBIBYTES * MEBIBYTE} bytes`),
  },
  {
    name: 'large: 16 MiB each way in chunks',
    statuses: [200],
    deadlineMs: LARGE_DEADLINE_MS,
    upstream: async (connection) => {
      await connection.request();
      await connection.send(response('200 OK', 'Transfer-Encoding: chunked'));
      for (let sent = 0; sent < 16; sent += 1) await connection.send(AS_CHUNK);
      await connection.send('0\r\n\r\n');
    },
    client: async (client) => {
      await client.send(request('POST /both', 'Transfer-Encoding: chunked'));
      for (let sent = 0; sent < 16; sent += 1) await client.send(AS_CHUNK);
      await client.send('0\r\n\r\n');
      await client.finals(1);
    },
    verify: ({ requests, responses }) => expect(requests[0]?.body).toBe(responses[0]?.body),
  },
];
const AS_CHUNK = Buffer.concat([Buffer.from('100000\r\n'), NOISE, Buffer.from('\r\n')]);

export const bodyCases: readonly DataPathCase[] = [
  ...uploads,
  ...downloads,
  ...bodilessCases,
  ...untilCloseCases,
  ...large,
];
