import type { CometWhen } from '../comet-rule-compiler.ts';
import type { Bounds } from './bounds.ts';
import { DistinctValues } from './distinct.ts';
import { Shape } from './shape.ts';

/** Counts of messages, or of channels in `/meta/subscribe` and `/meta/unsubscribe`. */
export interface ChannelCounts {
  subscribed: number;
  /** Subscriptions that the server refused. */
  forbidden: number;
  unsubscribed: number;
  published: number;
  /** Published, and acknowledged without data. */
  acknowledged: number;
  /** Published, and refused. */
  refused: number;
  /** Answers with data that came on this channel, to whichever a call was made on. */
  answered: number;
  /** All others with data. */
  delivered: number;
}

/** How calls on one channel were answered: on which channel, and by what call and answer belong together. */
export interface AnswerRelation {
  /** Pointer into both messages: `/id`, `/data/requestId`. */
  readonly by: string;
  readonly on: ChannelRecord;
  /** Calls that were answered so. */
  count: number;
  /** Further messages for a call that had its answer: then it was none, but a value that was asked for. */
  repeated: number;
}

/** A text that a client published came to it again, in a field of the same name: what it subscribed by that. */
export interface EchoRelation {
  /** Where it was published: `/objectName`. */
  readonly asked: string;
  readonly on: ChannelRecord;
  /** Where it came. */
  readonly told: string;
  count: number;
  /** Of these, how often the client had published the text on no other channel since. */
  last: number;
}

/** A text was published here after it had been published on another channel, in a field of the same name. */
export interface FollowRelation {
  readonly pointer: string;
  /** Where it was published before. */
  readonly on: ChannelRecord;
  count: number;
}

/** All that was heard of a channel, or of a family of channels. */
export class ChannelRecord {
  readonly counts: ChannelCounts = {
    subscribed: 0,
    forbidden: 0,
    unsubscribed: 0,
    published: 0,
    acknowledged: 0,
    refused: 0,
    answered: 0,
    delivered: 0,
  };
  /** How many of them a rule reads already, and how many of these one of the built-in rules. */
  readonly read: Record<CometWhen, number> = { subscribe: 0, unsubscribe: 0, publish: 0, delivery: 0 };
  readonly readByDefault: Record<CometWhen, number> = { subscribe: 0, unsubscribe: 0, publish: 0, delivery: 0 };
  /** Channels of the family. */
  readonly channels = new DistinctValues(MAX_DISTINCT_CHANNELS);
  readonly published: Shape;
  #answers: Shape;
  readonly #bounds: Bounds;
  readonly deliveries: Shape;
  #answerRelations: AnswerRelation[] = [];
  #echoRelations: EchoRelation[] = [];
  #followRelations: FollowRelation[] = [];
  #mergedInto: ChannelRecord | undefined;

  constructor(bounds: Bounds) {
    this.published = new Shape(bounds);
    this.#answers = new Shape(bounds);
    this.#bounds = bounds;
    this.deliveries = new Shape(bounds);
  }

  /** The record that has taken this one in, or itself. */
  get settled(): ChannelRecord {
    let record: ChannelRecord = this;
    while (record.#mergedInto !== undefined) record = record.#mergedInto;
    return record;
  }

  /** Data of those answers that came on this channel. */
  get answers(): Shape {
    return this.#answers;
  }

  get answerRelations(): readonly AnswerRelation[] {
    return this.#answerRelations;
  }

  get followRelations(): readonly FollowRelation[] {
    return this.#followRelations;
  }

  get echoRelations(): readonly EchoRelation[] {
    return this.#echoRelations;
  }

  /** Something a client can only receive. */
  get isObjectLike(): boolean {
    const { subscribed, unsubscribed, published, delivered } = this.counts;
    return published === 0 && subscribed + unsubscribed + delivered > 0;
  }

  answeredBy(by: string, on: ChannelRecord, isRepeated: boolean): void {
    let relation = this.#answerRelations.find((known) => known.by === by && known.on === on);
    if (relation === undefined) {
      if (this.#answerRelations.length >= MAX_RELATIONS) return;
      relation = { by, on, count: 0, repeated: 0 };
      this.#answerRelations.push(relation);
    }
    if (isRepeated) relation.repeated += 1;
    else relation.count += 1;
  }

  echoedBy(asked: string, on: ChannelRecord, told: string, isLast: boolean): void {
    const known = this.#echoRelations.find((echo) => echo.asked === asked && echo.on === on && echo.told === told);
    const last = isLast ? 1 : 0;
    if (known !== undefined) {
      known.count += 1;
      known.last += last;
    } else if (this.#echoRelations.length < MAX_RELATIONS) {
      this.#echoRelations.push({ asked, on, told, count: 1, last });
    }
  }

  follows(before: ChannelRecord, pointer: string): void {
    const known = this.#followRelations.find(({ on, pointer: other }) => on === before && other === pointer);
    if (known !== undefined) known.count += 1;
    else if (this.#followRelations.length < MAX_RELATIONS) {
      this.#followRelations.push({ on: before, pointer, count: 1 });
    }
  }

  /** What was taken for answers were none. */
  takeBackAnswers(): void {
    if (this.counts.answered === 0) return;
    this.deliveries.addAll(this.answers);
    this.counts.delivered += this.counts.answered;
    this.counts.answered = 0;
    this.#answers = new Shape(this.#bounds);
  }

  addAll(other: ChannelRecord): void {
    for (const key of Object.keys(this.counts) as (keyof ChannelCounts)[]) this.counts[key] += other.counts[key];
    for (const when of Object.keys(this.read) as CometWhen[]) {
      this.read[when] += other.read[when];
      this.readByDefault[when] += other.readByDefault[when];
    }
    this.channels.addAll(other.channels);
    this.published.addAll(other.published);
    this.answers.addAll(other.answers);
    this.deliveries.addAll(other.deliveries);
    this.#answerRelations.push(...other.#answerRelations);
    this.#echoRelations.push(...other.#echoRelations);
    this.#followRelations.push(...other.#followRelations);
    other.#mergedInto = this;
  }

  /** To be called once all records are final. */
  settle(isKnownData: (text: string) => boolean): void {
    for (const shape of [this.published, this.answers, this.deliveries]) shape.settle(isKnownData);
    this.#answerRelations = settled(this.#answerRelations);
    this.#echoRelations = settled(this.#echoRelations);
    this.#followRelations = settled(this.#followRelations).filter(({ on }) => on !== this);
  }
}

/** The relations with their records final, and those that are the same then in one; most frequent first. */
function settled<Relation extends { readonly on: ChannelRecord; count: number }>(
  relations: readonly Relation[],
): Relation[] {
  const merged: Relation[] = [];
  for (const relation of relations) {
    const final = { ...relation, on: relation.on.settled };
    const known = merged.find((other) => isSame(other, final));
    if (known === undefined) merged.push(final);
    else addNumbers(known, final);
  }
  return merged.sort((a, b) => b.count - a.count);
}

/** Equal but for their numbers. */
function isSame(relation: object, other: object): boolean {
  return Object.entries(relation).every(
    ([key, value]) => typeof value === 'number' || (other as Readonly<Record<string, unknown>>)[key] === value,
  );
}

function addNumbers(sum: object, other: object): void {
  const numbers = sum as Record<string, unknown>;
  for (const [key, value] of Object.entries(other)) {
    if (typeof value === 'number') numbers[key] = Number(numbers[key]) + value;
  }
}

const MAX_DISTINCT_CHANNELS = 1_000;
const MAX_RELATIONS = 16;
