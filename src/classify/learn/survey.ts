/**
 * Listens to the Comet messages of a server of which nobody has told us the channels, and keeps what rules could be made of:
 * channels, what happens on them, counts, shapes of data. No values: those are told apart by hashes, and forgotten.
 *
 * This folder is pure: messages in, a report out. It is used by `d2-sidecar learn`; a serving sidecar has none of it.
 */
import { isMeta, META_HANDSHAKE, META_SUBSCRIBE, META_UNSUBSCRIBE } from '../../bayeux/channel.ts';
import type { BayeuxMessage } from '../../bayeux/message.ts';
import { CometClassifier, type CometClassifierConfig } from '../comet-classifier.ts';
import type { CometWhen } from '../comet-rule-compiler.ts';
import { Bounds, type BoundsHit } from './bounds.ts';
import type { ChannelRecord } from './channel-record.ts';
import { type ChannelFamily, ChannelTree } from './channel-tree.ts';
import { hashOf } from './distinct.ts';
import { lookAt } from './look.ts';
import { Questions } from './questions.ts';

/** What was heard, for a report. */
export interface Findings {
  readonly clientMessages: number;
  readonly upstreamMessages: number;
  readonly clients: number;
  /** Messages that could not be looked at, for a mistake in here. */
  readonly failures: number;
  readonly families: readonly ChannelFamily[];
  readonly boundsHit: Readonly<BoundsHit>;
}

export class Survey {
  readonly #bounds = new Bounds();
  readonly #tree = new ChannelTree(this.#bounds);
  readonly #questions = new Questions(this.#bounds);
  readonly #rules: CometClassifier;
  readonly #defaultRules: CometClassifier;
  readonly #clientNumbers = new WeakMap<object, number>();
  /** Hashes of texts that a handshake brings, and of ids of clients: names that are these are no names. */
  readonly #knownData = new Set<number>();
  #clients = 0;
  #clientMessages = 0;
  #upstreamMessages = 0;
  #failures = 0;

  /** The rules in force: what they read is told, and not proposed again. Throws `D2S_ERR_CONFIG` for one that cannot be used. */
  constructor(config: CometClassifierConfig) {
    this.#rules = new CometClassifier(config);
    this.#defaultRules = new CometClassifier({ rules: [], defaultRules: config.defaultRules });
  }

  get clientMessages(): number {
    return this.#clientMessages;
  }

  get upstreamMessages(): number {
    return this.#upstreamMessages;
  }

  /** Channels and families of channels. */
  get channels(): number {
    return this.#tree.size;
  }

  /** `client`: the same object for all messages of one client; undefined where nothing tells whose it is. */
  onClientMessage(message: BayeuxMessage, client: object | undefined): void {
    this.#clientMessages += 1;
    this.#rememberId(message.clientId);
    const { channel } = message;
    if (channel === META_HANDSHAKE) this.#rememberTexts(message.ext, 0);
    else if (channel === META_SUBSCRIBE) this.#onSubscriptions('subscribe', message);
    else if (channel === META_UNSUBSCRIBE) this.#onSubscriptions('unsubscribe', message);
    else if (!isMeta(channel)) this.#onPublish(message, this.#numberOf(client));
  }

  onUpstreamMessage(message: BayeuxMessage, client: object | undefined): void {
    this.#upstreamMessages += 1;
    this.#rememberId(message.clientId);
    if (message.channel === META_SUBSCRIBE && message.successful === false) {
      for (const channel of message.subscription ?? []) {
        const record = this.#tree.recordOf(channel);
        if (record !== undefined) record.counts.forbidden += 1;
      }
    }
    if (!isMeta(message.channel)) this.#onUpstreamData(message, this.#numberOf(client));
  }

  onFailure(): void {
    this.#failures += 1;
  }

  /** Ends the survey: call it once. */
  finish(): Findings {
    const isKnownData = (text: string) => this.#knownData.has(hashOf(text));
    return {
      clientMessages: this.#clientMessages,
      upstreamMessages: this.#upstreamMessages,
      clients: this.#clients,
      failures: this.#failures,
      families: this.#tree.settle(isKnownData),
      boundsHit: this.#bounds.hit,
    };
  }

  #onSubscriptions(when: 'subscribe' | 'unsubscribe', { subscription = [] }: BayeuxMessage): void {
    for (const channel of subscription) {
      const record = this.#tree.recordOf(channel);
      if (record === undefined) continue;
      record.counts[when === 'subscribe' ? 'subscribed' : 'unsubscribed'] += 1;
      this.#read(when, record, channel, undefined);
    }
  }

  #onPublish({ channel, data, id }: BayeuxMessage, client: number): void {
    const record = this.#tree.recordOf(channel);
    if (record === undefined) return;
    record.counts.published += 1;
    this.#read('publish', record, channel, data);
    record.published.add(data);
    this.#questions.ask(client, record, id, lookAt(data));
  }

  #onUpstreamData({ channel, data, id, successful }: BayeuxMessage, client: number): void {
    if (data === undefined || successful === false) {
      this.#onAcknowledged(channel, id, successful, client);
      return;
    }
    const on = this.#tree.recordOf(channel);
    if (on === undefined) return;
    const look = lookAt(data);
    const answered = this.#questions.answered(client, id, look);
    const isAnswer = answered !== undefined && !answered.isSameData;
    if (isAnswer) answered.record.answeredBy(answered.by, on, answered.isRepeated);
    if (isAnswer && answered.by === '/id') {
      on.counts.answered += 1;
      on.answers.add(data);
      return;
    }
    this.#read('delivery', on, channel, data);
    this.#questions.told(client, on, look);
    // Of a value that was asked for there are many, of an answer there is one.
    const isFirst = isAnswer && !answered.isRepeated;
    on.counts[isFirst ? 'answered' : 'delivered'] += 1;
    (isFirst ? on.answers : on.deliveries).add(data);
  }

  #onAcknowledged(channel: string, id: string | undefined, successful: boolean | undefined, client: number): void {
    const record = this.#questions.acknowledged(client, id) ?? this.#tree.recordOf(channel);
    if (record === undefined || successful === undefined) return;
    record.counts[successful ? 'acknowledged' : 'refused'] += 1;
  }

  #read(when: CometWhen, record: ChannelRecord, channel: string, data: unknown): void {
    const meaning = this.#rules.classify(when, channel, data);
    if (meaning === undefined) return;
    record.read[when] += 1;
    const byDefault = this.#defaultRules.classify(when, channel, data);
    if (byDefault?.name === meaning.name && byDefault.kind === meaning.kind) record.readByDefault[when] += 1;
  }

  /** 0 for a client that nothing is known of: its questions are nobody's. */
  #numberOf(client: object | undefined): number {
    if (client === undefined) return 0;
    const present = this.#clientNumbers.get(client);
    if (present !== undefined) return present;
    this.#clients += 1;
    this.#clientNumbers.set(client, this.#clients);
    return this.#clients;
  }

  #rememberId(clientId: string | undefined): void {
    if (clientId !== undefined) this.#remember(clientId);
  }

  #rememberTexts(value: unknown, depth: number): void {
    if (typeof value === 'string') {
      this.#remember(value);
    } else if (typeof value === 'object' && value !== null && depth < MAX_EXT_DEPTH) {
      for (const inner of Object.values(value).slice(0, MAX_EXT_FIELDS)) this.#rememberTexts(inner, depth + 1);
    }
  }

  #remember(text: string): void {
    if (this.#knownData.size < MAX_KNOWN_DATA) this.#knownData.add(hashOf(text));
  }
}

const MAX_KNOWN_DATA = 100_000;
const MAX_EXT_DEPTH = 4;
const MAX_EXT_FIELDS = 20;
