import type net from 'node:net';
import zlib from 'node:zlib';
import { type Fields, toHead } from '../../support/load/heads.ts';
import type { Attacker } from '../attacker/attacker.ts';
import { COMET_PATH, HOLD_PATH, HOLD_QUERY, USERS_ADDRESS } from '../plant.ts';
import { doubleGzipBomb, manyMessages, subscription } from './bombs.ts';
import { type Flood, type Floods, KNOWN, onMany, toPost, writing } from './flood.ts';

/** Just below the largest body that is read. */
const UNFINISHED_BYTES = 1024 * 1024 - 100;
const HEADS = 254;
/** Together 62 kB. Many small fields take more memory than a large one. */
const FIELDS = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`X-${100 + i}`, 'x'.repeat(60)]));
const LARGE_HEAD = toHead('GET http://a/app/x', FIELDS);
const REQUESTS = 200_000;
const BEFORE_THE_REST_MS = 100;
const JSON_TYPE = { 'Content-Type': 'application/json' };
const GZIP = { 'Content-Encoding': 'gzip' };

/** The same body on 8 connections, each time after the answer to the previous one. */
function inALoop(toBody: () => Buffer, fields: Fields, from?: string): Flood['attack'] {
  return async (attacker) => {
    const request = toPost(COMET_PATH, toBody(), { ...JSON_TYPE, ...fields });
    await attacker.repeatOnConnections(8, async (socket) => (await attacker.ask(socket, request)) !== undefined, {
      from,
    });
  };
}

const UNFINISHED_BODY = Buffer.alloc(UNFINISHED_BYTES, '[{"channel":"/service/d2/rpc","data":"x"},');
const UNFINISHED_HEAD = toHead(`POST ${COMET_PATH}`, { ...KNOWN, 'Content-Length': UNFINISHED_BYTES + 1 });

const manyChannels = () => zlib.gzipSync(subscription(200_000));

async function sendBytewise(attacker: Attacker, sockets: readonly net.Socket[]): Promise<void> {
  await attacker.pause(BEFORE_THE_REST_MS);
  for (const byte of toHead('GET /app/x', { 'X-Fill': 'x'.repeat(60_000) })) {
    await Promise.all(sockets.map((socket) => attacker.write(socket, byte)));
    // So that the next byte goes into a packet of its own.
    await new Promise((resolve) => setImmediate(resolve));
    if (!attacker.isOn) return;
  }
}

export const BODIES: Floods = {
  'gzip-bomb': {
    what: 'POSTs of 124 bytes that unpack to 4.2 MB of nested arrays, refused with 401; 8 connections in a loop',
    attack: inALoop(doubleGzipBomb, { 'Content-Encoding': 'gzip, gzip' }),
  },
  'gzip-bomb-known': {
    what: 'the same from a user whom the server accepts',
    attack: inALoop(doubleGzipBomb, { ...KNOWN, 'Content-Encoding': 'gzip, gzip' }),
  },
  'comet-channels': {
    what: '200,000 channels in one subscription with gzip, accepted; 8 connections in a loop',
    attack: inALoop(manyChannels, { ...KNOWN, ...GZIP }),
  },
  'comet-messages': {
    what: "9,900 messages in one body, accepted; 8 connections in a loop, from the honest users' address",
    attack: inALoop(() => Buffer.from(manyMessages(9_900)), KNOWN, USERS_ADDRESS),
  },
  'bodies-400': {
    what: '400 Comet POSTs of nearly 1 MiB that never end',
    maxGrowthBytes: 130e6,
    // A copy for each connection, as separate clients have it: the bounds belong to an attacker that has to make them.
    attack: onMany({
      full: 400,
      act: (attacker, socket) => attacker.write(socket, Buffer.concat([Buffer.from(UNFINISHED_HEAD), UNFINISHED_BODY])),
    }),
  },
  'held-subscriptions': {
    what: 'six subscriptions of 0.5 MB, 200,000 channels with gzip, that the server holds',
    attack: async (attacker) => {
      const request = toPost(`${COMET_PATH}?${HOLD_QUERY}`, manyChannels(), { ...KNOWN, ...JSON_TYPE, ...GZIP });
      await onMany({ full: 6, act: writing(request) })(attacker);
    },
  },
  'large-heads': {
    what: 'on each of seven connections a held request, and 254 heads of 62 kB behind it',
    maxGrowthBytes: 60e6,
    attack: onMany({
      full: 7,
      act: async (attacker, socket) => {
        await attacker.write(socket, toHead(`GET http://a${HOLD_PATH}`));
        await attacker.pause(BEFORE_THE_REST_MS);
        for (let i = 0; i < HEADS; i += 1) if (!(await attacker.write(socket, LARGE_HEAD))) return;
      },
    }),
  },
  'small-requests': {
    what: '200,000 pipelined requests on one connection whose client does not read',
    maxGrowthBytes: 40e6,
    attack: onMany({
      full: 1,
      act: async (attacker, socket) => {
        socket.pause();
        await attacker.write(socket, toHead('GET http://a/app/x') + toHead('GET /app/x').repeat(REQUESTS));
      },
    }),
  },
  'bytewise-heads': {
    what: 'heads of 60 kB behind a held request, each byte a packet; 8 connections',
    attack: onMany({ full: 8, short: 4, act: writing(toHead(`GET ${HOLD_PATH}`)), meanwhile: sendBytewise }),
  },
};
