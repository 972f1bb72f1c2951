import { expect } from 'vitest';
import { answering, OK, request, response } from '../compose.ts';
import type { RawClient } from '../raw-client.ts';
import type { ClientScript, DataPathCase } from '../run-case.ts';
import type { UpstreamScript } from '../scripted-upstream.ts';
import {
  bodyCame,
  contentCame,
  finals,
  finish,
  heads,
  note,
  noted,
  requestsCame,
  reset,
  type Step,
  send,
  takeHead,
  takeRequest,
  untilEnded,
  upstreamEnded,
} from '../steps.ts';

const GET = request('GET /calls/1');
const CHUNKED = response('200 OK', 'Transfer-Encoding: chunked');
const LENGTH = `${response('200 OK', 'Content-Length: 1000')}begin`;
const BETWEEN_CHUNKS = `${CHUNKED}5\r\nbegin\r\n`;
const UNTIL_CLOSE = `${response('200 OK')}begin`;
const UPLOAD = request('POST /calls/1', 'Content-Length: 1000');
const UPLOAD_IN_CHUNKS = `${request('POST /calls/1', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`;

/** Takes what comes, sends `text` at the first head, and then waits for the other side to leave. */
const silentAfter = (text = ''): UpstreamScript => [takeHead, send(text), untilEnded];

function clientAborts(
  name: string,
  statuses: number[],
  upstream: UpstreamScript,
  ...until: Step<RawClient>[]
): DataPathCase {
  return { name: `client abort: ${name}`, statuses, upstream, client: [...until, reset, upstreamEnded] };
}

const byClient: readonly DataPathCase[] = [
  clientAborts('while it waits for the answer', [], silentAfter(), send(GET), requestsCame(1)),
  clientAborts(
    'after an interim response',
    [103],
    silentAfter(response('103 Early Hints', 'Link: </a>')),
    ...[send(GET), heads(1)],
  ),
  clientAborts('while it receives an answer with a length', [200], silentAfter(LENGTH), send(GET), bodyCame(5)),
  clientAborts('while it receives an answer in chunks', [200], silentAfter(BETWEEN_CHUNKS), send(GET), bodyCame(5)),
  clientAborts('while it receives an answer until close', [200], silentAfter(UNTIL_CLOSE), send(GET), bodyCame(5)),
  clientAborts('while it sends content with a length', [], silentAfter(), send(`${UPLOAD}begin`), contentCame(5)),
  clientAborts('while it sends chunks', [], silentAfter(), send(UPLOAD_IN_CHUNKS), contentCame(5)),
  clientAborts(
    'while it both sends and receives',
    [200],
    silentAfter(BETWEEN_CHUNKS),
    ...[send(UPLOAD_IN_CHUNKS), contentCame(5), bodyCame(5)],
  ),
  clientAborts('between two requests', [200], answering(OK), send(GET), finals(1)),
  clientAborts(
    'while its second request waits',
    [200],
    [takeRequest, send(OK), untilEnded],
    ...[send(GET), finals(1), send(request('GET /calls/2')), requestsCame(2)],
  ),
];

/** The client has seen the beginning before the upstream leaves: an RST makes the kernel drop what is under way. */
const LEAVES = [noted(1), reset];
const seesBeginning = (...sent: Step<RawClient>[]): ClientScript => [
  ...sent,
  bodyCame(5),
  note('client: has the beginning'),
  untilEnded,
];

function upstreamAborts(name: string, answer: string, leave: typeof reset | typeof finish): DataPathCase {
  return {
    name: `upstream abort: ${name}`,
    statuses: [200],
    upstream: [takeRequest, send(answer), noted(1), leave],
    client: seesBeginning(send(GET)),
    verify: ({ responses, clientEnding }) => {
      expect(responses[0]).toMatchObject({ body: 'begin', isComplete: false });
      expect(clientEnding).toBe('cut');
    },
  };
}

/** RFC 9112 §8: an incomplete message must be seen to be incomplete. */
const byUpstream: readonly DataPathCase[] = [
  upstreamAborts('FIN within a length', LENGTH, finish),
  upstreamAborts('RST within a length', LENGTH, reset),
  upstreamAborts('FIN within a chunk', `${CHUNKED}ff\r\nbegin`, finish),
  upstreamAborts('RST within a chunk', `${CHUNKED}ff\r\nbegin`, reset),
  upstreamAborts('FIN between chunks', BETWEEN_CHUNKS, finish),
  upstreamAborts('RST between chunks', BETWEEN_CHUNKS, reset),
  upstreamAborts('FIN within trailers', `${BETWEEN_CHUNKS}0\r\nX-Sum: 1`, finish),
  upstreamAborts('RST within content until close, which must not look like its end', UNTIL_CLOSE, reset),
  {
    name: 'upstream abort: the second of two pipelined answers is cut',
    statuses: [200, 200],
    upstream: [takeRequest, send(OK), takeRequest, send(LENGTH), ...LEAVES],
    client: seesBeginning(send(GET + request('GET /calls/2')), finals(1)),
    verify: ({ responses }) => expect(responses.map(({ isComplete }) => isComplete)).toEqual([true, false]),
  },
  {
    name: 'upstream abort: while the client still sends',
    statuses: [200],
    upstream: [takeHead, contentCame(3), send(LENGTH), ...LEAVES],
    client: seesBeginning(send(`${UPLOAD}abc`)),
    verify: ({ clientEnding }) => expect(clientEnding).toBe('cut'),
  },
];

export const abortCases: readonly DataPathCase[] = [...byClient, ...byUpstream];
