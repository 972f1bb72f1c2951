import { describe, expect, it } from 'vitest';
import { finish, takeHead } from '../../../support/wire/peer.ts';
import { GET, useStand } from '../stand.ts';

const stand = useStand();

describe('an answer', () => {
  // Guard: the lingering close; bytes that nobody has read would turn the end into a reset.
  it.each([
    ['says that it is the last one', 'Content-Length: 2\r\nConnection: close', ''],
    ['is ended by the end of its connection', 'X: y', ''],
    ['was asked for as the last one', 'Content-Length: 2', 'Connection: close\r\n'],
  ])('that %s may come early: a client that is still sending is not reset', async (_, framing, field) => {
    await stand.start({ upstream: [takeHead, finish(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\nok`)] });
    const client = stand.client(`POST / HTTP/1.1\r\nHost: a\r\n${field}Content-Length: 8000000\r\n\r\n`);
    client.send('x'.repeat(2_000_000));
    await client.ended();
    client.send('x'.repeat(6_000_000));
    client.finish();
    await client.closed();
    expect(client.received).toMatch(/\r\n\r\nok$/);
    expect(client.wasReset).toBe(false);
  });

  it('may come early: the rest of its request is still passed on, and the next one goes over a new connection', async () => {
    const body = 'x'.repeat(8_000_000);
    await stand.start({
      upstream: async (upstream) => {
        if ((await upstream.head()).startsWith('GET')) {
          upstream.send('HTTP/1.1 204 No Content\r\n\r\n');
          return;
        }
        // Nothing more is read until the client has its answer: by then the request has to wait.
        upstream.socket.pause();
        upstream.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      },
    });
    const client = stand.client(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}${GET}`);
    await client.take('\r\n\r\nok');
    const [upstream] = stand.upstreams;
    upstream?.socket.resume();
    expect(await client.head()).toContain('204 No Content');
    expect((await upstream?.take(body))?.length).toBe(body.length);
    await upstream?.ended();
    expect(stand.upstreams).toHaveLength(2);
  });
});

it('a client that leaves in the middle of its request ends the upstream’s side and its exchange', async () => {
  await stand.start();
  const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
  const upstream = await stand.asked('12345');
  client.finish();
  await upstream.ended();
  expect(await stand.endings(1)).toEqual(['cancelled']);
});

it('destroying ends every connection and exchange at once', async () => {
  await stand.start();
  const clients = [stand.client(), stand.client(GET)];
  const upstream = await stand.asked();
  stand.sidecar.dispatcher.destroy();
  await Promise.all([...clients, upstream].map((peer) => peer.ended()));
  await stand.allClosed();
  expect(stand.sidecar.reporter.open).toBe(0);
});
