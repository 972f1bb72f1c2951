import { randomBytes } from 'node:crypto';
import type net from 'node:net';
import { toHead } from '../../support/load/heads.ts';
import { reset } from '../../support/load/sockets.ts';
import type { Attacker } from '../attacker/attacker.ts';
import { ATTACKER_COOKIE, COMET_PATH, HOLD_PATH, LARGE_PATH, RPC_PATH, UNREAD_PATH, USERS_ADDRESS } from '../plant.ts';
import { type Floods, KNOWN, onMany, toPost, writing } from './flood.ts';

const BYTE_EVERY_MS = 1_000;
const ROUND_MS = 50;
/** One address has too few ports for all connections of a flood. */
const ADDRESSES = 16;
const UPLOAD_BYTES = 100_000_000;
/** How much of an upload is sent after its answer, before the client reconnects. */
const AFTER_ANSWER_CHUNKS = 64;
const CHUNK = Buffer.alloc(64 * 1024);
const LARGE_REQUEST = toPost(LARGE_PATH, Buffer.from('[]'), KNOWN);
const HELD = toHead(`GET ${HOLD_PATH}`);
const MANY = { full: 1_000, short: 300 };
const HALF_HEAD = 'GET /smartWeb/ HTTP/1.1\r\nHost: 127.0.0.1\r\n';

/** A byte on each connection about once a second, spread over that second. */
async function trickle(attacker: Attacker, sockets: readonly net.Socket[]): Promise<void> {
  const rounds = BYTE_EVERY_MS / ROUND_MS;
  for (let round = 0; attacker.isOn; round += 1) {
    for (let i = round % rounds; i < sockets.length; i += rounds) if (sockets[i]?.writable) sockets[i]?.write('x');
    await attacker.pause(ROUND_MS);
  }
}

export const SLOW_CLIENTS: Floods = {
  'slow-heads': {
    what: "1,000 connections that send a byte of a head now and then, from the honest users' address",
    attack: onMany({ ...MANY, from: USERS_ADDRESS, act: writing(`${HALF_HEAD}X-Slow: `), meanwhile: trickle }),
  },
  'half-heads': {
    worstPlusMs: 500,
    what: '60 kB of a head that never ends, on each of 2,000 connections',
    attack: onMany({ full: 2_000, short: 500, act: writing(`${HALF_HEAD}X-Fill: ${'x'.repeat(60_000)}`) }),
  },
  'slow-bodies': {
    worstPlusMs: 500,
    what: '500 calls and 500 Comet messages of which a byte of the body comes now and then',
    attack: onMany({
      ...MANY,
      act: (attacker, socket, nth) => {
        const path = nth % 2 === 0 ? RPC_PATH : COMET_PATH;
        return attacker.write(socket, toHead(`POST ${path}`, { ...KNOWN, 'Content-Length': 100_000 }));
      },
      meanwhile: trickle,
    }),
  },
  'unread-answers': {
    worstPlusMs: 2_000,
    what: '500 connections that ask for 5 MB and read nothing',
    attack: onMany({ full: 500, short: 100, act: (attacker, socket) => attacker.write(socket.pause(), LARGE_REQUEST) }),
  },
  'unread-uploads': {
    what: '200 uploads of 50 MB that the server does not read',
    attack: onMany({
      full: 200,
      short: 50,
      act: async (attacker, socket) => {
        await attacker.write(socket, toHead(`POST ${UNREAD_PATH}`, { ...KNOWN, 'Content-Length': 50_000_000 }));
        while (await attacker.write(socket, CHUNK));
      },
    }),
  },
  'half-open': {
    worstPlusMs: 500,
    what: '1,000 clients that close their sending side and wait: behind a request that the server holds, or within a head',
    attack: onMany({ ...MANY, act: (_, socket, nth) => socket.end(nth % 4 === 0 ? HELD.slice(0, -4) : HELD) }),
  },
};

export const CONNECTIONS: Floods = {
  churn: {
    what: 'connections that close at once, or within a head, by an end or a reset; 50 at a time',
    worstPlusMs: 500,
    attack: async (attacker) => {
      let opened = 0;
      await attacker.repeat(50, async () => {
        opened += 1;
        const manner = opened % 4;
        const socket = await attacker.connect({ from: `127.0.0.${2 + (opened % ADDRESSES)}` });
        if (socket === undefined) return false;
        if (manner > 1) socket.write('GET /smartWeb/ HTTP/1.1\r\n');
        if (manner % 2 === 0) socket.destroy();
        else reset(socket);
        return true;
      });
    },
  },
  'early-answers': {
    what: 'uploads of 100 MB that are answered 401 at once and go on; 20 connections',
    attack: async (attacker) => {
      await attacker.repeat(attacker.count(20, 10), async () => {
        const socket = await attacker.connect();
        const head = toHead(`POST ${RPC_PATH}`, { 'Content-Length': UPLOAD_BYTES });
        if (socket === undefined || !(await attacker.write(socket, head))) return false;
        let left = UPLOAD_BYTES / CHUNK.length;
        socket.once('data', () => {
          left = Math.min(left, AFTER_ANSWER_CHUNKS);
        });
        while (left > 0 && (await attacker.write(socket, CHUNK))) left -= 1;
        reset(socket);
        return true;
      });
    },
  },
  'api-keys': {
    what: '10,000 random X-API-Keys with one accepted cookie',
    maxSessions: 1_000,
    attack: async (attacker) => {
      let left = 10_000;
      await attacker.repeatOnConnections(8, async (socket) => {
        if (left <= 0) {
          await attacker.untilEnd();
          return true;
        }
        left -= 1;
        const fields = { Cookie: ATTACKER_COOKIE, 'X-API-Key': randomBytes(16).toString('hex') };
        return (await attacker.ask(socket, toPost(RPC_PATH, Buffer.from('[]'), fields))) === 200;
      });
    },
  },
};
