import { setTimeout as sleep } from 'node:timers/promises';
import { FrameReader, OPCODES, toFrame } from '../../support/load/frames.ts';
import { acceptOf } from '../../support/load/heads.ts';
import { printable } from '../truth/ledger.ts';
import { hashOf } from '../truth/pattern.ts';
import { keyOf, messageOf, REFUSAL_BODY, type SocketPlan, socketRequestLines } from '../truth/socket-plan.ts';
import { type Head, HeadReader } from '../wire/heads.ts';
import { Attempt, type Result } from './attempt.ts';
import type { Connection } from './connection.ts';

const MOST_UNANSWERED = 5;
const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);
/** A client gives up if its handshake is not answered. */
const HANDSHAKE_MS = 1_000;

export class SocketAttempt extends Attempt {
  readonly #plan: SocketPlan;
  readonly #seed: number;
  readonly #isStopping: () => boolean;
  readonly #heads = new HeadReader();
  readonly #frames = new FrameReader(false);
  #head: Head | undefined;
  #refusal = '';
  #wrong: string | undefined;
  #sent = 0;
  #echoes = 0;
  #isClosing = false;
  #isClosed = false;

  constructor(connection: Connection, plan: SocketPlan, seed: number, isStopping: () => boolean) {
    super(connection);
    this.#plan = plan;
    this.#seed = seed;
    this.#isStopping = isStopping;
  }

  protected get seen(): Partial<Result> {
    const counts = { sentMessages: this.#sent, echoes: this.#echoes, isHeadSent: true, isRequestSent: true };
    return { ...counts, status: this.#status, hasAnswerBegun: this.#head !== undefined, wrong: this.#wrong };
  }

  protected async send(): Promise<void> {
    const { leaveAfter, fault } = this.#plan;
    this.connection.socket.write(`${socketRequestLines(this.#plan).join('\r\n')}\r\n\r\n`, 'latin1');
    if (fault === 'never') this.leaveAfter(HANDSHAKE_MS, () => this.#leave());
    else if (leaveAfter === 0) this.#leave();
  }

  protected close(): void {
    this.connection.leave(false);
  }

  get #status(): number {
    return this.#head?.status ?? 0;
  }

  onBytes(chunk: Buffer): void {
    try {
      this.#read(chunk);
    } catch (cause) {
      this.#foundWrong((cause as Error).message);
    }
  }

  onEnd(): void {
    if (this.#status === 101) this.finish(this.#isClosed ? 'answered' : 'failed', 'closed');
    else if (this.#head?.isProblem) this.finish('problem', this.#head.problemCode(this.#refusal));
    else if (this.#head !== undefined && this.#plan.fault === 'refuse' && this.#refusal === REFUSAL_BODY)
      this.finish('answered', 'refused');
    else this.finish('failed', 'closed');
  }

  onClosed(cause: NodeJS.ErrnoException | undefined): void {
    this.finish(this.#isClosed ? 'answered' : 'failed', cause?.code ?? 'closed');
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    if (this.#head === undefined) {
      const read = this.#heads.read(chunk);
      if (read === undefined) return;
      rest = read.rest;
      this.#head = read.head;
      if (this.#status === 101) this.#onOpen(read.head);
    }
    if (this.#status !== 101) {
      this.#refusal += rest.toString('latin1');
      return;
    }
    for (const { opcode, payload } of this.#frames.read(rest)) {
      if (opcode === OPCODES.close) this.#onClose(payload);
      else if (opcode !== OPCODES.ping) this.#onEcho(opcode, payload);
    }
  }

  #onOpen(head: Head): void {
    const { id } = this.#plan;
    if (head.field('sec-websocket-accept') === acceptOf(keyOf(id)) && head.field('x-chaos') === id) void this.#talk();
    else this.#foundWrong(`a handshake of somebody else: ${head.lines.join(' | ')}`);
  }

  async #talk(): Promise<void> {
    const { messages, pauseMs, isComet, id } = this.#plan;
    while (this.#sent < messages && this.outcome === undefined && !this.#isClosing && !this.#isStopping()) {
      const payload = messageOf(this.#seed, this.#plan, 'up', this.#sent);
      const mask = hashOf(this.#seed, `${id}/mask/${this.#sent}`);
      this.#sent += 1;
      this.connection.socket.write(toFrame(isComet ? OPCODES.text : OPCODES.binary, payload, mask));
      await sleep(pauseMs);
      while (this.#sent - this.#echoes >= MOST_UNANSWERED && this.outcome === undefined) await sleep(5);
    }
    this.#isClosing = true;
    this.#closeIfThrough();
  }

  #onEcho(opcode: number, payload: Buffer): void {
    const at = this.#echoes;
    const wanted = this.#plan.isComet ? OPCODES.text : OPCODES.binary;
    if (at >= this.#sent) this.#foundWrong(`an echo of a message that was never sent: ${at}`);
    else if (opcode !== wanted || !payload.equals(messageOf(this.#seed, this.#plan, 'down', at)))
      this.#foundWrong(`echo ${at}: opcode ${opcode}, ${payload.length} bytes`);
    this.#echoes += 1;
    if (this.#plan.leaveAfter !== undefined && this.#echoes >= this.#plan.leaveAfter) this.#leave();
    this.#closeIfThrough();
  }

  #closeIfThrough(): void {
    if (!this.#isClosing || this.#echoes < this.#sent || this.outcome !== undefined || this.#isClosed) return;
    this.#isClosed = true;
    this.connection.socket.write(toFrame(OPCODES.close, NORMAL_CLOSURE, hashOf(this.#seed, this.#plan.id)));
  }

  #onClose(payload: Buffer): void {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 0;
    if (!this.#isClosed) this.finish('closed', `code ${code}`);
    else if (this.#frames.hasBegun) this.#foundWrong('bytes behind the close frame');
  }

  #leave(): void {
    this.leave(this.#head === undefined ? 'waiting' : 'open', this.#plan.byReset);
  }

  #foundWrong(what: string): void {
    this.#wrong ??= printable(what);
    this.finish('failed', 'wrong');
  }
}
