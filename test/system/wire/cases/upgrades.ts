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
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(SWITCHING);
      await connection.tunnelCame(10);
      await connection.write('\0\xffHTTP/1.1 200 OK\r\n\r\n');
      await connection.ended();
    },
    client: async (client, run) => {
      await client.send(UPGRADE);
      await client.heads(1);
      await client.send('\0\xffGET / \r\n');
      await client.tunnelCame(21);
      client.halfClose();
      await client.ended();
      await run.upstreamEnded();
    },
    verify: isUpgrade,
  },
  {
    name: 'upgrade: the upstream’s first octets come together with the 101',
    statuses: [101],
    isIrregular: true,
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(`${SWITCHING}welcome`);
      await connection.ended();
    },
    client: async (client) => {
      await client.send(UPGRADE);
      await client.tunnelCame(7);
    },
    verify: isUpgrade,
  },
  {
    name: 'upgrade: the client’s first octets come right after the request',
    statuses: [101],
    isIrregular: true,
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(SWITCHING);
      await connection.tunnelCame(9);
      await connection.write('seen');
      await connection.ended();
    },
    client: async (client) => {
      await client.send(`${UPGRADE}impatient`);
      await client.tunnelCame(4);
    },
    verify: isUpgrade,
  },
  {
    name: 'upgrade: a client that finishes sending still receives',
    statuses: [101],
    isIrregular: true,
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(SWITCHING);
      await connection.ended();
      await connection.write('the rest');
    },
    client: async (client) => {
      await client.send(UPGRADE);
      await client.heads(1);
      await client.send('all');
      client.halfClose();
      await client.tunnelCame(8);
      await client.ended();
    },
  },
  {
    name: 'upgrade: an upstream that ends the tunnel ends the client’s side',
    statuses: [101],
    isIrregular: true,
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(`${SWITCHING}bye`);
      connection.end();
    },
    client: async (client) => {
      await client.send(UPGRADE);
      await client.ended();
    },
    verify: ({ clientTunnel }) => expect(clientTunnel).toBe('bye'),
  },
  {
    name: 'upgrade: 1 MiB each way at once',
    statuses: [101],
    isIrregular: true,
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(SWITCHING);
      await connection.write(NOISE);
      await connection.tunnelCame(NOISE.length);
    },
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
    upstream: async (connection) => {
      await connection.request();
      connection.acceptUpgrade();
      await connection.write(SWITCHING);
      await connection.ended();
    },
    client: async (client, run) => {
      await client.send(UPGRADE);
      await client.heads(1);
      client.reset();
      await run.upstreamEnded();
    },
  },
  {
    name: 'upgrade: a client that resets before the answer ends the upstream’s side',
    statuses: [],
    isIrregular: true,
    upstream: async (connection) => {
      await connection.request();
      await connection.ended();
    },
    client: async (client, run) => {
      await client.send(UPGRADE);
      await run.requestsCame(1);
      client.reset();
      await run.upstreamEnded();
    },
  },
];

/** Answers without switching, and goes on reading requests. */
const declining =
  (...answers: readonly string[]): UpstreamScript =>
  async (connection) => {
    for (const answer of answers) {
      if ((await connection.request()) === undefined) return;
      connection.declineUpgrade();
      await connection.write(answer);
      if (/connection: close/i.test(answer)) connection.end();
    }
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
    client: async (client) => {
      await client.send(UPGRADE);
      await client.ended();
    },
  }),
  refused('ignored with a 200', OK),
  refused('503 until close', `${response('503 Service Unavailable', 'Connection: close')}later`, {
    client: async (client) => {
      await client.send(UPGRADE);
      await client.ended();
    },
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
