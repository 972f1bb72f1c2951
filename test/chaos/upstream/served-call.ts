import type net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { next, reset } from '../../support/load/sockets.ts';
import type { Message } from '../../system/wire/message-reader.ts';
import { planCall } from '../truth/call-plan.ts';
import type { Ledger } from '../truth/ledger.ts';
import * as messages from '../truth/messages.ts';
import { PlannedBody } from '../truth/pattern.ts';

const RUBBISH = Buffer.from('\x16\x03\x01 220 this is no HTTP\r\n\r\n', 'latin1');
const RUBBISH_CHUNK = Buffer.from('zzzz\r\nthis is no chunk\r\n', 'latin1');

export class ServedCall {
  readonly body: PlannedBody;
  readonly #socket: net.Socket;
  readonly #seed: number;
  readonly #ledger: Ledger;
  readonly #plan: ReturnType<typeof planCall>;
  #isJudged = false;
  #isAnswered = false;
  #isSent = false;

  constructor(socket: net.Socket, seed: number, ledger: Ledger, id: string) {
    this.#socket = socket;
    this.#seed = seed;
    this.#ledger = ledger;
    this.#plan = planCall(seed, id);
    this.body = new PlannedBody(messages.requestBody(seed, this.#plan));
    const { fault } = this.#plan;
    if (fault === 'reset-before') reset(socket);
    else if (fault === 'close-before') socket.end();
    else if (fault === 'early' || fault === 'early-close') this.#answer();
  }

  /** An answer is due, or in flight, even if the client has closed its sending side. */
  get isAnswering(): boolean {
    return this.#isAnswered && !this.#isSent;
  }

  /** Some, or all, of the request has been read. */
  onRead({ isComplete, trailers }: Message): void {
    const { body } = this;
    const { id, request, fault } = this.#plan;
    if (this.#isJudged || (!isComplete && body.wrong === undefined)) return;
    this.#isJudged = true;
    const wrong =
      (body.wrong && `its body: ${body.wrong}`) ??
      (body.isWhole ? undefined : `its body ends after ${body.bytes} of ${request.bytes} bytes`) ??
      (trailers.join() === messages.trailerOf(id, request.hasTrailer) ? undefined : `its trailers: ${trailers}`);
    this.#ledger.note(wrong === undefined ? 'E' : 'W', id, wrong);
    if (body.wrong !== undefined) this.#socket.destroy();
    else if (this.#isAnswered) return;
    else if (fault === 'rubbish') this.#socket.end(RUBBISH);
    else if (fault !== 'never' && fault !== 'reset-before' && fault !== 'close-before') this.#answer();
  }

  #answer(): void {
    this.#isAnswered = true;
    // Only the connection's end breaks it: planned, or noticed by the other side.
    this.#write().catch(() => this.#socket.destroy());
  }

  async #write(): Promise<void> {
    const { answer, id, fault } = this.#plan;
    if (answer.delayMs > 0) await sleep(answer.delayMs);
    if (answer.hasInterim)
      await this.#send(Buffer.from(`HTTP/1.1 103 Early Hints\r\nX-Chaos-Hint: ${id}\r\n\r\n`, 'latin1'));
    const head = Buffer.from(messages.answerHead(this.#plan), 'latin1');
    const pieces = messages.piecesOf(messages.answerBody(this.#seed, this.#plan), answer.pieceBytes);
    const isWithin = fault?.endsWith('-within') === true;
    const end = isWithin ? Buffer.alloc(0) : messages.toWireEnd(answer.framing, id, answer.hasTrailer);
    const kept = isWithin ? pieces.slice(0, pieces.length >> 1) : pieces;
    const wire = kept.map((piece) => messages.toWire(answer.framing, piece));
    const whole = Buffer.concat([head, ...wire, end]);
    const parts = answer.pieceBytes === 0 ? [whole] : [head, ...wire, end].filter(({ length }) => length > 0);
    // A complete answer's planned end follows in the same turn: later, it could cut the answer to the client's next request.
    const last = isWithin ? undefined : parts.pop();
    for (const part of parts) {
      await this.#send(part);
      await sleep(1);
    }
    if (last !== undefined) this.#put(fault === 'twice' ? Buffer.concat([last, whole]) : last);
    this.#finish();
  }

  #finish(): void {
    const { fault, answer, request } = this.#plan;
    const socket = this.#socket;
    this.#isSent = true;
    if (fault === 'reset-within') reset(socket);
    else if (fault === 'rubbish-within') socket.end(RUBBISH_CHUNK);
    else if (fault === 'close-within' || fault === 'half-close') socket.end();
    else if (fault === 'early-close' || fault === 'close-after') socket.end(() => socket.destroy());
    else if (answer.isLast || request.isLast || socket.readableEnded) socket.end();
  }

  async #send(bytes: Buffer): Promise<void> {
    // A peer that leaves causes no 'drain'.
    if (!this.#put(bytes)) await next(this.#socket, 'drain');
  }

  /** False, like a socket's `write`, when the socket is full until 'drain'. */
  #put(bytes: Buffer): boolean {
    if (this.#socket.destroyed || !this.#socket.writable) throw new Error('gone');
    return this.#socket.write(bytes);
  }
}
