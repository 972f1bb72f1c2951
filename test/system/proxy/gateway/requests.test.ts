import { describe, expect, it } from 'vitest';
import { answeringAll, send, take } from '../../../support/wire/peer.ts';
import { GET, OK, type StandOptions, useStand } from './stand.ts';

const stand = useStand();
const answerAll = answeringAll(OK);

/** The head that came to the upstream for what the client sent. */
async function forwarded(text: string, options: StandOptions = {}): Promise<string> {
  const heads: string[] = [];
  await stand.start({
    ...options,
    upstream: async (upstream) => {
      heads.push(await upstream.head());
      upstream.send(OK);
    },
  });
  await stand.client(text).take('ok');
  return heads[0] as string;
}

const head = (...fields: readonly string[]) =>
  `GET /x HTTP/1.1\r\nHost: a:1\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
const SPOOFED = ['X-Forwarded-Proto: https', 'X-Forwarded-For: 9.9.9.9'];

// Data-path cases cover targets, methods, bodies and pipelines. These have exact bytes, which those do not compare.
describe('a request’s head', () => {
  it.each<[string, string, string]>([
    [
      // Guards: rawHeaders for http-proxy's merged fields, removeHeader for those that Node adds.
      'byte for byte, with duplicates, letter case and order; lines of one name have its first form',
      head('hOsT-x: b', 'X-One: 1', 'x-two: 2', 'X-Two: 3', 'Set-Cookie: a', 'X: \xe9', 'Age: 1', 'age: 2'),
      head('hOsT-x: b', 'X-One: 1', 'x-two: 2', 'x-two: 3', 'Set-Cookie: a', 'X: \xe9', 'Age: 1', 'Age: 2'),
    ],
    ...[head('Connection: keep-alive, X-Hop', 'Keep-Alive: 300', 'X-Hop: 1', 'TE: trailers', 'Expect: wonders')].map(
      (same): [string, string, string] => ['with Connection, Keep-Alive, TE and an unknown expectation', same, same],
    ),
    // Guard: Trailer removed where Node would throw.
    ['without the Trailer of a message without chunks', head('Trailer: X'), head()],
    ['without an Upgrade that Connection does not name', head('Upgrade: h2c', 'X: 1'), head('X: 1')],
  ])('reaches the upstream %s', async (_how, sent, expected) => {
    expect(await forwarded(sent)).toBe(expected);
  });

  it('gets the forwarding fields behind those of the client, or in their place', async () => {
    const own = ['X-Forwarded-For: 127.0.0.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Host: a:1'];
    const appended = head(...SPOOFED, ...own.filter((field) => !field.includes('Proto')));
    expect(await forwarded(head(...SPOOFED), { forwarded: 'append' })).toBe(appended);
    await stand.close();
    expect(await forwarded(head(...SPOOFED), { forwarded: 'replace' })).toBe(head(...own));
  });

  // Guard: Content-Length behind Content-Disposition; Node would re-encode the name's bytes.
  it('keeps the bytes of Content-Disposition', async () => {
    await stand.start();
    stand.client('POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Disposition: f="\xc3\xa9"\r\n\r\nx');
    expect((await stand.asked('\r\n\r\nx')).received).toContain('Content-Disposition: f="\xc3\xa9"\r\n');
  });
});

// Guard: requestTimeout 0; Node's own is 5 minutes, for head and body together.
it('a request’s body may take longer than the limit for heads', async () => {
  await stand.start({ upstream: [take('ab'), send(OK)], timeouts: { headMs: 40 } });
  const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na');
  await new Promise((resolve) => setTimeout(resolve, 150));
  client.send('b');
  expect(await client.take('ok')).toBe(OK);
});

describe('requests on one connection', () => {
  it('never share a connection to the upstream with another client’s', async () => {
    await stand.start({ upstream: answerAll });
    for (let i = 0; i < 3; i += 1) await stand.client(GET).take('ok');
    expect(stand.upstreams).toHaveLength(3);
  });

  it('reach the upstream one by one when they come at once', async () => {
    await stand.start({
      upstream: async (upstream) => {
        for (let count = 0; count < 3; count += 1) {
          await upstream.head();
          expect(upstream.received).toBe('');
          upstream.send(OK);
        }
      },
    });
    expect(await stand.client(GET.repeat(3)).take(/(?:ok.*){3}/s)).toBe(OK.repeat(3));
    expect(stand.upstreams).toHaveLength(1);
  });

  it('are refused beyond MAX_WAITING, after the answers to the others', async () => {
    await stand.start({ upstream: answerAll });
    const client = stand.client(GET.repeat(400));
    await client.ended();
    expect(client.received.split('200 OK')).toHaveLength(1 + 257);
    expect(client.received).toMatch(/HTTP\/1\.1 503 .*Connection: close\r\n\r\n\{.*\}$/s);
    expect(stand.gateway.overflowedConnections).toBe(1);
    expect(stand.reporter.open).toBe(0);
  });
});
