import { expect } from 'vitest';
import {
  answering,
  asking,
  NOISE,
  OK,
  request,
  requestInChunks,
  response,
  responseWith,
  SWITCHING,
  WEBSOCKET,
} from '../compose.ts';
import type { UpstreamConnection } from '../ends.ts';
import type { Observation } from '../observation.ts';
import type { ClientScript, DataPathCase } from '../run-case.ts';
import {
  acceptUpgrade,
  declineUpgrade,
  finish,
  heads,
  reset,
  type Step,
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

function accepted(name: string, steps: readonly Step<UpstreamConnection>[], client: ClientScript): DataPathCase {
  const upstream = [takeRequest, acceptUpgrade, ...steps];
  return { name: `upgrade: ${name}`, statuses: [101], isIrregular: true, upstream, client, verify: isUpgrade };
}

const acceptedCases: readonly DataPathCase[] = [
  accepted(
    'accepted, then octets of any kind both ways',
    [send(SWITCHING), tunnelCame(10), send('\0\xffHTTP/1.1 200 OK\r\n\r\n'), untilEnded],
    [send(UPGRADE), heads(1), send('\0\xffGET / \r\n'), tunnelCame(21), finish, untilEnded, upstreamEnded],
  ),
  accepted(
    'the upstream’s first octets come together with the 101',
    [send(`${SWITCHING}welcome`), untilEnded],
    [send(UPGRADE), tunnelCame(7)],
  ),
  accepted(
    'the client’s first octets come right after the request',
    [send(SWITCHING), tunnelCame(9), send('seen'), untilEnded],
    [send(`${UPGRADE}impatient`), tunnelCame(4)],
  ),
  accepted(
    'a client that finishes sending still receives',
    [send(SWITCHING), untilEnded, send('the rest')],
    [send(UPGRADE), heads(1), send('all'), finish, tunnelCame(8), untilEnded],
  ),
  {
    ...accepted(
      'an upstream that ends the tunnel ends the client’s side',
      [send(`${SWITCHING}bye`), finish],
      [send(UPGRADE), untilEnded],
    ),
    verify: ({ clientTunnel }) => expect(clientTunnel).toBe('bye'),
  },
  {
    ...accepted(
      '1 MiB each way at once',
      [send(SWITCHING), send(NOISE), tunnelCame(NOISE.length)],
      async (client, run) => {
        for (const step of [send(UPGRADE), heads(1), send(NOISE), tunnelCame(NOISE.length)]) await step(client);
        await run.until(() => run.upstreamConnections[0]?.tunnel.length === NOISE.length);
      },
    ),
    verify: ({ clientTunnel, upstreamTunnel }) => expect(clientTunnel === upstreamTunnel).toBe(true),
  },
  accepted(
    'a client that resets the tunnel ends the upstream’s side',
    [send(SWITCHING), untilEnded],
    [send(UPGRADE), heads(1), reset, upstreamEnded],
  ),
];

/** An upstream that answers without switching, and goes on reading requests or closes as it says. */
function refused(name: string, answer: string, more: Partial<DataPathCase> = {}): DataPathCase {
  const isLast = /connection: close/i.test(answer);
  return {
    name: `upgrade refused: ${name}`,
    statuses: [Number(answer.slice(9, 12))],
    isIrregular: true,
    upstream: [takeRequest, declineUpgrade, send(answer), ...(isLast ? [finish] : []), untilEnded],
    client: isLast ? [send(UPGRADE), untilEnded] : asking(UPGRADE),
    ...more,
  };
}

const refusedCases: readonly DataPathCase[] = [
  refused('403 and the end of the connection', responseWith('no', '403 Forbidden', 'Connection: close')),
  refused('ignored with a 200', OK),
  refused('503 until close', `${response('503 Service Unavailable', 'Connection: close')}later`, {
    verify: ({ responses }) => expect(responses[0]).toMatchObject({ body: 'later', isComplete: true }),
  }),
];

/** What the HTTP client of the JDK sends with its first request on each plain connection. */
const H2C = ['Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAAP__', 'Upgrade: h2c'] as const;
const WHY_H2C = 'the sidecar does not pass an upgrade to HTTP/2 on: it could not read what follows';

function withoutUpgrade({ requests }: Observation): void {
  const names = requests.flatMap(({ fields }) => fields.map((line) => line.split(':', 1)[0]!.toLowerCase()));
  expect(names).not.toContain('upgrade');
  expect(names).not.toContain('http2-settings');
  for (const { fields } of requests) expect(fields.join('\n')).not.toMatch(/^connection:.*(upgrade|http2-settings)/im);
}

/** RFC 9110 §7.8: Upgrade is of one hop, and a server may ignore it. */
const otherProtocols: readonly DataPathCase[] = [
  {
    name: 'h2c: a GET that offers HTTP/2 is served as HTTP/1.1, and the next one, too',
    statuses: [200, 200],
    sidecarOnly: WHY_H2C,
    upstream: answering(),
    client: asking(request('GET /calls/1', ...H2C, 'User-Agent: Java-http-client/21'), request('GET /calls/2')),
    verify: (seen) => {
      withoutUpgrade(seen);
      expect(seen.requests[0]?.fields).toContain('User-Agent: Java-http-client/21');
    },
  },
  {
    name: 'h2c: a POST in chunks that offers HTTP/2 keeps its content',
    sidecarOnly: WHY_H2C,
    upstream: answering(),
    client: asking(requestInChunks('3\r\nabc\r\n0\r\n\r\n', 'POST /calls/1', ...H2C)),
    verify: (seen) => {
      withoutUpgrade(seen);
      expect(seen.requests[0]).toMatchObject({ startLine: 'POST /calls/1 HTTP/1.1', body: 'abc', isComplete: true });
    },
  },
  {
    name: 'another protocol: an upgrade to what is not WebSocket is ignored, and the request served',
    statuses: [200, 200],
    sidecarOnly: 'the sidecar passes upgrades to WebSocket on, and no others',
    upstream: answering(),
    client: asking(request('GET /a', 'Connection: keep-alive, Upgrade', 'Upgrade: chat/1, chat/2'), request('GET /b')),
    verify: withoutUpgrade,
  },
];

export const upgradeCases: readonly DataPathCase[] = [...acceptedCases, ...refusedCases, ...otherProtocols];
