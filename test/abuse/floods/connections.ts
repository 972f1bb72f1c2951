import { randomBytes } from 'node:crypto';
import { reset } from '../../chaos/wire/reset.ts';
import { ATTACKER_COOKIE, RPC_PATH } from '../plant.ts';
import type { Flood } from './flood.ts';
import { toHead, toPost } from './requests.ts';

/** One address has too few ports for all connections of a flood. */
const ADDRESSES = 16;
const UPLOAD_BYTES = 100_000_000;
/** How much of an upload is sent after its answer, before the client reconnects. */
const AFTER_ANSWER_CHUNKS = 64;
const MAX_SESSIONS = 1_000;

export const CONNECTIONS: readonly Flood[] = [
  {
    name: 'churn',
    what: 'connections that close at once, or within a head, by an end or a reset; 50 at a time',
    worstPlusMs: 500,
    attack: async (attacker) => {
      let opened = 0;
      await attacker.repeat(attacker.count(50, 50), async () => {
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
  {
    name: 'early-answers',
    what: 'uploads of 100 MB that are answered 401 at once and go on; 20 connections',
    attack: async (attacker) => {
      const head = toHead(`POST ${RPC_PATH}`, { 'Content-Length': UPLOAD_BYTES });
      const chunk = Buffer.alloc(64 * 1024);
      await attacker.repeat(attacker.count(20, 10), async () => {
        const socket = await attacker.connect();
        if (socket === undefined || !(await attacker.write(socket, head))) return false;
        let left = UPLOAD_BYTES / chunk.length;
        socket.once('data', () => {
          left = Math.min(left, AFTER_ANSWER_CHUNKS);
        });
        while (left > 0 && (await attacker.write(socket, chunk))) left -= 1;
        reset(socket);
        return true;
      });
    },
  },
  {
    name: 'api-keys',
    what: '10,000 random X-API-Keys with one accepted cookie',
    maxSessions: MAX_SESSIONS,
    attack: async (attacker) => {
      let left = 10_000;
      await attacker.repeatOnConnections(8, async (socket) => {
        if (left <= 0) {
          await attacker.untilEnd();
          return true;
        }
        left -= 1;
        const key = randomBytes(16).toString('hex');
        const request = toPost(RPC_PATH, Buffer.from('[]'), { Cookie: ATTACKER_COOKIE, 'X-API-Key': key });
        return (await attacker.ask(socket, request)) === 200;
      });
    },
  },
];
