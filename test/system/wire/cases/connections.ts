import { expect } from 'vitest';
import {
  answering,
  answeringWith,
  asking,
  askingUntilEnd,
  inChunksOfOne,
  OK,
  OK_TO_HEAD,
  pipelining,
  request,
  requestInChunks,
  requestOf,
  requestWith,
  response,
  responseInChunks,
  responseWith,
  SWITCHING,
  upgrading,
  WEBSOCKET,
} from '../compose.ts';
import { methodOf } from '../message-reader.ts';
import type { DataPathCase } from '../run-case.ts';
import { finals, finish, send, takeRequest, tunnelCame, untilEnded } from '../steps.ts';
import { closedAsAnnounced } from './heads-and-contents.ts';
import { continueInChunks } from './interim-and-sidecar-only.ts';

/** Answers with what was asked, so that a swapped answer shows. */
const echoingTargets = answeringWith((asked) => {
  const target = asked.startLine.split(' ')[1]!;
  const head = response('200 OK', `Content-Length: ${target.length}`, `Content-Location: ${target}`);
  return methodOf(asked) === 'HEAD' ? head : head + target;
});

const closing = [takeRequest, send(responseWith('bye', '200 OK', 'Connection: close')), finish];

const GET = request('GET /calls/1');
const TEN = Array.from({ length: 10 }, (_, index) => request(`GET /calls/${index}`));
const TARGETS_OF_TEN = TEN.map((_, index) => `/calls/${index}`);

/** RFC 9112 §9.3 to §9.6. */
const persistence: readonly DataPathCase[] = [
  {
    name: 'connection: ten requests in turn, on one connection to the upstream',
    statuses: TEN.map(() => 200),
    upstream: echoingTargets,
    client: asking(...TEN),
    verify: ({ responses, upstreamConnections }) => {
      expect(responses.map(({ body }) => body)).toEqual(TARGETS_OF_TEN);
      expect(upstreamConnections).toBe(1);
    },
  },
];

/** RFC 9112 §9.3.2: answers come in the order of the requests, and none is lost. */
const pipelines: readonly DataPathCase[] = [
  {
    name: 'pipelining: ten requests in one segment',
    statuses: TEN.map(() => 200),
    upstream: echoingTargets,
    client: pipelining(...TEN),
    verify: ({ responses, requests }) => {
      expect(responses.map(({ body }) => body)).toEqual(TARGETS_OF_TEN);
      expect(requests.map(({ startLine }) => startLine.split(' ')[1])).toEqual(TARGETS_OF_TEN);
    },
  },
  {
    name: 'pipelining: HEAD, POST with a length, POST in chunks and GET, mixed',
    statuses: [200, 200, 200, 200, 200],
    upstream: echoingTargets,
    client: pipelining(
      request('HEAD /calls/0'),
      requestWith('GET /no HTTP/1.1\r\n\r\n', 'POST /calls/1'),
      requestInChunks('3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n', 'POST /calls/2'),
      request('HEAD /calls/3'),
      request('GET /calls/4'),
    ),
    verify: ({ responses }) =>
      expect(responses.map(({ body }) => body)).toEqual(['', '/calls/1', '/calls/2', '', '/calls/4']),
  },
  {
    name: 'pipelining: answers of every framing, in order',
    statuses: [200, 103, 204, 200, 304, 200],
    upstream: answering(
      responseInChunks('3\r\none\r\n0\r\nX-T: 1\r\n\r\n', '200 OK'),
      response('103 Early Hints', 'Link: </a>') + response('204 No Content'),
      OK_TO_HEAD,
      response('304 Not Modified', 'Content-Length: 5'),
      responseWith('last', '200 OK'),
    ),
    client: pipelining(...['GET /1', 'GET /2', 'HEAD /3', 'GET /4', 'GET /5'].map((line) => request(line))),
  },
  {
    name: 'pipelining: the last request closes',
    statuses: [200, 200],
    upstream: [takeRequest, send(OK), ...closing],
    client: [send(GET + request('GET /calls/2', 'Connection: close')), untilEnded],
  },
];

/** RFC 9112 §9.3: the default of HTTP/1.0 is to close. */
const http10 = (methodAndTarget: string, ...fields: readonly string[]) =>
  requestOf('HTTP/1.0', methodAndTarget, ...fields);
const OLD = http10('GET /old', 'Connection: keep-alive');

function closedAfter(name: string, asked: string, answer: string, more: Partial<DataPathCase> = {}): DataPathCase {
  const upstream = [takeRequest, send(answer), finish];
  return { name: `HTTP/1.0: ${name}`, statuses: [200], upstream, client: askingUntilEnd(asked), ...more };
}

const BYE = responseWith('bye', '200 OK', 'Connection: close');

const olderClients: readonly DataPathCase[] = [
  closedAfter('closed after the answer', http10('GET /calls/1'), BYE),
  closedAfter('POST with a length', `${http10('POST /calls/1', 'Content-Length: 4')}body`, BYE),
  closedAfter(
    'an answer in chunks all the same',
    http10('GET /1'),
    responseInChunks('4\r\nfine\r\n0\r\n\r\n', '200 OK'),
  ),
  closedAfter('without Host', 'GET /calls/1 HTTP/1.0\r\nX-Case: {case-token}\r\n\r\n', BYE),
  {
    name: 'HTTP/1.0: an answer of HTTP/1.0 that keeps the connection',
    statuses: [200, 200, 200],
    upstream: answering(responseWith('fine', '200 OK', 'Connection: keep-alive').replace('HTTP/1.1', 'HTTP/1.0')),
    client: asking(OLD, GET, OLD),
    verify: ({ upstreamConnections }) => expect(upstreamConnections).toBe(1),
  },
];

const ABSOLUTE = request('GET http://app.example/absolute');
const CHUNKED = requestInChunks(inChunksOfOne('abc'), 'POST /calls/3');
const UPGRADE = request('GET /live', ...WEBSOCKET);

/** Empty lines before a request are dropped (RFC 9112 §2.2). */
const isChanged = (text: string) => text.startsWith('\r\n');

function inTurn(name: string, ...requests: readonly string[]): DataPathCase {
  return {
    name: `in turn: ${name}`,
    statuses: requests.map(() => 200),
    isIrregular: requests.some(isChanged),
    upstream: answering(),
    client: asking(...requests),
    verify: (seen) => expect(seen.requests.length).toBe(requests.length),
  };
}

const asksForUpgrade: Pick<DataPathCase, 'isIrregular' | 'upstream' | 'verify'> = {
  isIrregular: true,
  upstream: upgrading(send(SWITCHING), tunnelCame(4), send('pong'), untilEnded),
  verify: ({ upstreamTunnel, clientTunnel }) => expect([upstreamTunnel, clientTunnel]).toEqual(['ping', 'pong']),
};

const mixed: readonly DataPathCase[] = [
  inTurn('HTTP/1.0 that keeps the connection, and HTTP/1.1 after it', GET, OLD, GET, CHUNKED),
  inTurn('an absolute-form target', GET, ABSOLUTE),
  inTurn('a request after an empty line', GET, `\r\n${GET}`),
  {
    name: 'pipelining: an absolute-form target, with content before and after',
    statuses: [200, 200, 200, 200, 200],
    upstream: answering(),
    client: pipelining(requestWith('1', 'POST /1'), CHUNKED, ABSOLUTE, requestWith('more', 'PUT /calls/4'), OLD),
    verify: ({ requests }) => expect(requests.map(({ body }) => body)).toEqual(['1', 'abc', '', 'more', '']),
  },
  {
    ...asksForUpgrade,
    name: 'upgrade: after two requests',
    statuses: [200, 200, 101],
    client: [send(GET), finals(1), send(CHUNKED), finals(2), send(UPGRADE), finals(3), send('ping'), tunnelCame(4)],
  },
  {
    ...asksForUpgrade,
    name: 'upgrade: pipelined after a request',
    statuses: [200, 101],
    client: [send(GET + UPGRADE), finals(2), send('ping'), tunnelCame(4)],
  },
];

export const connectionCases: readonly DataPathCase[] = [...persistence, ...pipelines, ...olderClients, ...mixed];

/** Kinds of messages that are to arrive in two segments, divided at every octet. Short, since each octet costs a connection. */
export const splitCases: readonly DataPathCase[] = [
  {
    name: 'chunks with extensions and trailers, both ways',
    upstream: answering(responseInChunks('003;a="b;"\r\nabc\r\n1\r\nd\r\n0;z\r\nX-Sum: 1\r\nX-T:\r\n\r\n', '200 OK')),
    client: asking(requestInChunks('2;x=y\r\nAB\r\n00A\r\n0123456789\r\n0\r\nX-Sum: 2\r\n\r\n', 'PUT /calls')),
  },
  continueInChunks,
  {
    name: 'HEAD, 204 and 304 with interim responses',
    statuses: [103, 200, 204, 304],
    upstream: answering(
      response('103 Early Hints', 'Link: </a>') + response('200 OK', 'Content-Length: 9'),
      response('204 No Content'),
      response('304 Not Modified', 'Content-Length: 9'),
    ),
    client: asking(request('HEAD /a'), request('GET /b'), request('GET /c')),
  },
  closedAsAnnounced,
  {
    name: 'a request and an upgrade pipelined after it',
    statuses: [200, 101],
    isIrregular: true,
    upstream: upgrading(send(`${SWITCHING}hi`), tunnelCame(2), send('yes'), untilEnded),
    client: [send(`${request('GET /a') + request('GET /b', ...WEBSOCKET)}me`), tunnelCame(5)],
  },
];
