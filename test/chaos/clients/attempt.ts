import { setTimeout as sleep } from 'node:timers/promises';
import type { Outcome } from '../accounts/entry.ts';
import type { CallPlan } from '../truth/call-plan.ts';
import { piecesOf, requestBody, requestHead, toWire, toWireEnd } from '../truth/messages.ts';
import { AnswerReader } from './answer-reader.ts';
import type { Connection, Listener } from './connection.ts';

/** Far longer than anything in a run takes, even on a busy machine. */
export const PATIENCE_MS = 30_000;

/** A client that leaves while waiting does so within this time. */
const LONGEST_WAIT_MS = 2_000;
const SLOW_READ_BYTES = 16 * 1024;

export interface AttemptResult {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly answer: AnswerReader;
  readonly isHeadSent: boolean;
  readonly isRequestSent: boolean;
  readonly wasCut: boolean;
}

/** One planned call over one connection. */
export class Attempt implements Listener {
  readonly #connection: Connection;
  readonly #plan: CallPlan;
  readonly #seed: number;
  readonly #answer: AnswerReader;
  readonly #ended: Promise<void>;
  #end!: () => void;
  #outcome: Outcome | undefined;
  #reason = '';
  #isHeadSent = false;
  #isRequestSent = false;
  #wasCut = false;
  #readSincePause = 0;

  constructor(connection: Connection, plan: CallPlan, seed: number) {
    this.#connection = connection;
    this.#plan = plan;
    this.#seed = seed;
    this.#answer = new AnswerReader(seed, plan);
    this.#ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async run(): Promise<AttemptResult> {
    this.#connection.listen(this);
    const timer = setTimeout(() => this.#finish('hung', `for ${PATIENCE_MS} ms`), PATIENCE_MS);
    if (this.#plan.leave?.at === 'connecting') this.#leave();
    // A connection that breaks during a write ends this through its 'close'.
    else await this.#send().catch((cause) => this.#finish('failed', (cause as Error).message));
    await this.#ended;
    clearTimeout(timer);
    this.#connection.listen(undefined);
    if (!this.#isReusable()) this.#connection.leave(this.#outcome === 'aborted' && this.#plan.leave?.byReset === true);
    return {
      outcome: this.#outcome ?? 'hung',
      reason: this.#reason,
      answer: this.#answer,
      isHeadSent: this.#isHeadSent,
      isRequestSent: this.#isRequestSent,
      wasCut: this.#wasCut,
    };
  }

  onBytes(chunk: Buffer): void {
    const answer = this.#answer;
    answer.read(chunk);
    // Bytes after the end, or wrong bytes, count as an answer as well: `wrong` distinguishes them in the accounts.
    if (answer.wrong !== undefined) this.#finish(answer.problemCode === undefined ? 'answered' : 'problem', 'wrong');
    else if (answer.isComplete)
      this.#finish(answer.problemCode === undefined ? 'answered' : 'problem', answer.problemCode ?? '');
    else {
      this.#leaveWithinAnswer();
      this.#readSlowly(chunk.length);
    }
  }

  onEnd(): void {
    const answer = this.#answer;
    if (!answer.isUntilClose) this.#finish('failed', 'closed');
    else if (answer.hasAllPayload) this.#finish('answered', '');
    else {
      this.#wasCut = true;
      this.#finish('failed', 'cut');
    }
  }

  onClosed(cause: NodeJS.ErrnoException | undefined): void {
    this.#finish('failed', cause?.code ?? 'closed');
  }

  async #send(): Promise<void> {
    const { leave, request, halfCloses, id } = this.#plan;
    const head = requestHead(this.#plan);
    if (leave?.at === 'head') {
      const part = head.slice(0, Math.floor(leave.share * (head.length - 1)));
      if (part.length > 0) await this.#write(Buffer.from(part, 'latin1'));
      this.#leave();
      return;
    }
    const body = requestBody(this.#seed, this.#plan);
    const pieces = request.framing === 'none' ? [] : piecesOf(body, request.pieceBytes);
    // A small body is sent together with the head, as a client would; otherwise the head goes first.
    this.#isHeadSent = true;
    if (!(await this.#write(Buffer.from(head, 'latin1')))) return;
    let left = leave?.at === 'body' ? Math.floor(leave.share * body.length) : Number.POSITIVE_INFINITY;
    for (const piece of pieces) {
      const part = piece.subarray(0, Math.min(piece.length, left));
      if (part.length > 0 && !(await this.#write(toWire(request.framing, part)))) return;
      left -= piece.length;
      if (left <= 0) break;
      if (request.pieceBytes > 0) await sleep(1);
    }
    if (leave?.at === 'body') {
      this.#leave();
      return;
    }
    if (!(await this.#write(toWireEnd(request.framing, id, request.hasTrailer)))) return;
    this.#isRequestSent = true;
    if (halfCloses) this.#connection.socket.end();
    if (leave?.at === 'waiting') this.#leaveLater(leave.share);
  }

  /** False when sending more is pointless. */
  async #write(bytes: Buffer): Promise<boolean> {
    const { socket } = this.#connection;
    if (this.#isInVain()) return false;
    if (bytes.length > 0 && !socket.write(bytes)) await this.#connection.drained();
    return !this.#isInVain();
  }

  #isInVain(): boolean {
    if (this.#connection.isOver || !this.#connection.socket.writable) return true;
    // Answered early, by an upstream that reads on: the rest of the request belongs to a live connection.
    return (
      this.#outcome !== undefined &&
      !(this.#outcome === 'answered' && this.#plan.fault === 'early' && !this.#answer.isLast)
    );
  }

  #leaveLater(share: number): void {
    const waitMs = Math.max(this.#plan.fault === 'never' ? 300 : 0, share * share * LONGEST_WAIT_MS);
    const timer = setTimeout(() => this.#leave(), waitMs);
    void this.#ended.then(() => clearTimeout(timer));
  }

  #leaveWithinAnswer(): void {
    const { leave, answer } = this.#plan;
    if (leave?.at === 'answer' && this.#answer.payloadBytes >= leave.share * answer.bytes) this.#leave();
  }

  #leave(): void {
    if (this.#outcome !== undefined) return;
    this.#finish('aborted', this.#plan.leave?.at ?? '');
    this.#connection.leave(this.#plan.leave?.byReset === true);
  }

  #readSlowly(bytes: number): void {
    if (!this.#plan.readsSlowly) return;
    this.#readSincePause += bytes;
    if (this.#readSincePause < SLOW_READ_BYTES) return;
    this.#readSincePause = 0;
    const { socket } = this.#connection;
    socket.pause();
    setTimeout(() => socket.resume(), 10);
  }

  #finish(outcome: Outcome, reason: string): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#reason = reason;
    this.#end();
  }

  #isReusable(): boolean {
    const { halfCloses, request } = this.#plan;
    const isAnswered = this.#outcome === 'answered' || this.#outcome === 'problem';
    return (
      isAnswered &&
      this.#isRequestSent &&
      this.#answer.wrong === undefined &&
      !this.#answer.isLast &&
      !halfCloses &&
      !request.isLast &&
      !this.#connection.isOver
    );
  }
}
