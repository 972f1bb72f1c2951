import type net from 'node:net';
import { OPCODES, toFrame } from '../../chaos/wire/frames.ts';
import type { Attacker, Connecting } from '../attacker/attacker.ts';
import { ATTACKER_ADDRESS, ATTACKER_LOGIN, COMET_PATH, USERS_ADDRESS } from '../plant.ts';
import { deflateMessage, nestedArrays } from './bombs.ts';
import type { Flood } from './flood.ts';
import { toHead } from './requests.ts';

const MASK = 0x5e_ed_12_34;
const BOMBS = 10;
const BETWEEN_BOMBS_MS = 200;
const CHUNK_BYTES = 64 * 1024;
const WINDOW_BYTES = 32 * 1024;
const CONTINUATION = 0;
const FIN = 0x80;
const COMPRESSED = 0x40;

const UPGRADE = toHead(`GET ${COMET_PATH}`, {
  Upgrade: 'websocket',
  Connection: 'Upgrade',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version': 13,
  'Sec-WebSocket-Extensions': 'permessage-deflate',
});

/** A frame of a client. `flags` replace those of a whole plain message. */
function frame(opcode: number, payload: Buffer, flags = FIN): Buffer {
  const bytes = toFrame(opcode, payload, MASK);
  bytes[0] = flags | opcode;
  return bytes;
}

function handshake(isLogin: boolean): Buffer {
  const login = isLogin ? { ext: { authentication: ATTACKER_LOGIN } } : {};
  const message = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['websocket'], id: '1' };
  return frame(OPCODES.text, Buffer.from(JSON.stringify([{ ...message, ...login }])));
}

function nextData(socket: net.Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (isThere: boolean) => () => {
      socket.off('data', onData).off('close', onClose);
      resolve(isThere);
    };
    const onData = settle(true);
    const onClose = settle(false);
    socket.once('data', onData).once('close', onClose);
  });
}

/** An accepted WebSocket with an answered handshake. */
async function open(attacker: Attacker, isLogin: boolean, connecting?: Connecting): Promise<net.Socket | undefined> {
  const socket = await attacker.connect(connecting);
  if (socket === undefined) return undefined;
  for (const bytes of [UPGRADE, handshake(isLogin)]) {
    socket.write(bytes);
    if (!(await nextData(socket))) return undefined;
  }
  // Received data is ignored.
  socket.resume();
  return socket;
}

function bombs(isLogin: boolean): Flood['attack'] {
  return async (attacker) => {
    const message = frame(OPCODES.text, deflateMessage(nestedArrays()), FIN | COMPRESSED);
    const ten = Buffer.concat(Array.from({ length: BOMBS }, () => message));
    await attacker.repeat(2, async () => {
      const socket = await open(attacker, isLogin);
      if (socket === undefined) return false;
      const isSent = await attacker.write(socket, ten);
      await attacker.pause(BETWEEN_BOMBS_MS);
      socket.destroy();
      return isSent;
    });
  };
}

/** The same bytes on many WebSockets, as fast as they are accepted. */
async function stream(attacker: Attacker, begin: Buffer, unit: Buffer, from: string): Promise<void> {
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(CHUNK_BYTES / unit.length) }, () => unit));
  await attacker.repeat(attacker.count(20, 8), async () => {
    const socket = await open(attacker, true, { from });
    if (socket === undefined || !(await attacker.write(socket, begin))) return false;
    while (await attacker.write(socket, chunk)) {
      // Yields even if the socket accepts everything at once.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return false;
  });
}

/** A whole message that fills the window of permessage-deflate, and a fragmented one that never ends. */
async function fillWindows(attacker: Attacker): Promise<void> {
  const noise = Buffer.from(Array.from({ length: WINDOW_BYTES }, (_, i) => 32 + (((i * 2_654_435_761) >>> 16) % 90)));
  const whole = frame(OPCODES.text, deflateMessage(noise.toString('latin1')), FIN | COMPRESSED);
  const begun = frame(OPCODES.text, deflateMessage(`"${'x'.repeat(1_000)}`), COMPRESSED);
  const unfinishedBytes = attacker.count(1_000_000, 300_000);
  const rest = frame(CONTINUATION, Buffer.alloc(unfinishedBytes, 0x55), 0);
  await Promise.all(
    Array.from({ length: attacker.count(300, 100) }, async () => {
      const socket = await open(attacker, true);
      if (socket !== undefined) await attacker.write(socket, Buffer.concat([whole, begun, rest]));
    }),
  );
  await attacker.untilEnd();
}

export const WEB_SOCKETS: readonly Flood[] = [
  {
    name: 'websocket-bombs',
    what: 'ten WebSocket messages of 16 kB that unpack to 4.2 MB, without a login; again and again',
    attack: bombs(false),
  },
  {
    name: 'websocket-bombs-known',
    what: 'the same behind an accepted Comet login',
    attack: bombs(true),
  },
  {
    name: 'websocket-frames',
    worstPlusMs: 500,
    what: "small text frames without a pause on 20 WebSockets, from the honest users' address",
    attack: (attacker) => stream(attacker, Buffer.alloc(0), frame(OPCODES.text, Buffer.from('[]')), USERS_ADDRESS),
  },
  {
    name: 'websocket-fragments',
    worstPlusMs: 500,
    what: 'messages in fragments of one byte that never end, without a pause on 20 WebSockets',
    attack: (attacker) =>
      stream(
        attacker,
        frame(OPCODES.text, Buffer.from('['), 0),
        frame(CONTINUATION, Buffer.from(' '), 0),
        ATTACKER_ADDRESS,
      ),
  },
  {
    name: 'websocket-windows',
    worstPlusMs: 1_500,
    what: '300 compressed WebSockets, each with a full window and an unfinished message of nearly 1 MiB',
    attack: fillWindows,
  },
];
