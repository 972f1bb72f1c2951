import { createHash } from 'node:crypto';
import type net from 'node:net';
import { isWithin, messageOf, REFUSAL_BODY, type SocketPlan, socketRequestLines } from '../truth/socket-plan.ts';
import { FrameReader, OPCODES, toFrame } from '../wire/frames.ts';
import type { Head } from '../wire/heads.ts';
import { reset } from '../wire/reset.ts';
import { withWrongByte } from './lies.ts';
import type { UpstreamParts } from './scripted-upstream.ts';
import { type Served, whatIsWrong } from './served-connection.ts';

/** RFC 6455 section 1.3. */
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const NOTHING = Buffer.alloc(0);

/** One WebSocket: each message is verified and echoed. */
export class ServedSocket implements Served {
  readonly isRead = false;
  readonly isAnswering = false;
  readonly #socket: net.Socket;
  readonly #parts: UpstreamParts;
  readonly #plan: SocketPlan;
  readonly #frames = new FrameReader(true);
  #received = 0;
  #isOver = false;

  constructor(socket: net.Socket, parts: UpstreamParts, plan: SocketPlan) {
    this.#socket = socket;
    this.#parts = parts;
    this.#plan = plan;
  }

  begin(head: Head): void {
    const { id, fault } = this.#plan;
    const { ledger, isDirect } = this.#parts;
    const wrong = whatIsWrong(head, socketRequestLines(this.#plan), isDirect);
    if (wrong !== undefined) ledger.wrong(id, wrong);
    if (fault === 'never') return;
    if (fault === 'reset-before') {
      this.#isOver = true;
      reset(this.#socket);
    } else if (fault === 'refuse') {
      this.#isOver = true;
      const fields = `X-Chaos: ${id}\r\nContent-Length: ${REFUSAL_BODY.length}\r\nConnection: close\r\n`;
      this.#socket.end(`HTTP/1.1 403 Forbidden\r\n${fields}\r\n${REFUSAL_BODY}`);
    } else {
      this.#socket.write(`${acceptLines(head, id).join('\r\n')}\r\n\r\n`);
      this.#breakOffIfDue();
    }
  }

  onBytes(chunk: Buffer): Buffer {
    if (this.#isOver) return NOTHING;
    for (const { opcode, payload } of this.#frames.read(chunk)) {
      if (this.#isOver) return NOTHING;
      if (opcode === OPCODES.close) {
        this.#isOver = true;
        this.#socket.end(toFrame(OPCODES.close, payload));
      } else if (opcode !== OPCODES.pong) this.#onMessage(opcode, payload);
    }
    return NOTHING;
  }

  #onMessage(opcode: number, payload: Buffer): void {
    const { seed, ledger, lies } = this.#parts;
    const plan = this.#plan;
    const at = this.#received;
    const got = lies.tells('message-byte') ? withWrongByte(payload) : payload;
    const wanted = plan.isComet ? OPCODES.text : OPCODES.binary;
    if (opcode !== wanted || !got.equals(messageOf(seed, plan, 'up', at))) {
      ledger.wrong(plan.id, `message ${at} of its client: opcode ${opcode}, ${got.length} bytes`);
      this.#socket.destroy();
      return;
    }
    ledger.message(plan.id, at);
    this.#received += 1;
    const echo = messageOf(seed, plan, 'down', at);
    const frame = toFrame(opcode, lies.tells('echo-byte') ? withWrongByte(echo) : echo);
    this.#socket.write(lies.tells('echo-twice') ? Buffer.concat([frame, frame]) : frame);
    this.#breakOffIfDue();
  }

  #breakOffIfDue(): void {
    const { fault, faultAfter, id } = this.#plan;
    if (!isWithin(fault) || this.#received < faultAfter) return;
    this.#isOver = true;
    if (fault === 'reset-within') reset(this.#socket);
    else if (fault === 'close-within') this.#socket.end();
    else this.#socket.end(toFrame(OPCODES.binary, Buffer.from(`a part for ${id}`)).subarray(0, -3));
  }
}

function acceptLines(head: Head, id: string): string[] {
  const key = head.field('sec-websocket-key') ?? '';
  return [
    'HTTP/1.1 101 Switching Protocols',
    `X-Chaos: ${id}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${createHash('sha1')
      .update(key + KEY_SUFFIX)
      .digest('base64')}`,
  ];
}
