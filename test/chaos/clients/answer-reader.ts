/** Reads the answer to one planned call and verifies every byte. */
import type { CallPlan } from '../truth/call-plan.ts';
import { answerBody, answerLines, ID_FIELD, TRAILER } from '../truth/messages.ts';
import { PatternCheck } from '../truth/pattern.ts';
import { BodyReader, type Framing } from '../wire/body-reader.ts';
import { type Head, HeadReader } from '../wire/heads.ts';

export class AnswerReader {
  readonly #plan: CallPlan;
  readonly #check: PatternCheck;
  readonly #heads = new HeadReader();
  #head: Head | undefined;
  #body: BodyReader | undefined;
  #isUntilClose = false;
  #isProblem = false;
  #problem = '';
  #wrong: string | undefined;
  #interims = 0;

  constructor(seed: number, plan: CallPlan) {
    this.#plan = plan;
    this.#check = new PatternCheck(plan.method === 'HEAD' ? Buffer.alloc(0) : answerBody(seed, plan));
  }

  /** The first fault found. */
  get wrong(): string | undefined {
    return this.#wrong;
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

  /** The whole payload has arrived. */
  get hasAllPayload(): boolean {
    return this.#check.isComplete;
  }

  get status(): number {
    return this.#head === undefined ? 0 : Number(this.#head.startLine.split(' ')[1]);
  }

  /** Code of the sidecar's own answer; undefined for the upstream's. */
  get problemCode(): string | undefined {
    if (!this.#isProblem) return undefined;
    return /"code":"(\w+)"/.exec(this.#problem)?.[1] ?? `status ${this.status}`;
  }

  /** Whether the connection can be reused. */
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
    while (rest.length > 0 && this.#wrong === undefined) {
      if (this.#body === undefined) {
        const read = this.#heads.read(rest);
        if (read === undefined) return;
        rest = read.rest;
        this.#onHead(read.head);
        continue;
      }
      if (this.#body.isDone) {
        this.#found(`${rest.length} bytes behind its end`);
        return;
      }
      rest = rest.subarray(this.#body.read(rest, 0));
      if (this.#body.isDone) this.#onComplete();
    }
  }

  #onHead(head: Head): void {
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head.startLine)?.[1] ?? 0);
    if (status > 100 && status < 200) this.#onInterim(head);
    else {
      this.#head = head;
      this.#isProblem =
        head.field(ID_FIELD) === undefined && head.field('proxy-status')?.startsWith('d2-sidecar;') === true;
      if (!this.#isProblem) this.#verifyHead(head);
      const framing = this.#framingOf(head, status);
      this.#isUntilClose = framing.kind === 'close';
      this.#body = new BodyReader(framing, (bytes, from, to) => this.#onPayload(bytes, from, to));
      if (this.#body.isDone) this.#onComplete();
    }
  }

  #onInterim(head: Head): void {
    this.#interims += 1;
    const { id, answer } = this.#plan;
    if (!answer.hasInterim || this.#interims > 1 || head.field('x-chaos-hint') !== id)
      this.#found('an unexpected interim answer');
  }

  #verifyHead(head: Head): void {
    const wanted = answerLines(this.#plan);
    const got = head.without('connection');
    if (got.join('\n') !== wanted.join('\n')) this.#found(`an altered head: ${got.join(' | ')}`);
    const connection = head.field('connection');
    if (connection !== undefined && connection !== 'close') this.#found(`Connection: ${connection}`);
    if (this.#plan.answer.hasInterim && this.#interims === 0) this.#found('its interim answer is missing');
  }

  #framingOf(head: Head, status: number): Framing {
    if (this.#plan.method === 'HEAD' || status === 204 || status === 304) return { kind: 'none' };
    return head.framing(true);
  }

  #onPayload(bytes: Buffer, from: number, to: number): void {
    if (this.#isProblem) this.#problem += bytes.toString('latin1', from, to);
    else {
      const wrong = this.#check.take(bytes, from, to);
      if (wrong !== undefined) this.#found(`its body: ${wrong}`);
    }
  }

  #onComplete(): void {
    if (this.#isProblem) {
      if (this.#plan.method !== 'HEAD' && JSON.parse(this.#problem).status !== this.status)
        this.#found('a problem of another status');
      return;
    }
    const { answer, id } = this.#plan;
    if (!this.#check.isComplete) this.#found(`its body ends after ${this.#check.received} of ${answer.bytes} bytes`);
    const trailers = this.#body?.trailers.join() ?? '';
    if (trailers !== (answer.hasTrailer ? `${TRAILER}: ${id}` : '')) this.#found(`its trailers: ${trailers}`);
  }

  #found(what: string): void {
    this.#wrong ??= what.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 500);
  }
}
