import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { reset } from '../../chaos/wire/reset.ts';
import type { Attacker } from '../attacker/attacker.ts';
import { ATTACKER_ADDRESS } from '../plant.ts';
import type { Flood } from './flood.ts';

/** The first message of a TLS client, which is cheap to repeat. */
async function recordClientHello(): Promise<Buffer> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = tls.connect({ port: (server.address() as net.AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return hello;
}

async function sendHellos(attacker: Attacker): Promise<void> {
  const hello = await recordClientHello();
  await attacker.repeat(20, async () => {
    const socket = await attacker.connect();
    if (socket === undefined || !(await attacker.write(socket, hello))) return false;
    const isAnswered = await new Promise<boolean>((resolve) => {
      socket.once('data', () => resolve(true)).once('close', () => resolve(false));
    });
    reset(socket);
    return isAnswered;
  });
}

/** TLS 1.2 has renegotiation; each refused one ends the connection, and the next attempt opens another. */
async function renegotiate(attacker: Attacker): Promise<void> {
  await attacker.repeat(attacker.count(20, 10), async () => {
    const raw = await attacker.connect({ from: ATTACKER_ADDRESS });
    if (raw === undefined) return false;
    const socket = tls.connect({ socket: raw, rejectUnauthorized: false, maxVersion: 'TLSv1.2' });
    const ended = new Promise<void>((resolve) => {
      // A refused renegotiation is an error here.
      socket.on('error', () => resolve()).on('close', () => resolve());
      raw.once('close', () => resolve());
    });
    const again = (): void => {
      if (attacker.isOn) socket.renegotiate({ rejectUnauthorized: false }, (cause) => (cause ? undefined : again()));
    };
    socket.once('secureConnect', again);
    await ended;
    socket.destroy();
    return true;
  });
}

export const TLS: readonly Flood[] = [
  {
    name: 'tls-hellos',
    what: 'TLS clients that send the first message of a handshake and leave; 20 at a time',
    setting: 'tls',
    attack: sendHellos,
  },
  {
    name: 'tls-renegotiation',
    what: 'TLS 1.2 clients that ask for a new handshake as often as they can; 20 at a time',
    setting: 'tls',
    attack: renegotiate,
  },
];
