import { describe, expect, it } from 'vitest';
import { GET, useStand } from '../stand.ts';

const stand = useStand();

describe('a client that leaves', () => {
  it('in the middle of its request ends the upstream’s side and its exchange', async () => {
    await stand.start();
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    const upstream = await stand.asked('12345');
    client.finish();
    await upstream.ended();
    expect(await stand.endings(1)).toEqual(['cancelled']);
  });
});

it('destroying ends every connection and exchange at once', async () => {
  await stand.start();
  const clients = [stand.client(), stand.client(GET)];
  const upstream = await stand.asked();
  stand.dispatcher.destroy();
  await Promise.all([...clients, upstream].map((peer) => peer.ended()));
  await stand.allClosed();
  expect(stand.reporter.open).toBe(0);
});
