import type net from 'node:net';
import { toUpgraded } from '../../support/load/heads.ts';
import { reset } from '../../support/load/sockets.ts';
import { FrameReader, frame, OPCODES } from '../../support/protocol/websocket/frames.ts';
import { fieldOf, type Head } from '../../system/wire/message-reader.ts';
import { isWithin, messageOf, REFUSAL_BODY, type SocketPlan, socketRequestLines } from '../truth/socket-plan.ts';
import type { UpstreamParts } from './scripted-upstream.ts';

export class ServedSocket {
  readonly requestLines: readonly string[];
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
    this.requestLines = socketRequestLines(plan);
  }

  begin(head: Head): void {
    const { id, fault } = this.#plan;
    if (fault === 'never') return;
    this.#isOver = fault === 'reset-before' || fault === 'refuse';
    if (fault === 'reset-before') reset(this.#socket);
    else if (fault === 'refuse') {
      const fields = `X-Chaos: ${id}\r\nContent-Length: ${REFUSAL_BODY.length}\r\nConnection: close\r\n`;
      this.#socket.end(`HTTP/1.1 403 Forbidden\r\n${fields}\r\n${REFUSAL_BODY}`);
    } else {
      this.#socket.write(toUpgraded(fieldOf(head, 'sec-websocket-key') ?? '', `X-Chaos: ${id}`));
      this.#breakOffIfDue();
    }
  }

  /** Throws for malformed frames. */
  onBytes(chunk: Buffer): void {
    if (this.#isOver) return;
    for (const { opcode, payload } of this.#frames.read(chunk)) {
      if (this.#isOver) return;
      if (opcode === OPCODES.close) {
        this.#isOver = true;
        this.#socket.end(frame({ opcode: OPCODES.close, payload }));
      } else if (opcode !== OPCODES.pong) this.#onMessage(opcode, payload);
    }
  }

  #onMessage(opcode: number, payload: Buffer): void {
    const { seed, ledger } = this.#parts;
    const plan = this.#plan;
    const at = this.#received;
    const wanted = plan.isComet ? OPCODES.text : OPCODES.binary;
    if (opcode !== wanted || !payload.equals(messageOf(seed, plan, 'up', at))) {
      ledger.note('W', plan.id, `message ${at} of its client: opcode ${opcode}, ${payload.length} bytes`);
      this.#socket.destroy();
      return;
    }
    ledger.note('M', plan.id, String(at));
    this.#received += 1;
    this.#socket.write(frame({ opcode, payload: messageOf(seed, plan, 'down', at) }));
    this.#breakOffIfDue();
  }

  #breakOffIfDue(): void {
    const { fault, faultAfter, id } = this.#plan;
    if (!isWithin(fault) || this.#received < faultAfter) return;
    this.#isOver = true;
    if (fault === 'reset-within') reset(this.#socket);
    else if (fault === 'close-within') this.#socket.end();
    else this.#socket.end(frame({ opcode: OPCODES.binary, payload: `a part for ${id}` }).subarray(0, -3));
  }
}
