/** Where the sidecar itself has to answer, or to be better than the upstream: nothing to compare with, so each says what holds. */
import { expect } from 'vitest';
import { turns } from '../../../support/wire/split-writer.ts';
import { answering, asking, OK, request, requestWith, response, responseWith } from '../compose.ts';
import type { DataPathCase } from '../run-case.ts';
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
  untilEnded,
  upstreamEnded,
} from '../steps.ts';

/** The upstream leaves after a beginning of an exchange. Without one: test/system/faults/upstream-faults.test.ts. */
function noAnswer(
  name: string,
  interim: readonly number[],
  upstream: UpstreamScript,
  client: DataPathCase['client'],
): DataPathCase {
  return {
    name: `no answer: ${name}`,
    statuses: [...interim, 502],
    sidecarOnly: 'directly, the client gets no answer at all',
    upstream,
    client,
    verify: ({ responses }) => {
      const { fields = [], body = '' } = responses.at(-1) ?? {};
      expect(fields.join('\n')).toMatch(/^proxy-status: .*; *error=connection_terminated$/im);
      expect(JSON.parse(body)).toMatchObject({ status: 502 });
    },
  };
}

const HINTS = response('103 Early Hints', 'Link: </a>');
const EXPECTING = request('POST /calls/1', 'Expect: 100-continue', 'Content-Length: 7');

const failures: readonly DataPathCase[] = [
  noAnswer('to a POST with content', [], [takeRequest, reset], [send(requestWith('content', 'POST /a')), finals(1)]),
  noAnswer(
    'the upstream leaves after an interim response',
    [103],
    [takeRequest, send(HINTS), noted(1), reset],
    [send(request('GET /calls/1')), heads(1), note('client: has the hints'), finals(1)],
  ),
  noAnswer(
    'the upstream leaves after 100',
    [100],
    [takeHead, send(response('100 Continue')), requestsCame(1), reset],
    [send(EXPECTING), heads(1), send('content'), finals(1)],
  ),
];

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
        // An RST is not answered by anything. A request that crosses it on its way is lost, so let it arrive first: these are
        // turns of the one event loop that both ends share.
        await turns(10);
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
  upstream: async (connection, run) => {
    const isFirst = run.upstreamConnections.length === 1;
    await connection.request();
    await connection.send(isFirst ? responseWith('first', '200 OK') + responseWith('unasked', '200 OK') : OK);
    if (isFirst) await untilEnded(connection);
  },
  client: [send(request('GET /calls/1')), finals(1), upstreamEnded, send(request('GET /calls/2')), finals(2)],
  verify: ({ responses }) => expect(responses.map(({ body }) => body)).toEqual(['first', 'fine']),
};

export const sidecarOnlyCases: readonly DataPathCase[] = [
  ...failures,
  idle('FIN', finish),
  idle('RST', reset),
  unasked,
];
