import { expect } from 'vitest';
import {
  answering,
  answeringWith,
  asking,
  inChunksOfOne,
  OK,
  OK_TO_HEAD,
  pipelining,
  request,
  requestInChunks,
  requestOf,
  requestWith,
  SWITCHING,
  upgrading,
  WEBSOCKET,
} from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import { finals, finish, send, tunnelCame, untilEnded } from '../steps.ts';

const REGULAR = request('GET /calls/1');
const OLD = requestOf('HTTP/1.0', 'GET /old', 'Connection: keep-alive');
const ABSOLUTE = request('GET http://app.example/absolute');
const CHUNKED = requestInChunks(inChunksOfOne('abc'), 'POST /calls/3');
const UPGRADE = request('GET /live', ...WEBSOCKET);

/** A connection that begins with what the relay takes, and goes on with what it hands over. */
function inTurn(name: string, ...requests: readonly string[]): DataPathCase {
  return {
    name: `handover: ${name}`,
    statuses: requests.map(() => 200),
    isIrregular: true,
    upstream: answeringWith((asked) => (asked.startLine.startsWith('HEAD') ? OK_TO_HEAD : OK)),
    client: asking(...requests),
    verify: (seen) => expect(seen.requests.length).toBe(requests.length),
  };
}

const asksForUpgrade: Pick<DataPathCase, 'isIrregular' | 'upstream' | 'verify'> = {
  isIrregular: true,
  upstream: upgrading(send(SWITCHING), tunnelCame(4), send('pong'), untilEnded),
  verify: ({ upstreamTunnel, clientTunnel }) => expect([upstreamTunnel, clientTunnel]).toEqual(['ping', 'pong']),
};

export const handoverCases: readonly DataPathCase[] = [
  inTurn('to a request of HTTP/1.0 that keeps the connection', REGULAR, OLD),
  inTurn('to HTTP/1.0, and regular ones after it', REGULAR, OLD, REGULAR, CHUNKED),
  inTurn('to an absolute-form target', REGULAR, ABSOLUTE),
  inTurn('to a request behind an empty line', REGULAR, `\r\n${REGULAR}`),
  inTurn('of a first request behind an empty line', `\r\n${REGULAR}`, REGULAR),
  inTurn('behind a request with a length', requestWith('content', 'POST /calls/1'), OLD),
  inTurn(
    'behind a request in chunks with trailers',
    requestInChunks('1\r\na\r\n0\r\nX-T: 1\r\n\r\n', 'POST /calls/1'),
    OLD,
  ),
  inTurn('behind HEAD', request('HEAD /calls/1'), OLD, REGULAR),
  {
    name: 'handover: pipelined, a regular request and one of HTTP/1.0',
    statuses: [200, 200],
    isIrregular: true,
    upstream: answering(),
    client: pipelining(REGULAR, OLD),
  },
  {
    name: 'handover: pipelined, with content before and after',
    statuses: [200, 200, 200, 200],
    isIrregular: true,
    upstream: answering(),
    client: pipelining(requestWith('content', 'POST /calls/1'), CHUNKED, ABSOLUTE, requestWith('more', 'PUT /calls/4')),
    verify: ({ requests }) => expect(requests.map(({ body }) => body)).toEqual(['content', 'abc', '', 'more']),
  },
  {
    ...asksForUpgrade,
    name: 'handover: to an upgrade after two regular requests',
    statuses: [200, 200, 101],
    client: [send(REGULAR), finals(1), send(CHUNKED), finals(2), send(UPGRADE), finals(3), send('ping'), tunnelCame(4)],
  },
  {
    ...asksForUpgrade,
    name: 'handover: to an upgrade pipelined after a regular request',
    statuses: [200, 101],
    client: [send(REGULAR + UPGRADE), finals(2), send('ping'), tunnelCame(4)],
  },
  {
    name: 'handover: the client finishes sending after the irregular request',
    statuses: [200, 200],
    isIrregular: true,
    upstream: answering(),
    client: [send(REGULAR), finals(1), send(ABSOLUTE), finish, finals(2), untilEnded],
  },
];
