/** Where the sidecar itself has to answer, or to be better than the upstream: nothing to compare with, so each says what holds. */
import { expect } from 'vitest';
import type { ProxyErrorType } from '../../../../src/proxy/exchange/upstream-failure.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { answering, asking, OK, request, requestWith, response, responseWith, WEBSOCKET } from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import type { MessageSeen } from '../observation.ts';
import type { UpstreamScript } from '../scripted-upstream.ts';
import {
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
  upstreamEnded,
} from '../steps.ts';

const WHY_PROBLEM = 'directly, the client gets no answer at all';

/** RFC 9457 and RFC 9209 §2.3. */
export function expectProblem(answer: MessageSeen | undefined, status: number, error: ProxyErrorType): void {
  expect(answer?.startLine).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  const fields = (answer?.fields ?? []).join('\n');
  expect(fields).toMatch(/^content-type: *application\/problem\+json/im);
  expect(fields).toMatch(new RegExp(`^proxy-status: .*; *error=${error}`, 'im'));
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status });
}

function noAnswer(
  name: string,
  upstream: UpstreamScript,
  error: ProxyErrorType = 'connection_terminated',
  requestText = request('GET /calls/1'),
): DataPathCase {
  return {
    name: `no answer: ${name}`,
    statuses: [502],
    sidecarOnly: WHY_PROBLEM,
    upstream,
    client: [send(requestText), finals(1)],
    verify: ({ responses }) => expectProblem(responses[0], 502, error),
  };
}

/** Sends `text` at the first head and leaves. */
const leaving = (how: typeof reset, text = ''): UpstreamScript => [takeRequest, send(text), how];

const failures: readonly DataPathCase[] = [
  noAnswer('the upstream finishes before its answer', leaving(finish)),
  noAnswer('the upstream resets before its answer', leaving(reset)),
  noAnswer('the upstream finishes within the head of its answer', leaving(finish, 'HTTP/1.1 200 OK\r\nContent-Le')),
  noAnswer('the upstream does not speak HTTP', leaving(finish, 'SSH-2.0-OpenSSH_9.6\r\n\r\n'), 'http_protocol_error'),
  noAnswer(
    'the head of the answer is larger than the limit',
    leaving(finish, response('200 OK', `X-Large: ${'x'.repeat(70_000)}`)),
    'http_response_header_section_size',
  ),
  noAnswer('to a POST with content', leaving(reset), 'connection_terminated', requestWith('content', 'POST /calls/1')),
  {
    name: 'no answer: the upstream leaves after an interim response',
    statuses: [103, 502],
    sidecarOnly: WHY_PROBLEM,
    upstream: [takeRequest, send(response('103 Early Hints', 'Link: </a>')), noted(1), reset],
    client: [send(request('GET /calls/1')), heads(1), note('client: has the hints'), finals(1)],
    verify: ({ responses }) => expectProblem(responses[1], 502, 'connection_terminated'),
  },
  {
    name: 'no answer: the upstream leaves after 100',
    statuses: [100, 502],
    sidecarOnly: WHY_PROBLEM,
    upstream: [takeHead, send(response('100 Continue')), requestsCame(1), reset],
    client: [
      send(request('POST /calls/1', 'Expect: 100-continue', 'Content-Length: 7')),
      heads(1),
      send('content'),
      finals(1),
    ],
    verify: ({ responses }) => expectProblem(responses[1], 502, 'connection_terminated'),
  },
  noAnswer('to an upgrade', leaving(reset), 'connection_terminated', request('GET /live', ...WEBSOCKET)),
];

/** Answers one request on each connection, then leaves as a server does after its keep-alive timeout. */
const leavingWhenIdle =
  (how: typeof reset): UpstreamScript =>
  async (connection) => {
    await connection.request();
    await connection.send(OK);
    await connection.run.noted(connection.run.upstreamConnections.length);
    how(connection);
  };

function idle(name: string, how: typeof reset): DataPathCase {
  return {
    name: `idle upstream: ${name}`,
    statuses: [200, 200, 200],
    sidecarOnly: 'directly, the client’s own connection is closed',
    upstream: leavingWhenIdle(how),
    client: async (client, run) => {
      for (let count = 1; count <= 3; count += 1) {
        await client.send(request(`POST /calls/${count}`, 'Content-Length: 0'));
        await client.finals(count);
        run.note(`client: has answer ${count}`);
        // The upstream's end is reached when the sidecar has ended its side, too.
        await run.upstreamEnded();
        // An RST is not answered by anything. A request that crosses it on its way is lost, so let it arrive first: these are
        // turns of the one event loop that both ends share.
        await turns(10);
      }
    },
    verify: ({ requests, upstreamConnections, clientEnding }) => {
      expect(requests.length).toBe(3);
      expect(upstreamConnections).toBe(3);
      expect(clientEnding).toBe('open');
    },
  };
}

/** For a sidecar that appends. */
export const forwardedCase: DataPathCase = {
  name: 'X-Forwarded-For of an earlier proxy is appended to, once',
  statuses: [200],
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
  upstream: async (connection) => {
    if (connection.run.upstreamConnections.length > 1) {
      await connection.request();
      await connection.send(responseWith('second', '200 OK'));
      return;
    }
    await connection.request();
    await connection.send(responseWith('first', '200 OK') + responseWith('unasked', '200 OK'));
    await connection.ended();
  },
  client: [send(request('GET /calls/1')), finals(1), upstreamEnded, send(request('GET /calls/2')), finals(2)],
  verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(['first', 'second']),
};

export const sidecarOnlyCases: readonly DataPathCase[] = [
  ...failures,
  idle('closed by FIN between requests, the client’s connection goes on', finish),
  idle('closed by RST between requests, the client’s connection goes on', reset),
  unasked,
];
