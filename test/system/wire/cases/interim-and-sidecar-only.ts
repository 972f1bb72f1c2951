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
import type { ClientScript, DataPathCase } from '../run-case.ts';
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
  send,
  takeHead,
  takeRequest,
  untilEnded,
  upstreamEnded,
} from '../steps.ts';

const CONTINUE = response('100 Continue');
const PROCESSING = response('102 Processing');
const hints = (file: string) =>
  response('103 Early Hints', `Link: </${file}>; rel=preload`, 'X-Twice: a', 'X-Twice: b');

/** RFC 9110 §15.2: interim responses are forwarded, each before the final one. */
function interims(name: string, statuses: readonly number[], ...heads: readonly string[]): DataPathCase {
  return oneExchange(`interim: ${name}`, request('GET /calls/1'), `${heads.join('')}${OK}`, {
    statuses: [...statuses, 200],
  });
}

const interimCases: readonly DataPathCase[] = [
  interims('100 without having been asked for, 102 and 103', [100, 102, 103], CONTINUE, PROCESSING, hints('a.css')),
  interims('a code that nobody knows', [199], response('199 Odd', 'X-Odd: yes')),
  {
    name: 'interim: 103 is seen long before the final response',
    statuses: [103, 200],
    upstream: [takeRequest, send(hints('a.css')), noted(1), send(OK)],
    client: [send(request('GET /calls/1')), heads(1), note('client: has the hints'), finals(1)],
  },
];

/** Why the next request comes over another connection, which it does not without the sidecar. */
const EARLY_ENDS_UPSTREAM = 'nothing follows on an upstream connection whose answer was complete before its request';

/** A client that is answered after `first`, sends the rest of its content all the same, and another request. */
const goingOn = (first: string, rest: string): ClientScript => [
  ...[send(first), finals(1), send(rest), requestsCame(1)],
  ...[send(request('GET /calls/2')), finals(2)],
];

/** RFC 9112 §9.3: an upstream may answer before the request has come whole. */
const earlyAnswers: readonly DataPathCase[] = [
  {
    name: 'early answer: the rest of the content and another request follow',
    statuses: [413, 200],
    sidecarOnly: EARLY_ENDS_UPSTREAM,
    upstream: answeringPostsEarly(responseWith('too large', '413 Content Too Large'), 100),
    client: goingOn(request('POST /calls/1', 'Content-Length: 1000') + 'a'.repeat(100), 'b'.repeat(900)),
    verify: ({ requests, upstreamConnections }) => {
      expect(requests.map(({ body }) => body.length)).toEqual([1_000, 0]);
      expect(upstreamConnections).toBe(2);
    },
  },
  {
    name: 'early answer: to chunks, then the end of the connection',
    statuses: [401],
    upstream: [
      ...[takeHead, contentCame(3), send(responseWith('who?', '401 Unauthorized', 'Connection: close'))],
      finish,
    ],
    client: [send(`${request('POST /calls/1', 'Transfer-Encoding: chunked')}3\r\nabc\r\n`), untilEnded],
    verify: ({ responses }) => expect(responses[0]?.body).toBe('who?'),
  },
  {
    name: 'both ways at once: each piece of the content is answered before the next is sent',
    upstream: [
      ...[takeHead, send(response('200 OK', 'Transfer-Encoding: chunked'))],
      ...[1, 2, 3, 4, 5].flatMap((piece) => [contentCame(piece), send(`1\r\n${piece}\r\n`)]),
      send('0\r\n\r\n'),
    ],
    client: [
      ...[send(request('POST /calls/1', 'Transfer-Encoding: chunked')), heads(1)],
      ...[1, 2, 3, 4, 5].flatMap((piece) => [send(`1\r\n${piece}\r\n`), bodyCame(piece)]),
      ...[send('0\r\n\r\n'), finals(1), requestsCame(1)],
    ],
  },
];

/** RFC 9110 §10.1.1: a client that waits for 100 before it sends its content. */
const EXPECTING = request('POST /calls/1', 'Expect: 100-continue', 'Content-Length: 7');

/** Answers a head with 100 at once, before its content. */
const continuing = (nth = 1) => [takeHead, send(CONTINUE), requestsCame(nth), send(OK)];

export const continueInChunks: DataPathCase = {
  name: 'expect: accepted, in chunks',
  statuses: [100, 200],
  upstream: continuing(),
  client: [
    ...[send(request('POST /calls/1', 'Expect: 100-continue', 'Transfer-Encoding: chunked')), heads(1)],
    ...[send('7\r\ncontent\r\n0\r\nX-Sum: 1\r\n\r\n'), finals(1)],
  ],
};

const expectCases: readonly DataPathCase[] = [
  continueInChunks,
  {
    name: 'expect: accepted, and again on the same connection',
    statuses: [100, 200, 100, 200],
    upstream: [...continuing(), ...continuing(2)],
    client: [
      ...[send(EXPECTING), heads(1), send('content'), finals(1)],
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
    client: [send(EXPECTING), untilEnded],
    verify: ({ requests }) => expect(requests[0]?.body).toBe(''),
  },
];

export const interimAndEarlyCases: readonly DataPathCase[] = [...interimCases, ...earlyAnswers, ...expectCases];

// Where the sidecar itself has to answer, or to be better than the upstream: nothing to compare with, so each says what
// holds.

/** Without a beginning of an answer: test/system/faults/upstream-faults.test.ts. */
const noAnswer: DataPathCase = {
  name: 'no answer: the upstream leaves after an interim response',
  statuses: [103, 502],
  sidecarOnly: 'directly, the client gets no answer at all',
  upstream: [takeRequest, send(response('103 Early Hints', 'Link: </a>')), noted(1), reset],
  client: [send(request('GET /calls/1')), heads(1), note('client: has the hints'), finals(1)],
  verify: ({ responses }) => {
    const { fields = [], body = '' } = responses.at(-1) ?? {};
    expect(fields.join('\n')).toMatch(/^proxy-status: .*; *error=connection_terminated$/im);
    expect(JSON.parse(body)).toMatchObject({ status: 502 });
  },
};

function idle(name: string, how: typeof reset): DataPathCase {
  return {
    name: `idle upstream: closed by ${name} between requests, the client’s connection goes on`,
    statuses: [200, 200, 200],
    sidecarOnly: 'directly, the client’s own connection is closed',
    // Answers one request on each connection, then leaves as a server does after its keep-alive timeout.
    upstream: async (connection, run) => {
      await connection.request();
      await connection.send(OK);
      await noted(run.upstreamConnections.length)(connection);
      how(connection);
    },
    client: async (client, run) => {
      for (let count = 1; count <= 3; count += 1) {
        await client.send(request(`POST /calls/${count}`, 'Content-Length: 0'));
        await finals(count)(client);
        run.note(`client: has answer ${count}`);
        // The upstream's end is reached when the sidecar has ended its side, too.
        await upstreamEnded(client);
        // An RST is not answered by anything. A request that crosses it on its way is lost, so let it arrive first.
        await run.settle();
      }
    },
    verify: ({ requests, upstreamConnections, clientEnding }) => {
      expect([requests.length, upstreamConnections, clientEnding]).toEqual([3, 3, 'open']);
    },
  };
}

/** For a sidecar that appends. */
export const forwardedCase: DataPathCase = {
  name: 'X-Forwarded-For of an earlier proxy is appended to, once',
  sidecarOnly: 'only the sidecar adds it',
  upstream: answering(OK),
  client: asking(request('GET /calls/1', 'X-Forwarded-For: 192.0.2.1')),
  verify: ({ requests }) => {
    const values = requests[0]!.fields
      .filter((line) => /^x-forwarded-for:/i.test(line))
      .map((line) => line.slice(line.indexOf(':') + 1).trim());
    expect(values.join(', ')).toBe('192.0.2.1, 127.0.0.1');
  },
};

/** RFC 9112 §9.2: an answer to no request must not become the answer to the next one. */
const unasked: DataPathCase = {
  name: 'an answer that was not asked for does not answer the next request',
  statuses: [200, 200],
  sidecarOnly: 'directly, it is the client that has to be careful',
  upstream: async (connection, run) => {
    const isFirst = run.upstreamConnections.length === 1;
    await connection.request();
    await connection.send(isFirst ? responseWith('first', '200 OK') + responseWith('unasked', '200 OK') : OK);
    if (isFirst) await untilEnded(connection);
  },
  client: [send(request('GET /calls/1')), finals(1), upstreamEnded, send(request('GET /calls/2')), finals(2)],
  verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(['first', 'fine']),
};

export const sidecarOnlyCases: readonly DataPathCase[] = [noAnswer, idle('FIN', finish), idle('RST', reset), unasked];
