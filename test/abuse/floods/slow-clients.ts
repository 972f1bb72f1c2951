import type { Attacker } from '../attacker/attacker.ts';
import { COMET_PATH, HOLD_PATH, LARGE_PATH, RPC_PATH, UNREAD_PATH, USERS_ADDRESS } from '../plant.ts';
import type { Flood } from './flood.ts';
import { KNOWN, toHead, toPost } from './requests.ts';

const BYTE_EVERY_MS = 1_000;
const ROUND_MS = 50;

/** A byte on each connection about once a second, spread over that second. */
async function trickle(attacker: Attacker, sockets: readonly { write(text: string): boolean; writable: boolean }[]) {
  const rounds = BYTE_EVERY_MS / ROUND_MS;
  for (let round = 0; attacker.isOn; round += 1) {
    for (let i = round % rounds; i < sockets.length; i += rounds) if (sockets[i]?.writable) sockets[i]?.write('x');
    await attacker.pause(ROUND_MS);
  }
}

/** The same on many connections, which then stay open. */
function onMany(full: number, short: number, bytes: (nth: number) => string | Buffer): Flood['attack'] {
  return async (attacker) => {
    const sockets = await attacker.connectMany(attacker.count(full, short));
    await Promise.all(sockets.map((socket, nth) => attacker.write(socket, bytes(nth))));
    await attacker.untilEnd();
  };
}

export const SLOW_CLIENTS: readonly Flood[] = [
  {
    name: 'slow-heads',
    what: "1,000 connections that send a byte of a head now and then, from the honest users' address",
    attack: async (attacker) => {
      const sockets = await attacker.connectMany(attacker.count(1_000, 300), { from: USERS_ADDRESS });
      for (const socket of sockets)
        await attacker.write(socket, 'GET /smartWeb/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ');
      await trickle(attacker, sockets);
    },
  },
  {
    name: 'half-heads',
    what: '60 kB of a head that never ends, on each of 2,000 connections',
    attack: onMany(2_000, 500, () => `GET /smartWeb/ HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Fill: ${'x'.repeat(60_000)}`),
  },
  {
    name: 'slow-bodies',
    worstPlusMs: 500,
    what: '500 calls and 500 Comet messages of which a byte of the body comes now and then',
    attack: async (attacker) => {
      const sockets = await attacker.connectMany(attacker.count(1_000, 300));
      await Promise.all(
        sockets.map((socket, nth) => {
          const path = nth % 2 === 0 ? RPC_PATH : COMET_PATH;
          return attacker.write(socket, toHead(`POST ${path}`, { ...KNOWN, 'Content-Length': 100_000 }));
        }),
      );
      await trickle(attacker, sockets);
    },
  },
  {
    name: 'unread-answers',
    worstPlusMs: 2_000,
    what: '500 connections that ask for 5 MB and read nothing',
    attack: async (attacker) => {
      const sockets = await attacker.connectMany(attacker.count(500, 100));
      const request = toPost(LARGE_PATH, Buffer.from('[]'), KNOWN);
      for (const socket of sockets) socket.pause();
      await Promise.all(sockets.map((socket) => attacker.write(socket, request)));
      await attacker.untilEnd();
    },
  },
  {
    name: 'unread-uploads',
    what: '200 uploads of 50 MB that the server does not read',
    attack: async (attacker) => {
      const sockets = await attacker.connectMany(attacker.count(200, 50));
      const head = toHead(`POST ${UNREAD_PATH}`, { ...KNOWN, 'Content-Length': 50_000_000 });
      const chunk = Buffer.alloc(64 * 1024);
      await Promise.all(
        sockets.map(async (socket) => {
          await attacker.write(socket, head);
          while (await attacker.write(socket, chunk));
        }),
      );
      await attacker.untilEnd();
    },
  },
  {
    name: 'half-open',
    worstPlusMs: 500,
    what: '1,000 clients that close their sending side and wait: behind a request that the server holds, or within a head',
    attack: async (attacker) => {
      const sockets = await attacker.connectMany(attacker.count(1_000, 300));
      const held = toHead(`GET ${HOLD_PATH}`);
      sockets.forEach((socket, nth) => {
        socket.end(nth % 4 === 0 ? held.slice(0, -4) : held);
      });
      await attacker.untilEnd();
    },
  },
];
