import type net from 'node:net';
import { toUpgrade } from '../../support/load/heads.ts';
import { next } from '../../support/load/sockets.ts';
import { clientText, deflated, frame, MASK, OPCODES, text } from '../../support/protocol/websocket/frames.ts';
import type { Attacker } from '../attacker/attacker.ts';
import { ATTACKER_LOGIN, COMET_PATH, USERS_ADDRESS } from '../plant.ts';
import { nestedArrays } from './bombs.ts';
import type { Flood, Floods } from './flood.ts';

const BOMBS = 10;
const BETWEEN_BOMBS_MS = 200;
const CHUNK_BYTES = 64 * 1024;
const WINDOW_BYTES = 32 * 1024;
const COMPRESSED = { mask: MASK, rsv: 4 };

/** A later part of a client's message that goes on. */
export function fragment(payload: Buffer | string): Buffer {
  return frame({ opcode: OPCODES.continuation, payload, fin: false, mask: MASK });
}

/** An accepted WebSocket with an answered handshake; received data is ignored. */
export async function open(attacker: Attacker, isLogin: boolean, from?: string): Promise<net.Socket | undefined> {
  const socket = await attacker.connect({ from });
  const login = isLogin ? { ext: { authentication: ATTACKER_LOGIN } } : {};
  const message = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: ['websocket'], id: '1' };
  for (const bytes of [toUpgrade(COMET_PATH), clientText(JSON.stringify([{ ...message, ...login }]))]) {
    socket?.write(bytes);
    if (socket === undefined || !(await next(socket, 'data'))) return undefined;
  }
  return socket?.resume();
}

function bombs(isLogin: boolean): Flood['attack'] {
  return async (attacker) => {
    const message = text(deflated(nestedArrays()), COMPRESSED);
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
function stream(begin: Buffer, unit: Buffer, from?: string): Flood['attack'] {
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(CHUNK_BYTES / unit.length) }, () => unit));
  return (attacker) =>
    attacker.repeat(attacker.count(20, 8), async () => {
      const socket = await open(attacker, true, from);
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
  const whole = text(deflated(noise), COMPRESSED);
  const begun = text(deflated(`"${'x'.repeat(1_000)}`), { ...COMPRESSED, fin: false });
  const rest = fragment(Buffer.alloc(attacker.count(1_000_000, 300_000), 0x55));
  const fill = async () => {
    const socket = await open(attacker, true);
    if (socket !== undefined) await attacker.write(socket, Buffer.concat([whole, begun, rest]));
  };
  await Promise.all(Array.from({ length: attacker.count(300, 100) }, fill));
  await attacker.untilEnd();
}

export const WEB_SOCKETS: Floods = {
  'websocket-bombs': {
    what: 'ten WebSocket messages of 16 kB that unpack to 4.2 MB, without a login; again and again',
    attack: bombs(false),
  },
  'websocket-bombs-known': { what: 'the same behind an accepted Comet login', attack: bombs(true) },
  'websocket-frames': {
    worstPlusMs: 500,
    what: "small text frames without a pause on 20 WebSockets, from the honest users' address",
    attack: stream(Buffer.alloc(0), clientText('[]'), USERS_ADDRESS),
  },
  'websocket-fragments': {
    worstPlusMs: 500,
    what: 'messages in fragments of one byte that never end, without a pause on 20 WebSockets',
    attack: stream(text('[', { mask: MASK, fin: false }), fragment(' ')),
  },
  'websocket-windows': {
    worstPlusMs: 1_500,
    what: '300 compressed WebSockets, each with a full window and an unfinished message of nearly 1 MiB',
    attack: fillWindows,
  },
};
