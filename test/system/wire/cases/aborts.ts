import { expect } from 'vitest';
import { answeringWith, OK, request, response } from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import type { UpstreamScript } from '../scripted-upstream.ts';

/** Takes what comes, sends `text` (if any) at the first head, and then waits for the other side to leave. */
const silentAfter =
  (text = ''): UpstreamScript =>
  async (connection) => {
    await connection.head();
    await connection.write(text);
    await connection.ended();
  };

function clientAborts(name: string, more: Pick<DataPathCase, 'statuses' | 'upstream' | 'client'>): DataPathCase {
  return { name: `client abort: ${name}`, ...more };
}

/** A client that leaves takes its upstream connection with it: each of these waits for the end of that. */
const byClient: readonly DataPathCase[] = [
  clientAborts('while it waits for the answer', {
    statuses: [],
    upstream: silentAfter(),
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await run.requestsCame(1);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('after an interim response', {
    statuses: [103],
    upstream: silentAfter(response('103 Early Hints', 'Link: </a>')),
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.heads(1);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while it receives an answer with a length', {
    statuses: [200],
    upstream: silentAfter(`${response('200 OK', 'Content-Length: 1000')}begin`),
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.bodyCame(5);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while it receives an answer in chunks', {
    statuses: [200],
    upstream: silentAfter(`${response('200 OK', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`),
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.bodyCame(5);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while it receives an answer until close', {
    statuses: [200],
    upstream: silentAfter(`${response('200 OK')}begin`),
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.bodyCame(5);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while it sends content with a length', {
    statuses: [],
    upstream: silentAfter(),
    client: async (client, run) => {
      await client.send(`${request('POST /calls/1', 'Content-Length: 1000')}begin`);
      await run.bodyCame(5);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while it sends chunks', {
    statuses: [],
    upstream: silentAfter(),
    client: async (client, run) => {
      await client.send(`${request('POST /calls/1', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`);
      await run.bodyCame(5);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while it both sends and receives', {
    statuses: [200],
    upstream: silentAfter(`${response('200 OK', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`),
    client: async (client, run) => {
      await client.send(`${request('POST /calls/1', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`);
      await run.bodyCame(5);
      await client.bodyCame(5);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('between two requests', {
    statuses: [200],
    upstream: answeringWith(() => OK),
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.finals(1);
      client.reset();
      await run.upstreamEnded();
    },
  }),
  clientAborts('while its second request waits', {
    statuses: [200],
    upstream: async (connection) => {
      await connection.request();
      await connection.write(OK);
      await connection.ended();
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.finals(1);
      await client.send(request('GET /calls/2'));
      await run.requestsCame(2);
      client.reset();
      await run.upstreamEnded();
    },
  }),
];

/**
 * The answer begins, the client has seen its beginning, then the upstream leaves. Not until then: an RST makes the kernel
 * drop what is under way.
 */
function upstreamAborts(name: string, head: string, how: 'end' | 'reset'): DataPathCase {
  return {
    name: `upstream abort: ${name}`,
    statuses: [200],
    upstream: async (connection) => {
      await connection.request();
      await connection.write(head);
      await connection.run.noted(1);
      connection[how]();
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.bodyCame(5);
      run.note('client: has the beginning');
      await client.ended();
    },
    verify: ({ responses, clientEnding }) => {
      expect(responses[0]?.body).toBe('begin');
      expect(responses[0]?.isComplete).toBe(false);
      expect(clientEnding).toBe('cut');
    },
  };
}

const LENGTH = `${response('200 OK', 'Content-Length: 1000')}begin`;
const CHUNK = `${response('200 OK', 'Transfer-Encoding: chunked')}ff\r\nbegin`;
const BETWEEN_CHUNKS = `${response('200 OK', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`;
const IN_TRAILERS = `${response('200 OK', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n0\r\nX-Sum: 1`;

/** RFC 9112 §8: an incomplete message must be seen to be incomplete. */
const byUpstream: readonly DataPathCase[] = [
  upstreamAborts('FIN within a length', LENGTH, 'end'),
  upstreamAborts('RST within a length', LENGTH, 'reset'),
  upstreamAborts('FIN within a chunk', CHUNK, 'end'),
  upstreamAborts('RST within a chunk', CHUNK, 'reset'),
  upstreamAborts('FIN between chunks', BETWEEN_CHUNKS, 'end'),
  upstreamAborts('RST between chunks', BETWEEN_CHUNKS, 'reset'),
  upstreamAborts('FIN within trailers', IN_TRAILERS, 'end'),
  upstreamAborts(
    'RST within content until close, which must not look like its end',
    `${response('200 OK')}begin`,
    'reset',
  ),
  {
    name: 'upstream abort: the second of two pipelined answers is cut',
    statuses: [200, 200],
    upstream: async (connection) => {
      await connection.request();
      await connection.write(OK);
      await connection.request();
      await connection.write(LENGTH);
      await connection.run.noted(1);
      connection.reset();
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1') + request('GET /calls/2'));
      await client.finals(1);
      await client.bodyCame(5);
      run.note('client: has the beginning');
      await client.ended();
    },
    verify: ({ responses }) => expect(responses.map(({ isComplete }) => isComplete)).toEqual([true, false]),
  },
  {
    name: 'upstream abort: while the client still sends',
    statuses: [200],
    upstream: async (connection) => {
      await connection.head();
      await connection.run.bodyCame(3);
      await connection.write(LENGTH);
      await connection.run.noted(1);
      connection.reset();
    },
    client: async (client, run) => {
      await client.send(`${request('POST /calls/1', 'Content-Length: 1000')}abc`);
      await client.bodyCame(5);
      run.note('client: has the beginning');
      await client.ended();
    },
    verify: ({ clientEnding }) => expect(clientEnding).toBe('cut'),
  },
];

export const abortCases: readonly DataPathCase[] = [...byClient, ...byUpstream];
