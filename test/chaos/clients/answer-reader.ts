/** Reads the answer to one planned call and verifies every byte. */
import type { CallPlan } from '../truth/call-plan.ts';
import { printable } from '../truth/ledger.ts';
import { answerBody, answerLines, trailerOf } from '../truth/messages.ts';
import { PatternCheck } from '../truth/pattern.ts';
import { BodyReader } from '../wire/body-reader.ts';
import { type Head, HeadReader } from '../wire/heads.ts';

export class AnswerReader {
  wrong: string | undefined;
  readonly #plan: CallPlan;
  readonly #check: PatternCheck;
  readonly #heads = new HeadReader();
  #head: Head | undefined;
  #body: BodyReader | undefined;
  #isUntilClose = false;
  #problem = '';
  #interims = 0;

  constructor(seed: number, plan: CallPlan) {
    this.#plan = plan;
    this.#check = new PatternCheck(plan.method === 'HEAD' ? Buffer.alloc(0) : answerBody(seed, plan));
  }

  get hasBegun(): boolean {
    return this.#head !== undefined || this.#interims > 0 || this.#heads.hasBegun;
  }

  get isComplete(): boolean {
    return this.#body?.isDone === true;
  }

  /** The answer ends with its connection, and has begun. */
  get isUntilClose(): boolean {
    return this.#isUntilClose && this.#head !== undefined;
  }

  get hasAllPayload(): boolean {
    return this.#check.isComplete;
  }

  get status(): number {
    return this.#head?.status ?? 0;
  }

  /** Code of the sidecar's own answer; undefined for the upstream's. */
  get problemCode(): string | undefined {
    return this.#head?.isProblem ? this.#head.problemCode(this.#problem) : undefined;
  }

  get isLast(): boolean {
    return this.#isUntilClose || this.#head?.field('connection')?.toLowerCase() === 'close';
  }

  get payloadBytes(): number {
    return this.#check.received;
  }

  read(chunk: Buffer): void {
    try {
      this.#read(chunk);
    } catch (cause) {
      this.#found((cause as Error).message);
    }
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && this.wrong === undefined) {
      if (this.#body === undefined) {
        const read = this.#heads.read(rest);
        if (read === undefined) return;
        rest = read.rest;
        this.#onHead(read.head);
      } else if (this.#body.isDone) this.#found(`${rest.length} bytes behind its end`);
      else {
        rest = rest.subarray(this.#body.read(rest, 0));
        if (this.#body.isDone) this.#onComplete();
      }
    }
  }

  #onHead(head: Head): void {
    const { answer, id, method } = this.#plan;
    if (head.status > 100 && head.status < 200) {
      this.#interims += 1;
      if (!answer.hasInterim || this.#interims > 1 || head.field('x-chaos-hint') !== id)
        this.#found('an unexpected interim answer');
      return;
    }
    this.#head = head;
    if (!head.isProblem) this.#verifyHead(head);
    const isBodyless = method === 'HEAD' || head.status === 204 || head.status === 304;
    const framing = isBodyless ? ({ kind: 'none' } as const) : head.framing(true);
    this.#isUntilClose = framing.kind === 'close';
    this.#body = new BodyReader(framing, (bytes, from, to) => this.#onPayload(bytes, from, to));
    if (this.#body.isDone) this.#onComplete();
  }

  #verifyHead(head: Head): void {
    const got = head.without('connection');
    if (got.join('\n') !== answerLines(this.#plan).join('\n')) this.#found(`an altered head: ${got.join(' | ')}`);
    const connection = head.field('connection');
    if (connection !== undefined && connection !== 'close') this.#found(`Connection: ${connection}`);
    if (this.#plan.answer.hasInterim && this.#interims === 0) this.#found('its interim answer is missing');
  }

  #onPayload(bytes: Buffer, from: number, to: number): void {
    if (this.#head?.isProblem) this.#problem += bytes.toString('latin1', from, to);
    else {
      const wrong = this.#check.take(bytes, from, to);
      if (wrong !== undefined) this.#found(`its body: ${wrong}`);
    }
  }

  #onComplete(): void {
    const { answer, id, method } = this.#plan;
    if (this.#head?.isProblem) {
      if (method !== 'HEAD' && JSON.parse(this.#problem).status !== this.status)
        this.#found('a problem of another status');
      return;
    }
    if (!this.#check.isComplete) this.#found(`its body ends after ${this.#check.received} of ${answer.bytes} bytes`);
    const trailers = this.#body?.trailers.join() ?? '';
    if (trailers !== trailerOf(id, answer.hasTrailer)) this.#found(`its trailers: ${trailers}`);
  }

  #found(what: string): void {
    this.wrong ??= printable(what);
  }
}
