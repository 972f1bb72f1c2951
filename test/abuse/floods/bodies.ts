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
const REQUESTS = 200_000;
const BEFORE_THE_REST_MS = 100;
const JSON_TYPE = { 'Content-Type': 'application/json' };

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

/** `count` POSTs of which the last bytes never come. */
function unfinished(count: number): Flood['attack'] {
  // A copy for each connection, as separate clients have it: the bounds belong to an attacker that has to make them.
  const send = (attacker: Attacker, socket: net.Socket) =>
    attacker.write(socket, Buffer.concat([Buffer.from(UNFINISHED_HEAD), UNFINISHED_BODY]));
  return onMany({ full: count, act: send });
}

const manyChannels = () => zlib.gzipSync(subscription(200_000));

/** A held request in absolute form, and large heads sent after it. */
function largeHeads(connections: number): Flood['attack'] {
  const head = toHead('GET http://a/app/x', FIELDS);
  return onMany({
    full: connections,
    act: async (attacker, socket) => {
      await attacker.write(socket, toHead(`GET http://a${HOLD_PATH}`));
      await attacker.pause(BEFORE_THE_REST_MS);
      for (let i = 0; i < HEADS; i += 1) if (!(await attacker.write(socket, head))) return;
    },
  });
}

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
    attack: inALoop(manyChannels, { ...KNOWN, 'Content-Encoding': 'gzip' }),
  },
  'comet-messages': {
    what: "9,900 messages in one body, accepted; 8 connections in a loop, from the honest users' address",
    attack: inALoop(() => Buffer.from(manyMessages(9_900)), KNOWN, USERS_ADDRESS),
  },
  'bodies-400': { what: '400 Comet POSTs of nearly 1 MiB that never end', attack: unfinished(400) },
  'bodies-250': {
    what: '250 Comet POSTs of nearly 1 MiB that never end',
    maxGrowthBytes: 130e6,
    attack: unfinished(250),
  },
  'held-subscriptions': {
    what: 'six subscriptions of 0.5 MB, 200,000 channels with gzip, that the server holds',
    attack: async (attacker) => {
      const fields = { ...KNOWN, ...JSON_TYPE, 'Content-Encoding': 'gzip' };
      const request = toPost(`${COMET_PATH}?${HOLD_QUERY}`, manyChannels(), fields);
      await onMany({ full: 6, act: writing(request) })(attacker);
    },
  },
  'large-heads-6': {
    what: 'on each of six connections a held request, and 254 heads of 62 kB behind it',
    maxGrowthBytes: 60e6,
    attack: largeHeads(6),
  },
  'large-heads-7': { what: 'the same on seven connections', attack: largeHeads(7) },
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
