/**
 * What clients have asked for and what came of it, client by client: answers to calls, found by an id in the message or in its
 * data, and values of what was subscribed by a message. Keeps hashes, no values, of a bounded number of questions.
 */
import { type Bounds, MAX_QUESTIONS } from './bounds.ts';
import type { ChannelRecord } from './channel-record.ts';
import { hashOf } from './distinct.ts';
import type { Look, Scalar } from './look.ts';

/** A published message. */
interface Question {
  readonly record: ChannelRecord;
  readonly fingerprint: number;
  answers: number;
}

/** One text in a field of one name: where the client published it, the last one at the end. */
type SaidText = readonly { readonly record: ChannelRecord; readonly pointer: string }[];

/** What a message from the server answers. */
export interface Answered {
  /** The channel of the question. */
  readonly record: ChannelRecord;
  /** Pointer into both messages. */
  readonly by: string;
  /** The very data that was asked with: published to others, the asker among them. */
  readonly isSameData: boolean;
  /** Not the first with data. */
  readonly isRepeated: boolean;
}

export class Questions {
  readonly #asked: RecentMap<Question>;
  readonly #said: RecentMap<SaidText>;

  constructor(bounds: Bounds) {
    this.#asked = new RecentMap(bounds);
    this.#said = new RecentMap(bounds);
  }

  /** `client`: a number for each, or 0, of which nothing is kept. `id`: of the message. */
  ask(client: number, record: ChannelRecord, id: string | undefined, { scalars, fingerprint }: Look): void {
    if (client === 0) return;
    const question: Question = { record, fingerprint, answers: 0 };
    if (id !== undefined) this.#asked.set(`${client} /id ${hashOf(id)}`, question);
    for (const scalar of scalars) {
      if (isIdName(scalar.name)) this.#asked.set(toIdKey(client, scalar), question);
      if (scalar.type !== 'text') continue;
      const key = toTextKey(client, scalar);
      const before = this.#said.get(key) ?? [];
      const others = before.filter((said) => said.record !== record);
      for (const said of others) record.follows(said.record, scalar.pointer);
      this.#said.set(key, [...others.slice(1 - MAX_SAID), { record, pointer: scalar.pointer }]);
    }
  }

  /** What a plain acknowledgement is for. */
  acknowledged(client: number, id: string | undefined): ChannelRecord | undefined {
    return id === undefined ? undefined : this.#asked.get(`${client} /id ${hashOf(id)}`)?.record;
  }

  answered(client: number, id: string | undefined, { scalars, fingerprint }: Look): Answered | undefined {
    if (id !== undefined) {
      const answered = this.#answer(`${client} /id ${hashOf(id)}`, '/id', fingerprint);
      if (answered !== undefined) return answered;
    }
    for (const scalar of scalars) {
      if (!isIdName(scalar.name)) continue;
      const answered = this.#answer(toIdKey(client, scalar), `/data${scalar.pointer}`, fingerprint);
      if (answered !== undefined) return answered;
    }
    return undefined;
  }

  /** Tells the channels on which the client had published one of these texts in a field of the same name. */
  told(client: number, on: ChannelRecord, { scalars }: Look): void {
    for (const scalar of scalars) {
      if (scalar.type !== 'text') continue;
      const said = this.#said.get(toTextKey(client, scalar)) ?? [];
      for (const { record, pointer } of said) {
        record.echoedBy(pointer, on, scalar.pointer, record === said.at(-1)?.record);
      }
    }
  }

  #answer(key: string, by: string, fingerprint: number): Answered | undefined {
    const question = this.#asked.get(key);
    if (question === undefined) return undefined;
    question.answers += 1;
    const { record, answers } = question;
    return {
      record,
      by,
      isSameData: question.fingerprint === fingerprint,
      isRepeated: answers > 1,
    };
  }
}

/** Whether a field of that name may tie a call and its answer together. */
function isIdName(name: string): boolean {
  return ID_NAME.test(name);
}

function toIdKey(client: number, { pointer, hash }: Scalar): string {
  return `${client} ${pointer} ${hash}`;
}

function toTextKey(client: number, { name, hash }: Scalar): string {
  return `${client} ${name} ${hash}`;
}

/** Forgets the oldest. */
class RecentMap<Value> {
  readonly #bounds: Bounds;
  readonly #values = new Map<string, Value>();

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= MAX_QUESTIONS) return;
    for (const oldest of this.#values.keys()) {
      this.#values.delete(oldest);
      break;
    }
    this.#bounds.hit.questions += 1;
  }
}

/** Channels that are remembered for one text. */
const MAX_SAID = 4;
/** `requestId`, `callNo`, `seq`, `correlation`. */
const ID_NAME =
  /^(?:id|uid|uuid|guid|seq|sequence|nonce|ticket|handle|token|ref|cookie|correlation|nr|no)$|(?:[a-z\d](?:Id|ID|Uid|UID|Uuid|UUID|Guid|GUID|Seq|Sequence|Nonce|Ticket|Handle|Token|Ref|Nr|No|Number)|[_-](?:id|uid|uuid|guid|seq|nr|no|ref|token|number))$/;
