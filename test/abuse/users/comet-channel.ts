import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { FrameReader, OPCODES, toFrame } from '../../chaos/wire/frames.ts';
import { COMET_PATH, HONEST_CREDENTIAL, USERS_ADDRESS } from '../plant.ts';

const MASK = 0x0b_ad_ca_fe;
const TIMEOUT_MS = 30_000;

const UPGRADE = [
  `GET ${COMET_PATH} HTTP/1.1`,
  'Host: 127.0.0.1',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  `Authorization: ${HONEST_CREDENTIAL}`,
  '',
  '',
].join('\r\n');

/** A WebSocket of an honest Comet user: one message there, one back. */
export class CometChannel {
  readonly #socket: net.Socket;
  readonly #frames = new FrameReader(false);
  /** Settles the pending message. */
  #settle: ((text: string | Error) => void) | undefined;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on('close', () => this.#settle?.(new Error('the WebSocket was closed')));
  }

  /** Rejects when the upgrade is refused. */
  static async open(port: number, isTls: boolean): Promise<CometChannel> {
    const raw = net.connect({ port, host: '127.0.0.1', localAddress: USERS_ADDRESS, noDelay: true });
    const socket = isTls ? tls.connect({ socket: raw, rejectUnauthorized: false }) : raw;
    socket.on('error', () => socket.destroy());
    const channel = new CometChannel(socket);
    socket.write(UPGRADE);
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    // The upstream says nothing more before the next message, and its head is small.
    const head = chunk.toString('latin1');
    if (!head.startsWith('HTTP/1.1 101 ') || !head.endsWith('\r\n\r\n')) throw new Error('the WebSocket was refused');
    socket.on('data', (bytes: Buffer) => {
      for (const { opcode, payload } of channel.#frames.read(bytes)) {
        if (opcode === OPCODES.text) channel.#settle?.(payload.toString('utf8'));
      }
    });
    return channel;
  }

  /** Resolves to the next message. */
  ask(text: string): Promise<string> {
    return new Promise((resolve, reject) => {
      if (!this.#socket.writable) return reject(new Error('the WebSocket is closed'));
      const timer = setTimeout(() => this.#settle?.(new Error('not answered in time')), TIMEOUT_MS);
      this.#settle = (result) => {
        clearTimeout(timer);
        this.#settle = undefined;
        if (typeof result === 'string') resolve(result);
        else reject(result);
      };
      this.#socket.write(toFrame(OPCODES.text, Buffer.from(text), MASK));
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
