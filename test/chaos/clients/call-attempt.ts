import { setTimeout as sleep } from 'node:timers/promises';
import { next } from '../../support/load/sockets.ts';
import type { CallPlan } from '../truth/call-plan.ts';
import { piecesOf, requestBody, requestHead, toWire, toWireEnd } from '../truth/messages.ts';
import { AnswerReader } from './answer-reader.ts';
import { Attempt, type Result } from './attempt.ts';
import type { Connection } from './connection.ts';

/** A client that leaves while waiting does so within this time. */
const LONGEST_WAIT_MS = 2_000;
const SLOW_READ_BYTES = 16 * 1024;

export class CallAttempt extends Attempt {
  readonly #plan: CallPlan;
  readonly #seed: number;
  readonly #answer: AnswerReader;
  #isHeadSent = false;
  #isRequestSent = false;
  #wasCut = false;
  #readSincePause = 0;

  constructor(connection: Connection, plan: CallPlan, seed: number) {
    super(connection);
    this.#plan = plan;
    this.#seed = seed;
    this.#answer = new AnswerReader(seed, plan);
  }

  protected get seen(): Partial<Result> {
    const { status, hasBegun: hasAnswerBegun, wrong } = this.#answer;
    const [isHeadSent, isRequestSent, wasCut] = [this.#isHeadSent, this.#isRequestSent, this.#wasCut];
    return { status, hasAnswerBegun, wrong, isHeadSent, isRequestSent, wasCut };
  }

  onBytes(chunk: Buffer): void {
    const answer = this.#answer;
    answer.read(chunk);
    const outcome = answer.problemCode === undefined ? 'answered' : 'problem';
    // Bytes after the end, or wrong bytes, count as an answer as well: `wrong` distinguishes them in the accounts.
    if (answer.wrong !== undefined) this.finish(outcome, 'wrong');
    else if (answer.isComplete) this.finish(outcome, answer.problemCode ?? '');
    else {
      const { leave, answer: planned } = this.#plan;
      if (leave?.at === 'answer' && answer.body.bytes >= leave.share * planned.bytes) this.#leave();
      this.#readSlowly(chunk.length);
    }
  }

  onEnd(): void {
    const answer = this.#answer;
    if (!answer.isUntilClose) this.finish('failed', 'closed');
    else if (answer.body.isWhole) this.finish('answered', '');
    else {
      this.#wasCut = true;
      this.finish('failed', 'cut');
    }
  }

  onClosed(cause: NodeJS.ErrnoException | undefined): void {
    this.finish('failed', cause?.code ?? 'closed');
  }

  protected async send(): Promise<void> {
    const { leave, request, halfCloses, id, fault } = this.#plan;
    if (leave?.at === 'connecting') return this.#leave();
    const head = Buffer.from(requestHead(this.#plan), 'latin1');
    if (leave?.at === 'head') {
      await this.#write(head.subarray(0, Math.floor(leave.share * (head.length - 1))));
      return this.#leave();
    }
    const body = requestBody(this.#seed, this.#plan);
    // A small body is sent together with the head, as a client would; otherwise the head goes first.
    this.#isHeadSent = true;
    if (!(await this.#write(head))) return;
    let left = leave?.at === 'body' ? Math.floor(leave.share * body.length) : Number.POSITIVE_INFINITY;
    for (const piece of request.framing === 'none' ? [] : piecesOf(body, request.pieceBytes)) {
      const part = piece.subarray(0, Math.min(piece.length, left));
      if (part.length > 0 && !(await this.#write(toWire(request.framing, part)))) return;
      left -= piece.length;
      if (left <= 0) break;
      if (request.pieceBytes > 0) await sleep(1);
    }
    if (leave?.at === 'body') return this.#leave();
    if (!(await this.#write(toWireEnd(request.framing, id, request.hasTrailer)))) return;
    this.#isRequestSent = true;
    if (halfCloses) this.connection.socket.end();
    if (leave?.at !== 'waiting') return;
    setTimeout(() => this.#leave(), Math.max(fault === 'never' ? 300 : 0, leave.share ** 2 * LONGEST_WAIT_MS));
  }

  /** False when sending more is pointless. */
  async #write(bytes: Buffer): Promise<boolean> {
    if (this.#isInVain()) return false;
    if (bytes.length > 0 && !this.connection.socket.write(bytes)) await next(this.connection.socket, 'drain', 'end');
    return !this.#isInVain();
  }

  #isInVain(): boolean {
    if (this.connection.isOver || !this.connection.socket.writable) return true;
    // Answered early, by an upstream that reads on: the rest of the request belongs to a live connection.
    const isEarly = this.outcome === 'answered' && this.#plan.fault === 'early' && !this.#answer.isLast;
    return this.outcome !== undefined && !isEarly;
  }

  #leave(): void {
    this.leave(this.#plan.leave?.at ?? '', this.#plan.leave?.byReset === true);
  }

  #readSlowly(bytes: number): void {
    if (!this.#plan.readsSlowly) return;
    this.#readSincePause += bytes;
    if (this.#readSincePause < SLOW_READ_BYTES) return;
    this.#readSincePause = 0;
    const socket = this.connection.socket.pause();
    setTimeout(() => socket.resume(), 10);
  }

  protected close(): void {
    const { halfCloses, request, leave } = this.#plan;
    const isAnswered = this.outcome === 'answered' || this.outcome === 'problem';
    const isWhole = isAnswered && this.#isRequestSent && this.#answer.wrong === undefined;
    if (!isWhole || this.#answer.isLast || halfCloses || request.isLast || this.connection.isOver)
      this.connection.leave(this.outcome === 'aborted' && leave?.byReset === true);
  }
}
