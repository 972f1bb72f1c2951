import {
  answering,
  asking,
  OK,
  pipelining,
  request,
  requestInChunks,
  requestWith,
  response,
  responseInChunks,
  responseWith,
  SWITCHING,
  upgrading,
  WEBSOCKET,
} from '../compose.ts';
import type { DataPathCase } from '../run-case.ts';
import { send, tunnelCame, untilEnded } from '../steps.ts';
import { closedAsAnnounced } from './contents.ts';
import { continueInChunks } from './interim.ts';

/** Kinds of messages that are to arrive in two segments, divided at every octet. Short, since each octet costs a connection. */
export const splitCases: readonly DataPathCase[] = [
  {
    name: 'a POST with a length',
    statuses: [201],
    upstream: answering(responseWith('{"id":1}', '201 Created', 'Location: /calls/1')),
    client: asking(requestWith('{"a":1}', 'POST /calls')),
  },
  {
    name: 'chunks with extensions and trailers, both ways',
    statuses: [200],
    upstream: answering(responseInChunks('003;a="b;"\r\nabc\r\n1\r\nd\r\n0;z\r\nX-Sum: 1\r\nX-T:\r\n\r\n', '200 OK')),
    client: asking(requestInChunks('2;x=y\r\nAB\r\n00A\r\n0123456789\r\n0\r\nX-Sum: 2\r\n\r\n', 'PUT /calls')),
  },
  {
    name: 'two pipelined GETs',
    statuses: [200, 404],
    upstream: answering(OK, responseWith('none', '404 Not Found')),
    client: pipelining(request('GET /calls/1'), request('GET /calls/2')),
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
    name: 'a regular request and an upgrade pipelined after it, which is handed over',
    statuses: [200, 101],
    isIrregular: true,
    upstream: upgrading(send(`${SWITCHING}hi`), tunnelCame(2), send('yes'), untilEnded),
    client: [send(`${request('GET /a') + request('GET /b', ...WEBSOCKET)}me`), tunnelCame(5)],
  },
];
