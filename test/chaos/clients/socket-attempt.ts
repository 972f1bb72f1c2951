import { setTimeout as sleep } from 'node:timers/promises';
import { acceptOf } from '../../support/load/heads.ts';
import { FrameReader, frame, OPCODES } from '../../support/protocol/websocket/frames.ts';
import { fieldOf, type Message, MessageReader, statusOf } from '../../system/wire/message-reader.ts';
import { printable } from '../truth/ledger.ts';
import { isProblem, problemCodeOf } from '../truth/messages.ts';
import { hashOf } from '../truth/pattern.ts';
import { keyOf, messageOf, REFUSAL_BODY, type SocketPlan, socketRequestLines } from '../truth/socket-plan.ts';
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
  readonly #answers = new MessageReader({ kind: 'response', onProgress: () => undefined });
  readonly #frames = new FrameReader(false);
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
    return { ...counts, status: this.#status, hasAnswerBegun: this.#answer !== undefined, wrong: this.#wrong };
  }

  protected async send(): Promise<void> {
    const { leaveAfter, fault } = this.#plan;
    this.connection.socket.write(`${socketRequestLines(this.#plan).join('\r\n')}\r\n\r\n`, 'latin1');
    if (fault === 'never') setTimeout(() => this.#leave(), HANDSHAKE_MS);
    else if (leaveAfter === 0) this.#leave();
  }

  protected close(): void {
    this.connection.leave(false);
  }

  get #answer(): Message | undefined {
    return this.#answers.messages[0];
  }

  get #status(): number {
    return this.#answer === undefined ? 0 : statusOf(this.#answer);
  }

  onBytes(chunk: Buffer): void {
    const isOpen = this.#status === 101;
    this.#answers.push(chunk);
    const { problem, tunnel } = this.#answers;
    if (problem !== undefined) this.#foundWrong(problem);
    if (this.#answer === undefined || this.#status !== 101) return;
    if (!isOpen) this.#onOpen(this.#answer);
    this.#answers.tunnel = '';
    try {
      for (const { opcode, payload } of this.#frames.read(Buffer.from(tunnel, 'latin1'))) {
        if (opcode === OPCODES.close) this.#onClose(payload);
        else if (opcode !== OPCODES.ping) this.#onEcho(opcode, payload);
      }
    } catch (cause) {
      this.#foundWrong((cause as Error).message);
    }
  }

  onEnd(): void {
    const answer = this.#answer;
    const isRefusal = this.#plan.fault === 'refuse' && answer?.isComplete && answer.body.describe() === REFUSAL_BODY;
    if (this.#status === 101) this.finish(this.#isClosed ? 'answered' : 'failed', 'closed');
    else if (answer !== undefined && isProblem(answer)) this.finish('problem', problemCodeOf(answer));
    else if (isRefusal) this.finish('answered', 'refused');
    else this.finish('failed', 'closed');
  }

  onClosed(cause: NodeJS.ErrnoException | undefined): void {
    this.finish(this.#isClosed ? 'answered' : 'failed', cause?.code ?? 'closed');
  }

  #onOpen(answer: Message): void {
    const { id } = this.#plan;
    const isOwn = fieldOf(answer, 'sec-websocket-accept') === acceptOf(keyOf(id)) && fieldOf(answer, 'x-chaos') === id;
    if (isOwn) void this.#talk();
    else this.#foundWrong(`a handshake of somebody else: ${answer.fields.join(' | ')}`);
  }

  async #talk(): Promise<void> {
    const { messages, pauseMs, isComet } = this.#plan;
    while (this.#sent < messages && this.outcome === undefined && !this.#isClosing && !this.#isStopping()) {
      const payload = messageOf(this.#seed, this.#plan, 'up', this.#sent);
      this.#sent += 1;
      this.#write(isComet ? OPCODES.text : OPCODES.binary, payload);
      await sleep(pauseMs);
      while (this.#sent - this.#echoes >= MOST_UNANSWERED && this.outcome === undefined) await sleep(5);
    }
    this.#isClosing = true;
    this.#closeIfThrough();
  }

  #write(opcode: number, payload: Buffer): void {
    const mask = Buffer.alloc(4);
    mask.writeUInt32BE(hashOf(this.#seed, `${this.#plan.id}/mask/${this.#sent}`));
    this.connection.socket.write(frame({ opcode, payload, mask }));
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
    this.#write(OPCODES.close, NORMAL_CLOSURE);
  }

  #onClose(payload: Buffer): void {
    const code = payload.length >= 2 ? payload.readUInt16BE(0) : 0;
    if (!this.#isClosed) this.finish('closed', `code ${code}`);
    else if (this.#frames.hasBegun) this.#foundWrong('bytes behind the close frame');
  }

  #leave(): void {
    this.leave(this.#answer === undefined ? 'waiting' : 'open', this.#plan.byReset);
  }

  #foundWrong(what: string): void {
    this.#wrong ??= printable(what);
    this.finish('failed', 'wrong');
  }
}
