/** The server's side of a WebSocket (RFC 6455), as far as the demo needs it: short whole texts, pings, close. */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODES = { text: 1, close: 8, ping: 9, pong: 10 } as const;
const FINAL = 0x80;
const MASKED = 0x80;

interface WebSocketEvents {
  readonly onText: (text: string) => void;
  /** Called once, whichever side ends the connection. */
  readonly onClose: () => void;
}

export class SampleWebSocket {
  readonly #socket: Duplex;
  readonly #events: WebSocketEvents;
  #unread: Buffer = Buffer.alloc(0);

  /** Answers the upgrade request. `head`: the bytes that followed it. */
  constructor({ headers }: IncomingMessage, socket: Duplex, head: Buffer, events: WebSocketEvents) {
    this.#socket = socket;
    this.#events = events;
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${ACCEPT_GUID}`).digest('base64');
    socket.on('error', () => socket.destroy());
    // Sockets of an HTTP server may stay half-open.
    socket.on('end', () => socket.end());
    socket.on('close', () => events.onClose());
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    if (head.length > 0) socket.unshift(head);
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
  }

  send(text: string): void {
    this.#write(OPCODES.text, Buffer.from(text));
  }

  terminate(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (let frame = toFrame(this.#unread); frame !== undefined; frame = toFrame(this.#unread)) {
      if (frame === 'unusable') {
        this.terminate();
        return;
      }
      this.#unread = this.#unread.subarray(frame.bytes);
      if (frame.opcode === OPCODES.text) this.#events.onText(frame.payload.toString('utf8'));
      if (frame.opcode === OPCODES.ping) this.#write(OPCODES.pong, frame.payload);
      if (frame.opcode === OPCODES.close) {
        this.#write(OPCODES.close, frame.payload);
        this.#socket.end();
      }
    }
  }

  #write(opcode: number, payload: Buffer): void {
    if (!this.#socket.writable) return;
    const isShort = payload.length < 126;
    const head = Buffer.from([FINAL | opcode, isShort ? payload.length : 126, payload.length >> 8, payload.length]);
    this.#socket.write(Buffer.concat([isShort ? head.subarray(0, 2) : head, payload]));
  }
}

/** RFC 6455 section 5.2. Undefined if incomplete; `unusable`: a fragment, more than 64 KiB, or no mask. */
function toFrame(bytes: Buffer): { opcode: number; payload: Buffer; bytes: number } | 'unusable' | undefined {
  const [first = 0, second = 0] = bytes;
  if (bytes.length < 2) return undefined;
  const shortLength = second & 0x7f;
  if ((first & FINAL) === 0 || (second & MASKED) === 0 || shortLength === 127) return 'unusable';
  const maskAt = shortLength === 126 ? 4 : 2;
  if (bytes.length < maskAt + 4) return undefined;
  const payloadAt = maskAt + 4;
  const end = payloadAt + (shortLength === 126 ? bytes.readUInt16BE(2) : shortLength);
  if (bytes.length < end) return undefined;
  const mask = bytes.subarray(maskAt, payloadAt);
  const payload = Buffer.from(bytes.subarray(payloadAt, end).map((byte, at) => byte ^ (mask[at % 4] ?? 0)));
  return { opcode: first & 0x0f, payload, bytes: end };
}
