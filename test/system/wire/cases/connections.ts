import { expect } from 'vitest';
import { turns } from '../../../support/wire/split-writer.ts';
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
} from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import { methodOf } from '../message-reader.ts';
import { finals, finish, send, takeRequest, untilEnded } from '../steps.ts';

/** Answers with what was asked, so that a swapped answer shows. */
const echoingTargets = answeringWith((asked) => {
  const target = asked.startLine.split(' ')[1]!;
  const head = response('200 OK', `Content-Length: ${target.length}`, `Content-Location: ${target}`);
  return methodOf(asked) === 'HEAD' ? head : head + target;
});

/** Answers the first request, then closes as it has said. */
const closing = [takeRequest, send(responseWith('bye', '200 OK', 'Connection: close')), finish];

const TEN = Array.from({ length: 10 }, (_, index) => request(`GET /calls/${index}`));
const targetsOf = (count: number) => Array.from({ length: count }, (_, index) => `/calls/${index}`);

/** RFC 9112 §9.3 to §9.6. */
const persistence: readonly DataPathCase[] = [
  {
    name: 'connection: ten requests in turn, on one connection to the upstream',
    statuses: Array.from({ length: 10 }, () => 200),
    upstream: echoingTargets,
    client: asking(...TEN),
    verify: ({ responses, upstreamConnections }) => {
      expect(responses.map(({ body }) => body)).toEqual(targetsOf(10));
      expect(upstreamConnections).toBe(1);
    },
  },
  {
    name: 'connection: closed by the client with Connection: close',
    statuses: [200],
    upstream: closing,
    client: askingUntilEnd(request('GET /calls/1', 'Connection: close')),
  },
  {
    name: 'connection: closed by the client with the second request',
    statuses: [200, 200],
    upstream: [takeRequest, send(OK), ...closing],
    client: [send(request('GET /calls/1')), finals(1), send(request('GET /calls/2', 'connection: Close')), untilEnded],
  },
  {
    name: 'connection: closed by the upstream with Connection: close',
    statuses: [200],
    upstream: closing,
    client: askingUntilEnd(request('GET /calls/1')),
  },
  {
    name: 'connection: Keep-Alive with its parameters, both ways',
    statuses: [200, 200],
    upstream: answering(responseWith('fine', '200 OK', 'Connection: keep-alive', 'Keep-Alive: timeout=20, max=99')),
    client: asking(
      request('GET /calls/1', 'Connection: keep-alive', 'Keep-Alive: 115'),
      request('GET /calls/2', 'Connection: keep-alive'),
    ),
  },
  {
    name: 'connection: every kind of framing in turn',
    statuses: [200, 204, 200, 304, 200, 200],
    upstream: answering(
      responseInChunks(inChunksOfOne('chunks'), '200 OK'),
      response('204 No Content'),
      response('200 OK', 'Content-Length: 77'),
      response('304 Not Modified', 'Content-Length: 5'),
      responseWith('', '200 OK'),
      responseWith('last', '200 OK'),
    ),
    client: asking(
      request('GET /calls/1'),
      requestWith('body', 'PUT /calls/2'),
      request('HEAD /calls/3'),
      request('GET /calls/4'),
      requestInChunks(inChunksOfOne('abc'), 'POST /calls/5'),
      request('GET /calls/6'),
    ),
  },
];

/** RFC 9112 §9.3.2: answers come in the order of the requests, and none is lost. */
const pipelines: readonly DataPathCase[] = [
  {
    name: 'pipelining: two requests in one segment',
    statuses: [200, 200],
    upstream: echoingTargets,
    client: pipelining(...TEN.slice(0, 2)),
    verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(targetsOf(2)),
  },
  {
    name: 'pipelining: ten requests in one segment',
    statuses: Array.from({ length: 10 }, () => 200),
    upstream: echoingTargets,
    client: pipelining(...TEN),
    verify: ({ responses, requests }) => {
      expect(responses.map(({ body }) => body)).toEqual(targetsOf(10));
      expect(requests.map(({ startLine }) => startLine.split(' ')[1])).toEqual(targetsOf(10));
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
    verify: ({ responses }) => {
      expect(responses.map(({ body }) => body)).toEqual(['', '/calls/1', '/calls/2', '', '/calls/4']);
    },
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
    client: [send(request('GET /calls/1') + request('GET /calls/2', 'Connection: close')), untilEnded],
  },
];

/** RFC 9112 §9.3: the default of HTTP/1.0 is to close. */
const http10 = (methodAndTarget: string, ...fields: readonly string[]) =>
  requestOf('HTTP/1.0', methodAndTarget, ...fields);

const olderClients: readonly DataPathCase[] = [
  {
    name: 'HTTP/1.0: closed after the answer',
    statuses: [200],
    upstream: closing,
    client: askingUntilEnd(http10('GET /calls/1')),
  },
  {
    name: 'HTTP/1.0: with keep-alive, two requests',
    statuses: [200, 200],
    upstream: answering(responseWith('fine', '200 OK', 'Connection: keep-alive')),
    client: asking(http10('GET /calls/1', 'Connection: keep-alive'), http10('GET /calls/2', 'Connection: keep-alive')),
  },
  {
    name: 'HTTP/1.0: with keep-alive, which the answer does not mention, and the upstream closes later',
    statuses: [200],
    knownDifference: {
      gateway: 'Node’s server answers HTTP/1.0 by its own rules, and says that it keeps the connection',
    },
    upstream: [takeRequest, send(responseWith('fine', '200 OK')), () => turns(20), finish],
    client: askingUntilEnd(http10('GET /calls/1', 'Connection: keep-alive')),
  },
  {
    name: 'HTTP/1.0: an answer in chunks all the same',
    statuses: [200],
    upstream: [takeRequest, send(`${response('200 OK', 'Transfer-Encoding: chunked')}4\r\nfine\r\n0\r\n\r\n`), finish],
    client: askingUntilEnd(http10('GET /calls/1')),
  },
  {
    name: 'HTTP/1.0: without Host',
    statuses: [200],
    knownDifference: { gateway: 'the gateway names the upstream in a Host of its own' },
    upstream: closing,
    client: askingUntilEnd('GET /calls/1 HTTP/1.0\r\nX-Case: {case-token}\r\n\r\n'),
  },
  {
    name: 'HTTP/1.0: POST with a length',
    statuses: [200],
    upstream: closing,
    client: askingUntilEnd(`${http10('POST /calls/1', 'Content-Length: 4')}body`),
  },
  {
    name: 'HTTP/1.0: HEAD',
    statuses: [200],
    upstream: [takeRequest, send(response('200 OK', 'Content-Length: 4', 'Connection: close')), finish],
    client: askingUntilEnd(http10('HEAD /calls/1')),
  },
  {
    name: 'HTTP/1.0: an answer until close',
    statuses: [200],
    upstream: [takeRequest, send(`${response('200 OK', 'Connection: close')}until the end`), finish],
    client: askingUntilEnd(http10('GET /calls/1')),
  },
];

export const connectionCases: readonly DataPathCase[] = [...persistence, ...pipelines, ...olderClients];
