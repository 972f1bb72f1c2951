import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { SampleWebSocket } from '../../../src/demo/web-socket.ts';
import { listening } from '../../support/net.ts';

/** Of the real `ws`. */
let client: WebSocket;
let server: SampleWebSocket;
let closed: Promise<void>;
const http = createServer();
const texts: string[] = [];

beforeEach(async () => {
  texts.length = 0;
  closed = new Promise((resolve) => {
    http.once('upgrade', (request, socket, head) => {
      server = new SampleWebSocket(request, socket, head, { onText: (text) => texts.push(text), onClose: resolve });
    });
  });
  client = new WebSocket(`ws://127.0.0.1:${await listening(http)}/`, { perMessageDeflate: false });
  client.on('error', () => undefined);
  await once(client, 'open');
});

afterEach(async () => {
  client.terminate();
  http.close();
  await once(http, 'close');
});

it.each([0, 1, 125, 126, 65_535])('passes texts of %i bytes in both directions', async (length) => {
  const text = `${length < 2 ? '' : 'ň'}${'x'.repeat(length < 2 ? length : length - 2)}`;
  client.send(text);
  client.ping('p');
  await once(client, 'pong');
  expect(texts).toEqual([text]);
  server.send(text);
  const [bytes] = (await once(client, 'message')) as [Buffer];
  expect(bytes.toString('utf8')).toBe(text);
});

it('answers the close, and ignores texts to a client that has left', async () => {
  client.close(4000, 'enough');
  const [code] = (await once(client, 'close')) as [number];
  expect(code).toBe(4000);
  await closed;
  server.send('late');
});

it.each([
  ['a text of more than 64 KiB', () => client.send('x'.repeat(65_536))],
  ['fragments', () => client.send('x', { fin: false })],
  ['a frame without a mask', () => client.send('x', { mask: false })],
])('ends at %s', async (_what, act) => {
  act();
  const [code] = (await once(client, 'close')) as [number];
  expect(code).toBe(1006);
  expect(texts).toEqual([]);
  await closed;
});
