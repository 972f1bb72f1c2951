import {
  BodySeen,
  fieldOf,
  isInterim,
  type Message,
  MessageReader,
  statusOf,
} from '../../system/wire/message-reader.ts';
import type { CallPlan } from '../truth/call-plan.ts';
import { printable } from '../truth/ledger.ts';
import { answerBody, answerLines, isProblem, linesWithout, problemCodeOf, trailerOf } from '../truth/messages.ts';
import { PlannedBody } from '../truth/pattern.ts';

export class AnswerReader {
  wrong: string | undefined;
  readonly body: PlannedBody;
  readonly #plan: CallPlan;
  readonly #reader: MessageReader;

  constructor(seed: number, plan: CallPlan) {
    this.#plan = plan;
    this.body = new PlannedBody(plan.method === 'HEAD' ? Buffer.alloc(0) : answerBody(seed, plan));
    this.#reader = new MessageReader({
      kind: 'response',
      requestMethod: () => plan.method,
      createBody: (head) => (isInterim(head) || isProblem(head) ? new BodySeen() : this.body),
      onProgress: () => undefined,
    });
  }

  get #answer(): Message | undefined {
    return this.#reader.messages.find((message) => !isInterim(message));
  }

  get hasBegun(): boolean {
    return this.#reader.messages.length > 0 || this.#reader.pendingBytes > 0;
  }

  get isComplete(): boolean {
    return this.#answer?.isComplete === true;
  }

  /** The answer ends with its connection, and has begun. */
  get isUntilClose(): boolean {
    return this.#answer?.framing === 'until-close';
  }

  get status(): number {
    return this.#answer === undefined ? 0 : statusOf(this.#answer);
  }

  /** Code of the sidecar's own answer; undefined for the upstream's. */
  get problemCode(): string | undefined {
    return this.#answer !== undefined && isProblem(this.#answer) ? problemCodeOf(this.#answer) : undefined;
  }

  get isLast(): boolean {
    const connection = this.#answer && fieldOf(this.#answer, 'connection')?.toLowerCase();
    return this.isUntilClose || connection === 'close';
  }

  read(chunk: Buffer): void {
    this.#reader.push(chunk);
    const wrong = this.#reader.problem ?? this.#whatIsWrong();
    this.wrong ??= wrong && printable(wrong);
  }

  #whatIsWrong(): string | undefined {
    const { answer: planned, id } = this.#plan;
    const { messages, pendingBytes } = this.#reader;
    const answer = this.#answer;
    const interims = messages.filter(isInterim);
    const isHint = interims.every((interim) => fieldOf(interim, 'x-chaos-hint') === id);
    if (interims.length > (planned.hasInterim ? 1 : 0) || !isHint) return 'an unexpected interim answer';
    if (answer === undefined) return undefined;
    if (messages.at(-1) !== answer || (answer.isComplete && pendingBytes > 0)) return 'bytes behind its end';
    if (isProblem(answer)) return this.#whatIsWrongWithProblem(answer);
    const lines = linesWithout(answer, 'connection');
    if (lines.join('\n') !== answerLines(this.#plan).join('\n')) return `an altered head: ${lines.join(' | ')}`;
    const connection = fieldOf(answer, 'connection') ?? 'close';
    if (connection !== 'close') return `Connection: ${connection}`;
    if (planned.hasInterim && interims.length === 0) return 'its interim answer is missing';
    if (this.body.wrong !== undefined) return `its body: ${this.body.wrong}`;
    if (!answer.isComplete) return undefined;
    if (!this.body.isWhole) return `its body ends after ${this.body.bytes} of ${planned.bytes} bytes`;
    const trailers = answer.trailers.join();
    return trailers === trailerOf(id, planned.hasTrailer) ? undefined : `its trailers: ${trailers}`;
  }

  #whatIsWrongWithProblem(answer: Message): string | undefined {
    if (!answer.isComplete || this.#plan.method === 'HEAD') return undefined;
    return answer.body.describe().includes(`"status":${this.status}`) ? undefined : 'a problem of another status';
  }
}
