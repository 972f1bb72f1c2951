/**
 * Listens to the Comet messages of a server whose channels are unknown, and keeps channels, counts and the shape of
 * data. It keeps no values; texts that must not be shown are kept as hashes.
 *
 * This folder is pure: messages in, a report out. Only `d2-sidecar learn` uses it, never a serving sidecar.
 */
import { createHash } from 'node:crypto';
import type { CometWhen } from '../../config/rules/comet-rules.ts';
import { CometClassifier, type CometClassifierConfig } from '../../measure/classify/comet-classifier.ts';
import {
  type BayeuxMessage,
  isMeta,
  META_HANDSHAKE,
  META_SUBSCRIBE,
  META_UNSUBSCRIBE,
} from '../../protocol/bayeux/message.ts';
import { Bounds, MAX_KNOWN_DATA, MAX_PENDING } from './bounds.ts';
import { type ChannelEvent, HeardChannels } from './heard-channels.ts';

export type Findings = ReturnType<Survey['finish']>;

export class Survey {
  clientMessages = 0;
  upstreamMessages = 0;
  readonly #bounds = new Bounds();
  readonly channels = new HeardChannels(this.#bounds);
  readonly #rules: CometClassifier;
  /** Channels on which a rule finds the answers to its calls. */
  readonly #replyChannels: ReadonlySet<string | undefined>;
  readonly #clientNumbers = new WeakMap<object, number>();
  /** Published messages that may still be answered, as hashes of client, channel and id; oldest first. */
  readonly #pendingRequests = new Set<string>();
  /** Hashes of texts in handshakes and of ids of clients: a name that equals one of these is data. */
  readonly #knownData = new Set<string>();
  #clients = 0;
  #failures = 0;

  constructor(config: CometClassifierConfig) {
    this.#rules = new CometClassifier(config);
    this.#replyChannels = new Set(config.rules.map(({ reply }) => reply?.channel));
  }

  onClientMessage(message: BayeuxMessage, client: object | undefined): void {
    const { channel, clientId, subscription = [], ext, id, data } = message;
    this.clientMessages += 1;
    this.#remember(clientId, 0);
    if (channel === META_HANDSHAKE) this.#remember(ext, 0);
    else if (channel === META_SUBSCRIBE) for (const each of subscription) this.#record('subscribe', each);
    else if (channel === META_UNSUBSCRIBE) for (const each of subscription) this.#record('unsubscribe', each);
    if (isMeta(channel)) return;
    this.#record('publish', channel, data);
    const key = this.#hashRequest(client, channel, id);
    if (key !== undefined) this.#pendingRequests.add(key);
    if (this.#pendingRequests.size <= MAX_PENDING) return;
    const [oldest = ''] = this.#pendingRequests;
    this.#pendingRequests.delete(oldest);
    this.#bounds.skip('pending');
  }

  onUpstreamMessage(message: BayeuxMessage, client: object | undefined): void {
    const { channel, clientId, subscription = [], successful, id, data } = message;
    this.upstreamMessages += 1;
    this.#remember(clientId, 0);
    if (channel === META_SUBSCRIBE && successful === false) {
      for (const each of subscription) this.#record('forbidden', each);
    }
    if (isMeta(channel)) return;
    if (successful === false) this.#record('refused', channel);
    else if (data === undefined) this.#record('acknowledged', channel);
    else if (this.#pendingRequests.delete(this.#hashRequest(client, channel, id) ?? ''))
      this.#record('answer', channel, data);
    else this.#record('delivery', channel, data);
  }

  /** A message could not be read, because of a bug in this code. */
  onFailure(): void {
    this.#failures += 1;
  }

  /** Ends the survey. Call this once. */
  finish() {
    return {
      clientMessages: this.clientMessages,
      upstreamMessages: this.upstreamMessages,
      failures: this.#failures,
      channels: this.channels.settle((text) => this.#knownData.has(hashOf(text))),
      skipped: this.#bounds.skipped,
    };
  }

  #record(event: ChannelEvent, channel: string, data?: unknown): void {
    const tally = isMeta(channel) ? undefined : this.channels.recordOf(channel)?.tallyOf(event);
    if (tally === undefined) return;
    tally.record(data, this.#bounds);
    if (this.#matchesRule(event, channel, data)) tally.read += 1;
  }

  #matchesRule(event: ChannelEvent, channel: string, data: unknown): boolean {
    if (event === 'delivery' && this.#replyChannels.has(channel)) return true;
    return RULE_EVENTS.has(event) && this.#rules.classify(event as CometWhen, channel, data) !== undefined;
  }

  /** A hash, because ids are unique within a client only. Undefined without an id, or for an unknown client. */
  #hashRequest(client: object | undefined, channel: string, id: string | undefined): string | undefined {
    if (client === undefined || id === undefined) return undefined;
    const known = this.#clientNumbers.get(client);
    if (known === undefined) this.#clientNumbers.set(client, ++this.#clients);
    return hashOf(`${known ?? this.#clients} ${channel} ${id}`);
  }

  #remember(value: unknown, depth: number): void {
    if (typeof value === 'string' && this.#knownData.size < MAX_KNOWN_DATA) this.#knownData.add(hashOf(value));
    if (typeof value !== 'object' || value === null || depth >= MAX_EXT_DEPTH) return;
    for (const inner of Object.values(value).slice(0, MAX_EXT_FIELDS)) this.#remember(inner, depth + 1);
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

/** Events that a rule can match. */
const RULE_EVENTS: ReadonlySet<ChannelEvent> = new Set<CometWhen>(['subscribe', 'unsubscribe', 'publish', 'delivery']);
const MAX_EXT_DEPTH = 4;
const MAX_EXT_FIELDS = 20;
