import { once } from 'node:events';
import type net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { reset } from '../../support/load/reset.ts';
import type { CallPlan } from '../truth/call-plan.ts';
import {
  answerBody,
  answerHead,
  piecesOf,
  requestBody,
  requestLines,
  toWire,
  toWireEnd,
  trailerOf,
} from '../truth/messages.ts';
import { PatternCheck } from '../truth/pattern.ts';
import { BodyReader } from '../wire/body-reader.ts';
import type { Head } from '../wire/heads.ts';
import type { UpstreamParts } from './scripted-upstream.ts';
import type { Served } from './served-connection.ts';

const RUBBISH = Buffer.from('\x16\x03\x01 220 this is no HTTP\r\n\r\n', 'latin1');
const RUBBISH_CHUNK = Buffer.from('zzzz\r\nthis is no chunk\r\n', 'latin1');

export class ServedCall implements Served {
  readonly #socket: net.Socket;
  readonly #parts: UpstreamParts;
  readonly #plan: CallPlan;
  readonly #onDone: () => void;
  readonly #check: PatternCheck;
  #body: BodyReader | undefined;
  #isAnswered = false;
  #isSent = false;

  constructor(socket: net.Socket, parts: UpstreamParts, plan: CallPlan, onDone: () => void) {
    this.#socket = socket;
    this.#parts = parts;
    this.#plan = plan;
    this.#onDone = onDone;
    this.#check = new PatternCheck(requestBody(parts.seed, plan));
  }

  get requestLines(): readonly string[] {
    return requestLines(this.#plan);
  }

  get isRead(): boolean {
    return this.#body?.isDone === true;
  }

  get isAnswering(): boolean {
    return this.#isAnswered && !this.#isSent;
  }

  begin(head: Head): void {
    const { fault } = this.#plan;
    this.#body = new BodyReader(head.framing(false), (chunk, from, to) => this.#onPayload(chunk, from, to));
    if (fault === 'reset-before') reset(this.#socket);
    else if (fault === 'close-before') this.#socket.end();
    else if (fault === 'early' || fault === 'early-close') this.#answer();
    if (this.isRead) this.#onRead();
  }

  onBytes(chunk: Buffer): Buffer {
    if (this.#body === undefined) return chunk;
    const rest = chunk.subarray(this.#body.read(chunk, 0));
    if (this.#body.isDone) this.#onRead();
    return rest;
  }

  #onPayload(chunk: Buffer, from: number, to: number): void {
    const wrong = this.#check.take(chunk, from, to);
    if (wrong === undefined) return;
    this.#parts.ledger.note('W', this.#plan.id, `its body: ${wrong}`);
    this.#socket.destroy();
  }

  #onRead(): void {
    const { id, request, fault } = this.#plan;
    const { ledger } = this.#parts;
    const trailers = this.#body?.trailers.join() ?? '';
    if (!this.#check.isComplete)
      ledger.note('W', id, `its body ends after ${this.#check.received} of ${request.bytes} bytes`);
    else if (trailers !== trailerOf(id, request.hasTrailer)) ledger.note('W', id, `its trailers: ${trailers}`);
    else ledger.note('E', id);
    // An early answer may still be in flight, and only its end is awaited then.
    if (this.#isSent) this.#onDone();
    else if (this.#isAnswered) return;
    else if (fault === 'rubbish') this.#socket.end(RUBBISH);
    else if (fault !== 'never' && fault !== 'reset-before' && fault !== 'close-before') this.#answer();
  }

  #answer(): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    // Only the connection's end breaks it: planned, or noticed by the other side.
    this.#write().catch(() => this.#socket.destroy());
  }

  async #write(): Promise<void> {
    const { answer, id, fault } = this.#plan;
    if (answer.delayMs > 0) await sleep(answer.delayMs);
    if (answer.hasInterim)
      await this.#send(Buffer.from(`HTTP/1.1 103 Early Hints\r\nX-Chaos-Hint: ${id}\r\n\r\n`, 'latin1'));
    const head = Buffer.from(answerHead(this.#plan), 'latin1');
    const pieces = piecesOf(answerBody(this.#parts.seed, this.#plan), answer.pieceBytes);
    const isWithin = fault?.endsWith('-within') === true;
    const end = isWithin ? Buffer.alloc(0) : toWireEnd(answer.framing, id, answer.hasTrailer);
    const kept = isWithin ? pieces.slice(0, pieces.length >> 1) : pieces;
    const wire = kept.map((piece) => toWire(answer.framing, piece));
    const whole = Buffer.concat([head, ...wire, end]);
    if (fault === 'twice') await this.#send(Buffer.concat([whole, whole]));
    else if (answer.pieceBytes === 0) await this.#send(whole);
    else {
      for (const piece of [head, ...wire, end]) {
        await this.#send(piece);
        await sleep(1);
      }
    }
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
    else {
      if (answer.isLast || request.isLast) socket.end();
      this.#onDone();
    }
  }

  async #send(bytes: Buffer): Promise<void> {
    const socket = this.#socket;
    if (socket.destroyed || !socket.writable) throw new Error('gone');
    if (bytes.length === 0 || socket.write(bytes)) return;
    const over = new AbortController();
    // A peer that leaves causes no 'drain'.
    await Promise.race([once(socket, 'drain', over), once(socket, 'close', over)]).finally(() => over.abort());
  }
}
