import { expect } from 'vitest';
import {
  answering,
  answeringPostsEarly,
  asking,
  OK,
  oneExchange,
  request,
  requestWith,
  response,
  responseWith,
} from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import { finals, finish, heads, note, noted, requestsCame, send, takeHead, takeRequest, untilEnded } from '../steps.ts';
import { EARLY_ENDS_UPSTREAM } from './early-and-half-closed.ts';

const CONTINUE = response('100 Continue');
const HINTS = (file: string) =>
  response('103 Early Hints', `Link: </${file}>; rel=preload`, 'X-Twice: a', 'X-Twice: b');

/** RFC 9110 §15.2: interim responses are forwarded, each before the final one. */
function interims(name: string, statuses: readonly number[], ...heads: readonly string[]): DataPathCase {
  return oneExchange(`interim: ${name}`, request('GET /calls/1'), `${heads.join('')}${OK}`, {
    statuses: [...statuses, 200],
  });
}

/** Answers a head with 100 at once, before its content. */
const continuing = (nth = 1) => [takeHead, send(CONTINUE), requestsCame(nth), send(OK)];

/** RFC 9110 §10.1.1: a client that waits for 100 before it sends its content. */
const waitingFor100 = [
  send(request('POST /calls/1', 'Expect: 100-continue', 'Content-Length: 7')),
  heads(1),
  send('content'),
  finals(1),
];

const interimCases: readonly DataPathCase[] = [
  interims('102', [102], response('102 Processing')),
  interims('103 with fields', [103], HINTS('a.css')),
  interims('103 three times', [103, 103, 103], HINTS('a.css'), HINTS('b.css'), HINTS('c.css')),
  interims('100 without having been asked for', [100], CONTINUE),
  interims('100, 102 and 103', [100, 102, 103], CONTINUE, response('102 Processing'), HINTS('a.css')),
  interims('a code that nobody knows', [199], response('199 Odd', 'X-Odd: yes')),
  {
    name: 'interim: 103 is seen long before the final response',
    statuses: [103, 200],
    upstream: [takeRequest, send(HINTS('a.css')), noted(1), send(OK)],
    client: [send(request('GET /calls/1')), heads(1), note('client: has the hints'), finals(1)],
  },
  {
    name: 'interim: 103 before each of two answers on one connection',
    statuses: [103, 200, 103, 404],
    upstream: answering(HINTS('a.css') + OK, HINTS('b.css') + responseWith('none', '404 Not Found')),
    client: asking(request('GET /calls/1'), request('GET /calls/2')),
  },
  {
    name: 'interim: 103 before a 204, and before the answer to HEAD',
    statuses: [103, 204, 103, 200],
    upstream: answering(
      HINTS('a.css') + response('204 No Content'),
      HINTS('b.css') + response('200 OK', 'Content-Length: 9'),
    ),
    client: asking(request('GET /calls/1'), request('HEAD /calls/2')),
  },
];

const expectCases: readonly DataPathCase[] = [
  { name: 'expect: accepted with 100', statuses: [100, 200], upstream: continuing(), client: waitingFor100 },
  {
    name: 'expect: accepted, in chunks',
    statuses: [100, 200],
    upstream: continuing(),
    client: [
      send(request('POST /calls/1', 'Expect: 100-continue', 'Transfer-Encoding: chunked')),
      heads(1),
      send('7\r\ncontent\r\n0\r\nX-Sum: 1\r\n\r\n'),
      finals(1),
    ],
  },
  {
    name: 'expect: accepted, and again on the same connection',
    statuses: [100, 200, 100, 200],
    upstream: [...continuing(), ...continuing(2)],
    client: [
      ...waitingFor100,
      ...[send(request('PUT /calls/2', 'expect: 100-Continue', 'Content-Length: 2')), heads(3), send('ok'), finals(2)],
    ],
  },
  {
    name: 'expect: a client that does not wait',
    statuses: [100, 200],
    upstream: continuing(),
    client: asking(requestWith('content', 'POST /calls/1', 'Expect: 100-continue')),
  },
  {
    name: 'expect: refused with 417 and the end of the connection',
    statuses: [417],
    upstream: [takeHead, send(responseWith('no', '417 Expectation Failed', 'Connection: close')), finish],
    client: [send(request('POST /calls/1', 'Expect: 100-continue', 'Content-Length: 7')), untilEnded],
    verify: ({ requests }) => expect(requests[0]?.body).toBe(''),
  },
  {
    name: 'expect: refused with 413, yet the connection goes on with the content',
    statuses: [413, 200],
    // RFC 9110 §10.1.1 lets the server choose; the answer itself is the same.
    sidecarOnly: EARLY_ENDS_UPSTREAM,
    upstream: answeringPostsEarly(responseWith('no', '413 Content Too Large')),
    client: [
      send(request('POST /calls/1', 'Expect: 100-continue', 'Content-Length: 7')),
      finals(1),
      send(`content${request('GET /calls/2')}`),
      finals(2),
    ],
  },
  {
    name: 'expect: answered without 100 once the content has come',
    statuses: [200],
    upstream: answering(),
    client: asking(requestWith('content', 'POST /calls/1', 'Expect: 100-continue')),
  },
];

export const interimAndExpectCases: readonly DataPathCase[] = [...interimCases, ...expectCases];
