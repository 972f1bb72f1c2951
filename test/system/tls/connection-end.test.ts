import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resetConnection } from '../../../src/tls/connection-end.ts';
import { listening } from '../../support/net.ts';

let server: net.Server;
let peer: net.Socket;
let socket: net.Socket;

beforeEach(async () => {
  server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true });
  const port = await listening(server);
  const accepted = once(server, 'connection');
  socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  [peer] = (await accepted) as [net.Socket];
});

afterEach(() => {
  peer.destroy();
  server.close();
});

describe('reset of a connection', () => {
  it('does not wait for unread data', async () => {
    socket.end(Buffer.alloc(16 * 1024 * 1024));
    const closed = once(socket, 'close');
    resetConnection(socket);
    await closed;
    expect(socket.writableFinished).toBe(false);
  });

  it.each([
    ['at once', (reset: () => void) => reset()],
    ['a tick later', process.nextTick],
    ['a turn later', setImmediate],
  ])('closes one whose end is just being sent: %s', async (_, when) => {
    const closed = once(socket, 'close');
    socket.end('the last');
    when(() => resetConnection(socket));
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});
