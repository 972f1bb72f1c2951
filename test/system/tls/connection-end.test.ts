import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { describe, expect, it } from 'vitest';
import { resetConnection } from '../../../src/tls/connection-end.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { listening } from '../../support/net.ts';
import { pemOf } from '../../support/tls/certificates.ts';
import { useCertificates } from '../../support/tls/ends.ts';

const folder = useCertificates();

/** A socket that we dialled, to a peer that reads nothing. */
async function connect(isSecure: boolean): Promise<net.Socket> {
  const options = { allowHalfOpen: true, pauseOnConnect: !isSecure };
  const pem = isSecure ? pemOf(folder.authority()) : undefined;
  const server = pem ? tls.createServer({ ...options, ...pem }) : net.createServer(options);
  const to = { port: await listening(server), host: '127.0.0.1', allowHalfOpen: true };
  const accepted = once(server, isSecure ? 'secureConnection' : 'connection');
  const socket = isSecure ? tls.connect({ ...to, rejectUnauthorized: false }) : net.connect(to);
  socket.on('error', () => undefined);
  await once(socket, isSecure ? 'secureConnect' : 'connect');
  const [peer] = (await accepted) as [net.Socket];
  // Made by the reset.
  peer.on('error', () => undefined);
  untilTestEnds(() => {
    peer.destroy();
    server.close();
  });
  return socket;
}

describe.each([false, true])('reset of a connection (TLS: %s)', (isSecure) => {
  it.each([
    ['at once', (reset: () => void) => reset()],
    ['a tick later', process.nextTick],
    ['a turn later', setImmediate],
  ])('closes one whose end is just being sent: %s', async (_, when) => {
    const socket = await connect(isSecure);
    const closed = once(socket, 'close');
    socket.end('the last');
    when(() => resetConnection(socket));
    await closed;
    expect(socket.destroyed).toBe(true);
  });
});
