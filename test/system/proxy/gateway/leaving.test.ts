import { describe, expect, it } from 'vitest';
import { answeringAll, send, take, takeHead } from '../../../support/wire/peer.ts';
import { GET, OK, useStand } from './stand.ts';

const stand = useStand();

// Data-path cases cover clients that reset or half-close. See ../draining.test.ts for both data paths.
describe('a client that leaves', () => {
  it('in the middle of its request ends the upstream’s side and its exchange', async () => {
    await stand.start();
    const client = stand.client('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345');
    const upstream = await stand.asked('12345');
    client.finish();
    await upstream.ended();
    expect(await stand.endings(1)).toEqual(['cancelled']);
  });

  it('with requests waiting ends them all', async () => {
    await stand.start();
    const client = stand.client(GET.repeat(5));
    await stand.asked();
    client.reset();
    expect(await stand.endings(5)).toEqual(Array(5).fill('cancelled'));
  });
});

describe('draining', () => {
  it('writes Connection: close in place of the upstream’s, beside the fields that it names', async () => {
    const answer = OK.replace('Content', 'Connection: keep-alive, X-Hop\r\nKeep-Alive: timeout=9\r\nContent');
    await stand.start({ upstream: answeringAll(answer) });
    stand.gateway.drain();
    const client = stand.client(GET);
    expect(await client.head()).toBe('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close, x-hop\r\n\r\n');
    await client.ended();
  });

  it('serves no request after an answer with Connection: close', async () => {
    const half = send('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nok');
    await stand.start({ upstream: [takeHead, half, take('GO'), send('ok')] });
    stand.gateway.drain();
    const client = stand.client(GET);
    await client.take('ok');
    client.send(GET);
    await expect.poll(() => stand.reporter.open).toBe(2);
    stand.upstreams[0]?.socket.emit('data', Buffer.from('GO'));
    await client.take('ok');
    await client.ended();
    expect([client.received, stand.upstreams[0]?.received]).toEqual(['', '']);
  });
});

it('destroying ends every connection and exchange at once, and takes no more', async () => {
  await stand.start();
  const clients = [stand.client(), stand.client(GET)];
  const upstream = await stand.asked();
  stand.gateway.destroy();
  await Promise.all([...clients, upstream].map((peer) => peer.ended()));
  await stand.allClosed();
  expect(stand.reporter.open).toBe(0);
  const late = stand.client(GET);
  await late.ended();
  expect(late.received).toBe('');
});
