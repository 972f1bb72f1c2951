import { expect } from 'vitest';
import {
  answering,
  asking,
  NOISE,
  OK,
  request,
  requestWith,
  response,
  responseInChunks,
  responseWith,
  SWITCHING,
  WEBSOCKET,
} from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import type { Observation } from '../observation.ts';
import type { UpstreamScript } from '../scripted-upstream.ts';
import {
  acceptUpgrade,
  finish,
  heads,
  requestsCame,
  reset,
  send,
  takeRequest,
  tunnelCame,
  untilEnded,
  upstreamEnded,
} from '../steps.ts';

const UPGRADE = request('GET /live?a=//b', ...WEBSOCKET, 'X-Twice: a', 'X-Twice: b');

/** Connection is of one hop and so not compared; but an upgrade without it is none (RFC 9110 §7.8). */
function isUpgrade({ requests, responses }: Observation): void {
  for (const message of [requests[0], responses[0]]) {
    expect(message?.fields.some((line) => /^connection:.*\bupgrade\b/i.test(line))).toBe(true);
  }
}

const accepted: readonly DataPathCase[] = [
  {
    name: 'upgrade: accepted, then octets of any kind both ways',
    statuses: [101],
    isIrregular: true,
    upstream: [
      takeRequest,
      acceptUpgrade,
      send(SWITCHING),
      tunnelCame(10),
      send('\0\xffHTTP/1.1 200 OK\r\n\r\n'),
      untilEnded,
    ],
    client: [send(UPGRADE), heads(1), send('\0\xffGET / \r\n'), tunnelCame(21), finish, untilEnded, upstreamEnded],
    verify: isUpgrade,
  },
  {
    name: 'upgrade: the upstream’s first octets come together with the 101',
    statuses: [101],
    isIrregular: true,
    upstream: [takeRequest, acceptUpgrade, send(`${SWITCHING}welcome`), untilEnded],
    client: [send(UPGRADE), tunnelCame(7)],
    verify: isUpgrade,
  },
  {
    name: 'upgrade: the client’s first octets come right after the request',
    statuses: [101],
    isIrregular: true,
    upstream: [takeRequest, acceptUpgrade, send(SWITCHING), tunnelCame(9), send('seen'), untilEnded],
    client: [send(`${UPGRADE}impatient`), tunnelCame(4)],
    verify: isUpgrade,
  },
  {
    name: 'upgrade: a client that finishes sending still receives',
    statuses: [101],
    isIrregular: true,
    upstream: [takeRequest, acceptUpgrade, send(SWITCHING), untilEnded, send('the rest')],
    client: [send(UPGRADE), heads(1), send('all'), finish, tunnelCame(8), untilEnded],
  },
  {
    name: 'upgrade: an upstream that ends the tunnel ends the client’s side',
    statuses: [101],
    isIrregular: true,
    upstream: [takeRequest, acceptUpgrade, send(`${SWITCHING}bye`), finish],
    client: [send(UPGRADE), untilEnded],
    verify: ({ clientTunnel }) => expect(clientTunnel).toBe('bye'),
  },
  {
    name: 'upgrade: 1 MiB each way at once',
    statuses: [101],
    isIrregular: true,
    upstream: [takeRequest, acceptUpgrade, send(SWITCHING), send(NOISE), tunnelCame(NOISE.length)],
    client: async (client, run) => {
      await client.send(UPGRADE);
      await client.heads(1);
      await client.send(NOISE);
      await client.tunnelCame(NOISE.length);
      await run.changed.until(() => run.upstreamConnections[0]?.tunnel.length === NOISE.length);
    },
    verify: ({ clientTunnel, upstreamTunnel }) => expect(clientTunnel === upstreamTunnel).toBe(true),
  },
  {
    name: 'upgrade: a client that resets the tunnel ends the upstream’s side',
    statuses: [101],
    isIrregular: true,
    upstream: [takeRequest, acceptUpgrade, send(SWITCHING), untilEnded],
    client: [send(UPGRADE), heads(1), reset, upstreamEnded],
  },
  {
    name: 'upgrade: a client that resets before the answer ends the upstream’s side',
    statuses: [],
    isIrregular: true,
    upstream: [takeRequest, untilEnded],
    client: [send(UPGRADE), requestsCame(1), reset, upstreamEnded],
  },
];

/** Answers without switching, and goes on reading requests. */
const declining =
  (answer: string): UpstreamScript =>
  async (connection) => {
    await connection.request();
    connection.declineUpgrade();
    await connection.send(answer);
    if (/connection: close/i.test(answer)) connection.finish();
    await connection.ended();
  };

function refused(name: string, answer: string, more: Partial<DataPathCase> = {}): DataPathCase {
  return {
    name: `upgrade refused: ${name}`,
    statuses: [Number(answer.slice(9, 12))],
    isIrregular: true,
    upstream: declining(answer),
    client: asking(UPGRADE),
    ...more,
  };
}

const refusedCases: readonly DataPathCase[] = [
  refused('401 with a length', responseWith('who?', '401 Unauthorized', 'WWW-Authenticate: Basic realm="d2"')),
  refused('404 in chunks', responseInChunks('4\r\nnone\r\n0\r\n\r\n', '404 Not Found')),
  refused(
    '426 without content',
    response(
      '426 Upgrade Required',
      'Upgrade: websocket',
      'Connection: Upgrade',
      'Sec-WebSocket-Version: 12',
      'Content-Length: 0',
    ),
  ),
  refused('403 and the end of the connection', responseWith('no', '403 Forbidden', 'Connection: close'), {
    client: [send(UPGRADE), untilEnded],
  }),
  refused('ignored with a 200', OK),
  refused('503 until close', `${response('503 Service Unavailable', 'Connection: close')}later`, {
    client: [send(UPGRADE), untilEnded],
    verify: ({ responses }) => expect(responses[0]).toMatchObject({ body: 'later', isComplete: true }),
  }),
];

/** What the HTTP client of the JDK sends with its first request on each plain connection. */
const H2C = ['Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAAP__', 'Upgrade: h2c'] as const;
const WHY_H2C = 'the sidecar does not pass an upgrade to HTTP/2 on: it could not read what follows';

function withoutH2c({ requests }: Observation): void {
  const names = requests.flatMap(({ fields }) => fields.map((line) => line.split(':', 1)[0]!.toLowerCase()));
  expect(names).not.toContain('upgrade');
  expect(names).not.toContain('http2-settings');
  for (const { fields } of requests) expect(fields.join('\n')).not.toMatch(/^connection:.*(upgrade|http2-settings)/im);
}

/** RFC 9110 §7.8: Upgrade is of one hop, and a server may ignore it. */
const h2cCases: readonly DataPathCase[] = [
  {
    name: 'h2c: a GET that offers HTTP/2 is served as HTTP/1.1, and the next one, too',
    statuses: [200, 200],
    sidecarOnly: WHY_H2C,
    upstream: answering(),
    client: asking(request('GET /calls/1', ...H2C, 'User-Agent: Java-http-client/21'), request('GET /calls/2')),
    verify: (seen) => {
      withoutH2c(seen);
      expect(seen.requests.map(({ startLine }) => startLine)).toEqual([
        'GET /calls/1 HTTP/1.1',
        'GET /calls/2 HTTP/1.1',
      ]);
      expect(seen.requests[0]?.fields).toContain('User-Agent: Java-http-client/21');
    },
  },
  {
    name: 'h2c: a POST that offers HTTP/2 keeps its content',
    statuses: [200],
    sidecarOnly: WHY_H2C,
    upstream: answering(),
    client: asking(requestWith('{"a":1}', 'POST /calls/1', ...H2C, 'Content-Type: application/json')),
    verify: (seen) => {
      withoutH2c(seen);
      expect(seen.requests[0]).toMatchObject({
        startLine: 'POST /calls/1 HTTP/1.1',
        body: '{"a":1}',
        isComplete: true,
      });
    },
  },
  {
    name: 'h2c: a POST in chunks that offers HTTP/2 keeps its content',
    statuses: [200],
    sidecarOnly: WHY_H2C,
    upstream: answering(),
    client: asking(`${request('POST /calls/1', ...H2C, 'Transfer-Encoding: chunked')}3\r\nabc\r\n0\r\n\r\n`),
    verify: (seen) => {
      withoutH2c(seen);
      expect(seen.requests[0]).toMatchObject({ body: 'abc', isComplete: true });
    },
  },
  {
    name: 'h2c: offered in the middle of a connection',
    statuses: [200, 200, 200],
    sidecarOnly: WHY_H2C,
    upstream: answering(),
    client: asking(request('GET /calls/1'), request('GET /calls/2', ...H2C), request('GET /calls/3')),
    verify: (seen) => {
      withoutH2c(seen);
      expect(seen.requests.length).toBe(3);
    },
  },
];

const otherProtocols: readonly DataPathCase[] = [
  {
    name: 'another protocol: an upgrade to what is not WebSocket is ignored, and the request served',
    statuses: [200, 200],
    sidecarOnly: 'the sidecar passes upgrades to WebSocket on, and no others',
    upstream: answering(),
    client: asking(request('GET /a', 'Connection: keep-alive, Upgrade', 'Upgrade: chat/1, chat/2'), request('GET /b')),
    verify: withoutH2c,
  },
];

export const upgradeCases: readonly DataPathCase[] = [...accepted, ...refusedCases, ...h2cCases, ...otherProtocols];
