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
  WEBSOCKET,
} from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import { fieldOf } from '../message-reader.ts';

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
  {
    name: '100-continue',
    statuses: [100, 200],
    upstream: async (connection) => {
      const head = await connection.head();
      await connection.write(response('100 Continue'));
      await connection.run.changed.until(() => head!.isComplete);
      await connection.write(OK);
      await connection.ended();
    },
    client: async (client) => {
      await client.send(request('POST /calls', 'Expect: 100-continue', 'Content-Length: 7'));
      await client.heads(1);
      await client.send('content');
      await client.finals(1);
    },
  },
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
  {
    name: 'an answer until close',
    statuses: [200],
    upstream: async (connection) => {
      await connection.request();
      await connection.write(`${response('200 OK', 'Connection: close')}until the end`);
      connection.end();
    },
    client: async (client) => {
      await client.send(request('GET /calls/1', 'Connection: close'));
      await client.ended();
    },
  },
];

/** The same for what is handed over in the middle. */
export const splitHandoverCases: readonly DataPathCase[] = [
  {
    name: 'a regular request and an upgrade pipelined after it',
    statuses: [200, 101],
    isIrregular: true,
    // By what is asked and not by how often: the upgrade may come on another connection than the request before it.
    upstream: async (connection) => {
      for (let head = await connection.request(); head !== undefined; head = await connection.request()) {
        if (fieldOf(head, 'upgrade') === undefined) {
          await connection.write(OK);
          continue;
        }
        connection.acceptUpgrade();
        await connection.write(`${SWITCHING}hi`);
        await connection.tunnelCame(2);
        await connection.write('yes');
        await connection.ended();
      }
    },
    client: async (client) => {
      await client.send(`${request('GET /a') + request('GET /b', ...WEBSOCKET)}me`);
      await client.tunnelCame(5);
    },
  },
];
