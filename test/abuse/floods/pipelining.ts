import type { Attacker } from '../attacker/attacker.ts';
import { HOLD_PATH } from '../plant.ts';
import type { Flood } from './flood.ts';
import { toHead } from './requests.ts';

const HEADS = 254;
/** Together 62 kB. Many small fields take more memory than a large one. */
const FIELDS = 900;
const FIELD_VALUE = 'x'.repeat(60);
const REQUESTS = 200_000;
/** Until the first request is held. */
const BEFORE_THE_REST_MS = 100;

/** A held request in absolute form, which takes the gateway, and large heads sent after it. */
function largeHeads(connections: number): Flood['attack'] {
  return async (attacker) => {
    const fields = Array.from({ length: FIELDS }, (_, i) => [`X-${100 + i}`, FIELD_VALUE]);
    const head = toHead('GET http://a/app/x', Object.fromEntries(fields));
    const sockets = await attacker.connectMany(connections);
    await Promise.all(
      sockets.map(async (socket) => {
        await attacker.write(socket, toHead(`GET http://a${HOLD_PATH}`));
        await attacker.pause(BEFORE_THE_REST_MS);
        for (let i = 0; i < HEADS; i += 1) if (!(await attacker.write(socket, head))) return;
      }),
    );
    await attacker.untilEnd();
  };
}

async function sendBytewise(attacker: Attacker, text: string): Promise<void> {
  const sockets = await attacker.connectMany(attacker.count(8, 4));
  for (const socket of sockets) await attacker.write(socket, toHead(`GET ${HOLD_PATH}`));
  await attacker.pause(BEFORE_THE_REST_MS);
  for (const byte of text) {
    await Promise.all(sockets.map((socket) => attacker.write(socket, byte)));
    // So that the next byte goes into a packet of its own.
    await new Promise((resolve) => setImmediate(resolve));
    if (!attacker.isOn) return;
  }
  await attacker.untilEnd();
}

export const PIPELINING: readonly Flood[] = [
  {
    name: 'large-heads-6',
    what: 'on each of six connections a held request for the gateway, and 254 heads of 62 kB behind it',
    maxGrowthBytes: 60e6,
    attack: largeHeads(6),
  },
  {
    name: 'large-heads-7',
    what: 'the same on seven connections',
    attack: largeHeads(7),
  },
  {
    name: 'small-requests',
    what: '200,000 pipelined requests for the gateway on one connection whose client does not read',
    maxGrowthBytes: 40e6,
    attack: async (attacker) => {
      const [socket] = await attacker.connectMany(1);
      if (socket === undefined) return;
      socket.pause();
      const requests = toHead('GET http://a/app/x') + toHead('GET /app/x').repeat(REQUESTS);
      await attacker.write(socket, requests);
      await attacker.untilEnd();
    },
  },
  {
    name: 'bytewise-heads',
    what: 'heads of 60 kB behind a held request, each byte a packet; 8 connections',
    attack: (attacker) => sendBytewise(attacker, toHead('GET /app/x', { 'X-Fill': 'x'.repeat(60_000) })),
  },
];
