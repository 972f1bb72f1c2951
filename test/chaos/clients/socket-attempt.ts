import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../accounts/entry.ts';
import { hashOf } from '../truth/pattern.ts';
import { messageOf, REFUSAL_BODY, type SocketPlan, socketRequestLines } from '../truth/socket-plan.ts';
import { FrameReader, OPCODES, toFrame } from '../wire/frames.ts';
import { type Head, HeadReader } from '../wire/heads.ts';
import { PATIENCE_MS } from './attempt.ts';
import type { Connection, Listener } from './connection.ts';

/** Messages in flight without an echo yet. */
const MOST_UNANSWERED = 5;
const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);
/** A client gives up if its handshake is not answered. */
const HANDSHAKE_MS = 1_000;

export interface SocketResult {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly status: number;
  readonly hasAnswerBegun: boolean;
  readonly wrong: string | undefined;
  readonly sentMessages: number;
  readonly echoes: number;
}

/** One WebSocket from its handshake to its end; every echo is verified. */
export class SocketAttempt implements Listener {
  readonly #connection: Connection;
  readonly #plan: SocketPlan;
  readonly #seed: number;
  readonly #isStopping: () => boolean;
  readonly #heads = new HeadReader();
  readonly #frames = new FrameReader(false);
  readonly #ended: Promise<void>;
  #end!: () => void;
  #head: Head | undefined;
  #refusal = '';
  #outcome: Outcome | undefined;
  #reason = '';
  #wrong: string | undefined;
  #sent = 0;
  #echoes = 0;
  #isClosing = false;
  #isClosed = false;

  constructor(connection: Connection, plan: SocketPlan, seed: number, isStopping: () => boolean) {
    this.#connection = connection;
    this.#plan = plan;
    this.#seed = seed;
    this.#isStopping = isStopping;
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async run(): Promise<SocketResult> {
    this.#connection.listen(this);
    const timer = setTimeout(() => this.#finish('hung', `for ${PATIENCE_MS} ms`), PATIENCE_MS);
    this.#connection.socket.write(`${socketRequestLines(this.#plan).join('\r\n')}\r\n\r\n`, 'latin1');
    const { leaveAfter, fault } = this.#plan;
    const giveUp = fault === 'never' ? setTimeout(() => this.#leave(), HANDSHAKE_MS) : undefined;
    if (leaveAfter === 0 && fault !== 'never') this.#leave();
    await this.#ended;
    clearTimeout(timer);
    clearTimeout(giveUp);
    this.#connection.listen(undefined);
    this.#connection.leave(false);
    return {
      outcome: this.#outcome ?? 'hung',
      reason: this.#reason,
      status: this.#status,
      hasAnswerBegun: this.#head !== undefined,
      wrong: this.#wrong,
      sentMessages: this.#sent,
      echoes: this.#echoes,
    };
  }

  get #status(): number {
    return this.#head === undefined ? 0 : Number(this.#head.startLine.split(' ')[1]);
  }

  onBytes(chunk: Buffer): void {
    try {
      this.#read(chunk);
    } catch (cause) {
      this.#foundWrong((cause as Error).message);
    }
  }

  onEnd(): void {
    if (this.#status === 101) this.#finish(this.#isClosed ? 'answered' : 'failed', 'closed');
    else if (this.#head?.field('proxy-status')?.startsWith('d2-sidecar;')) {
      this.#finish('problem', /"code":"(\w+)"/.exec(this.#refusal)?.[1] ?? `status ${this.#status}`);
    } else if (this.#head !== undefined && this.#plan.fault === 'refuse' && this.#refusal === REFUSAL_BODY) {
      this.#finish('answered', 'refused');
    } else this.#finish('failed', 'closed');
  }

  onClosed(cause: NodeJS.ErrnoException | undefined): void {
    this.#finish(this.#isClosed ? 'answered' : 'failed', cause?.code ?? 'closed');
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
    const key = Buffer.from(`chaos ${this.#plan.id}`.padEnd(16, '.').slice(0, 16)).toString('base64');
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    if (head.field('sec-websocket-accept') !== accept || head.field('x-chaos') !== this.#plan.id) {
      this.#foundWrong(`a handshake of somebody else: ${head.lines.join(' | ')}`);
      return;
    }
    void this.#talk();
  }

  async #talk(): Promise<void> {
    const { messages, pauseMs, isComet } = this.#plan;
    while (this.#sent < messages && this.#outcome === undefined && !this.#isClosing && !this.#isStopping()) {
      const at = this.#sent;
      const payload = messageOf(this.#seed, this.#plan, 'up', at);
      const mask = hashOf(this.#seed, `${this.#plan.id}/mask/${at}`);
      this.#sent += 1;
      this.#connection.socket.write(toFrame(isComet ? OPCODES.text : OPCODES.binary, payload, mask));
      await sleep(pauseMs);
      while (this.#sent - this.#echoes >= MOST_UNANSWERED && this.#outcome === undefined) await sleep(5);
    }
    this.#isClosing = true;
    this.#closeIfThrough();
  }

  #onEcho(opcode: number, payload: Buffer): void {
    const at = this.#echoes;
    const wanted = this.#plan.isComet ? OPCODES.text : OPCODES.binary;
    if (at >= this.#sent) this.#foundWrong(`an echo of a message that was never sent: ${at}`);
    else if (opcode !== wanted || !payload.equals(messageOf(this.#seed, this.#plan, 'down', at))) {
      this.#foundWrong(`echo ${at}: opcode ${opcode}, ${payload.length} bytes`);
    }
    this.#echoes += 1;
    if (this.#plan.leaveAfter !== undefined && this.#echoes >= this.#plan.leaveAfter) this.#leave();
    this.#closeIfThrough();
  }

  #closeIfThrough(): void {
    if (!this.#isClosing || this.#echoes < this.#sent || this.#outcome !== undefined || this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.socket.write(toFrame(OPCODES.close, NORMAL_CLOSURE, hashOf(this.#seed, this.#plan.id)));
  }

  #onClose(payload: Buffer): void {
    if (this.#isClosed) {
      if (this.#frames.hasBegun) this.#foundWrong('bytes behind the close frame');
      return;
    }
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 0;
    this.#finish('closed', `code ${code}`);
  }

  #leave(): void {
    if (this.#outcome !== undefined) return;
    this.#finish('aborted', this.#head === undefined ? 'waiting' : 'open');
    this.#connection.leave(this.#plan.byReset);
  }

  #foundWrong(what: string): void {
    this.#wrong ??= what.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 500);
    this.#finish('failed', 'wrong');
  }

  #finish(outcome: Outcome, reason: string): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#reason = reason;
    this.#end();
  }
}
