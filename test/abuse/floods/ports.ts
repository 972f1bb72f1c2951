import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { toHead } from '../../support/load/heads.ts';
import { next, reset } from '../../support/load/sockets.ts';
import { listening } from '../../support/net.ts';
import { toBasic } from '../plant.ts';
import type { Floods } from './flood.ts';

const WRONG_PASSWORDS_EACH = 4;
const REOPEN_AFTER_MS = 1_000;

export const MONITORING_PORT: Floods = {
  'monitor-idle': {
    what: '1,000 idle connections of one address to the monitoring port; one that is closed is opened again after a second',
    setting: 'monitor',
    // Verifying a password takes 0.3 s of a processor, shared with accepting and closing a thousand connections.
    monitorWaitMs: 500,
    attack: (attacker) =>
      attacker.repeat(1_000, async () => {
        const socket = await attacker.connect({ port: attacker.target.monitorPort });
        if (socket === undefined) return false;
        await new Promise((resolve) => socket.resume().once('close', resolve));
        await attacker.pause(REOPEN_AFTER_MS);
        return true;
      }),
  },
  'monitor-passwords': {
    what: '540 wrong passwords at the monitoring port, four from each of 135 addresses',
    setting: 'monitor',
    // At most three verifications are queued before a valid one, and each takes about half a second.
    monitorWaitMs: 1_500,
    attack: async (attacker) => {
      const addresses = Array.from({ length: attacker.count(135, 50) }, (_, i) => `127.0.1.${i + 1}`);
      const tryAll = async (from: string) => {
        for (let i = 0; i < WRONG_PASSWORDS_EACH; i += 1) {
          const socket = await attacker.connect({ from, port: attacker.target.monitorPort });
          if (socket === undefined) return;
          const fields = { Authorization: toBasic('reader0', `wrong ${from} ${i}`), Connection: 'close' };
          await attacker.write(socket.resume(), toHead('GET /metrics', fields));
        }
      };
      await Promise.all(addresses.map(tryAll));
      await attacker.untilEnd();
    },
  },
};

/** The first message of a TLS client, which is cheap to repeat. */
async function recordClientHello(): Promise<Buffer> {
  const server = net.createServer();
  const client = tls.connect({ port: await listening(server), host: '127.0.0.1' });
  client.on('error', () => {});
  const [socket] = (await once(server, 'connection')) as [net.Socket];
  const [hello] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  client.destroy();
  server.close();
  return hello;
}

export const TLS: Floods = {
  'tls-hellos': {
    what: 'TLS clients that send the first message of a handshake and leave; 20 at a time',
    setting: 'tls',
    attack: async (attacker) => {
      const hello = await recordClientHello();
      await attacker.repeat(20, async () => {
        const socket = await attacker.connect();
        if (socket === undefined || !(await attacker.write(socket, hello))) return false;
        const isAnswered = await next(socket, 'data');
        reset(socket);
        return isAnswered;
      });
    },
  },
  'tls-renegotiation': {
    what: 'TLS 1.2 clients that ask for a new handshake as often as they can; 20 at a time',
    setting: 'tls',
    // TLS 1.2 has renegotiation; each refused one ends the connection, and the next attempt opens another.
    attack: (attacker) =>
      attacker.repeat(attacker.count(20, 10), async () => {
        const raw = await attacker.connect();
        if (raw === undefined) return false;
        const socket = tls.connect({ socket: raw, rejectUnauthorized: false, maxVersion: 'TLSv1.2' });
        // A refused renegotiation is an error here.
        const ended = Promise.race([once(socket, 'close'), once(raw, 'close')]).catch(() => undefined);
        const again = (): void => {
          if (attacker.isOn) socket.renegotiate({ rejectUnauthorized: false }, (cause) => cause ?? again());
        };
        socket.on('error', () => undefined).once('secureConnect', again);
        await ended;
        socket.destroy();
        return true;
      }),
  },
};
