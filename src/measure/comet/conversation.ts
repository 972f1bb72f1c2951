/** Interprets the messages of one exchange or WebSocket in the order in which they passed; sees no bytes. */

import { NS_PER_MS } from '../../base/clock.ts';
import { type BayeuxMessage, parseErrorCode } from '../../protocol/bayeux/message.ts';
import { detached } from '../../protocol/http1/text.ts';
import { isFailedReply, readReplyId } from '../classify/comet-classifier.ts';
import {
  type BayeuxClient,
  type CallResult,
  type CallSource,
  type PendingCall,
  type PendingRequest,
  PendingRequests,
} from './bayeux-client.ts';
import type { CometApplication } from './comet-application.ts';
import type { HoldEnding } from './comet-metrics.ts';
import { Registration, type Speaker } from './registration.ts';

/** How late a connect may be beyond the advised interval: clients and networks need some time. */
const CONNECT_GRACE_NS = 1_000 * NS_PER_MS;
/** Key prefix of a monitoring that was requested with a message to a service, not with a channel subscription. */
const BY_SERVICE = 'said:';

export class Conversation {
  readonly #application: CometApplication;
  readonly #speaker: Speaker;
  readonly #source: CallSource;
  readonly #registration: Registration;
  readonly #requests: PendingRequests;
  /** The calls of this exchange. Empty for a WebSocket, where only their answers tell how they end. */
  readonly #calls: { readonly client: BayeuxClient; readonly pending: PendingCall }[] = [];
  /** Clients whose calls began before the server was seen to know them. */
  readonly #unconfirmed = new Set<BayeuxClient>();
  #hold: { readonly client: BayeuxClient; readonly beganNs: number } | undefined;
  /** The reply to `/meta/connect` in the response or WebSocket text that is being read. */
  #connectReply: BayeuxMessage | undefined;
  #hasDelivery = false;
  /** The client of this exchange has left before it took the response. */
  hasClientLeft = false;

  constructor(application: CometApplication, speaker: Speaker) {
    this.#application = application;
    this.#requests = new PendingRequests(application.memory);
    this.#speaker = speaker;
    this.#source = { application: application.name, traceparent: speaker.traceparent, isClosed: false };
    this.#registration = new Registration(application, speaker);
  }

  onClientMessages(messages: readonly BayeuxMessage[], atNs: number): void {
    this.#application.metrics.counts.clientMessages += messages.length;
    for (const message of messages) {
      this.#onClientMessage(message, atNs);
      this.#tell('onClientMessage', message);
    }
  }

  #tell(event: 'onClientMessage' | 'onUpstreamMessage', message: BayeuxMessage): void {
    const { listener } = this.#application;
    if (listener === undefined) return;
    try {
      listener[event](message, this.#registration.current);
    } catch {
      // Counted but not shown: the text of an exception may quote the message.
      listener.onFailure();
    }
  }

  #onClientMessage(message: BayeuxMessage, atNs: number): void {
    if (message.channel === '/meta/handshake') {
      this.#application.metrics.handshakeRequested(atNs);
      const userName = this.#application.userOf(message);
      const offersWebSocket = message.supportedConnectionTypes?.includes('websocket') === true;
      this.#addRequest(message, { kind: 'handshake', requestedNs: atNs, userName, offersWebSocket });
      return;
    }
    const client = this.#registration.clientOf(message, atNs);
    if (client === undefined) return;
    this.#registration.speaksAs(client);
    switch (message.channel) {
      case '/meta/connect':
        this.#onConnect(client, atNs);
        return;
      case '/meta/disconnect':
        this.#addRequest(message, { kind: 'disconnect', client });
        return;
      case '/meta/subscribe':
        this.#onSubscription('subscribe', client, message, atNs);
        return;
      case '/meta/unsubscribe':
        this.#onSubscription('unsubscribe', client, message, atNs);
        return;
      default:
        if (!message.channel.startsWith('/meta/')) this.#onPublish(client, message, atNs);
    }
  }

  #onConnect(client: BayeuxClient, atNs: number): void {
    const { metrics } = this.#application;
    const lateNs = atNs - client.lastConnectedNs - client.adviceIntervalMs * NS_PER_MS;
    if (client.lastConnectedNs > 0 && lateNs > CONNECT_GRACE_NS) metrics.counts.connectGaps += 1;
    if (this.#registration.isWebSocket) {
      client.couldUseWebSocket = true;
    } else if (client.couldUseWebSocket && !client.hasFallenBack) {
      client.hasFallenBack = true;
      metrics.counts.fallbacks += 1;
    }
    this.#endHold('broken', atNs);
    // Not a call: the server holds the request until it has messages. `CometMetrics` counts and times the hold.
    this.#hold = { client, beganNs: atNs };
    metrics.holds.now += 1;
    this.#registration.connecting(client);
  }

  #onSubscription(kind: 'subscribe' | 'unsubscribe', client: BayeuxClient, message: BayeuxMessage, atNs: number): void {
    client.session?.touch(atNs);
    const monitorings = new Map<string, string>();
    for (const channel of message.subscription ?? []) {
      const meaning = this.#application.classifier.classify(kind, channel, undefined);
      if (meaning?.kind === 'object') monitorings.set(channel, meaning.name);
    }
    if (monitorings.size > 0) this.#addRequest(message, { kind, client, monitorings });
  }

  #onPublish(client: BayeuxClient, message: BayeuxMessage, atNs: number): void {
    client.session?.touch(atNs);
    const meaning = this.#application.classifier.classify('publish', message.channel, message.data);
    if (meaning === undefined || meaning.action === 'value') return;
    if (meaning.action === 'call') {
      const id = readReplyId(meaning.reply, message);
      // Without an id not even the client can match the answer.
      if (id === undefined) return;
      const channel = meaning.reply.channel ?? detached(message.channel);
      const { session } = client;
      const { connectionType, remoteAddress } = this.#speaker;
      const pending: PendingCall = {
        ...{ call: meaning, channel, id, source: this.#source, connectionType, remoteAddress },
        ...{ beganNs: atNs, session, ackedNs: 0, threadDump: undefined },
        place: -1,
        clientWaitAt: () => 0,
      };
      if (!client.calls.add(pending)) {
        this.#application.metrics.untracked.calls += 1;
        return;
      }
      if (!client.isKnown) this.#unconfirmed.add(client);
      session?.callBegan(atNs);
      if (!this.#registration.isWebSocket) this.#calls.push({ client, pending });
      return;
    }
    const monitorings = new Map([[`${BY_SERVICE}${meaning.name}`, meaning.name]]);
    if (message.id !== undefined) this.#addRequest(message, { kind: meaning.action, client, monitorings });
    // Without an id a refusal could not be matched, so it takes effect at once.
    else this.#apply(meaning.action, client, monitorings);
  }

  #addRequest(message: BayeuxMessage, request: PendingRequest): void {
    if (!this.#requests.add(message, request)) this.#application.metrics.untracked.requests += 1;
  }

  /** A batch of a response or WebSocket text, then `onUpstreamEnd`. `from`: the login in the response's head. */
  onUpstreamMessages(
    messages: readonly BayeuxMessage[],
    atNs: number,
    from: Partial<Pick<Registration, 'setCookieToken' | 'statedByServer'>> = {},
  ): void {
    this.#application.metrics.counts.upstreamMessages += messages.length;
    this.#registration.setCookieToken = from.setCookieToken;
    this.#registration.statedByServer = from.statedByServer;
    for (const message of messages) {
      if (message.channel === '/meta/connect') this.#connectReply = message;
      else if (message.channel.startsWith('/meta/')) this.#onMetaReply(message, atNs);
      else if (this.#onUpstreamData(message, atNs)) this.#hasDelivery = true;
      this.#tell('onUpstreamMessage', message);
    }
  }

  onUpstreamEnd(atNs: number): void {
    const reply = this.#connectReply;
    const hasDelivery = this.#hasDelivery;
    this.#connectReply = undefined;
    this.#hasDelivery = false;
    // Handled last, whatever its position: the other messages decide how the hold ended.
    if (reply === undefined) return;
    const client = this.#hold?.client ?? this.#registration.current;
    this.#endHold(hasDelivery ? 'delivery' : 'empty', atNs);
    if (client === undefined) return;
    takeAdvice(client, reply);
    client.lastConnectedNs = atNs;
    if (reply.successful === true) this.#registration.confirm(client, 'heartbeat', atNs);
    else this.#registration.endIfUnknown(reply, client);
  }

  #onMetaReply(message: BayeuxMessage, atNs: number): void {
    const request = this.#requests.take(message);
    if (request === undefined) {
      this.#registration.endIfUnknown(message, this.#registration.current);
    } else if (request.kind === 'handshake') {
      this.#onHandshakeReply(message, request, atNs);
    } else if (message.successful === true) {
      this.#registration.confirm(request.client, 'activity', atNs);
      if (request.kind === 'disconnect') this.#application.clients.end(request.client);
      else this.#apply(request.kind, request.client, request.monitorings);
    } else {
      this.#registration.endIfUnknown(message, request.client);
    }
  }

  #onHandshakeReply(
    message: BayeuxMessage,
    request: Extract<PendingRequest, { kind: 'handshake' }>,
    atNs: number,
  ): void {
    const { clientId, successful } = message;
    if (successful !== true || clientId === undefined) {
      this.#application.metrics.counts.refused += 1;
      return;
    }
    this.#application.metrics.counts.accepted += 1;
    this.#registration.handshaken({ ...message, clientId }, request, atNs);
    takeAdvice(this.#registration.current, message);
  }

  /** True for a delivery, false for an acknowledgement. */
  #onUpstreamData(message: BayeuxMessage, atNs: number): boolean {
    const client = this.#registration.clientOf(message, atNs);
    const pending = client?.calls.find(message);
    if (client !== undefined && pending !== undefined) {
      this.#onAnswer(client, pending, message, atNs);
      return message.data !== undefined;
    }
    if (message.successful !== undefined && message.data === undefined) {
      this.#onAcknowledged(client, message, atNs);
      return false;
    }
    const meaning = this.#application.classifier.classify('delivery', message.channel, message.data);
    if (meaning?.action === 'value') this.#application.clients.received(client, meaning.name);
    return true;
  }

  #onAnswer(client: BayeuxClient, pending: PendingCall, message: BayeuxMessage, atNs: number): void {
    if (message.successful === false) {
      const code = parseErrorCode(message.error);
      // An error in any case. Codes 400 to 499 create no name, since any client can provoke them.
      const isClientError = code !== undefined && code >= 400 && code < 500;
      const kind = isClientError ? 'refused' : 'answered';
      this.#endCall(client, pending, { kind, status: isClientError ? code : 500 }, atNs);
      this.#registration.endIfUnknown(message, client);
      return;
    }
    this.#registration.confirm(client, 'activity', atNs);
    if (message.data !== undefined) {
      const status = isFailedReply(pending.call.reply, message) ? 500 : 200;
      this.#endCall(client, pending, { kind: 'answered', status }, atNs);
    } else if (pending.ackedNs === 0) {
      pending.ackedNs = atNs;
    }
  }

  #onAcknowledged(client: BayeuxClient | undefined, message: BayeuxMessage, atNs: number): void {
    const request = this.#requests.take(message);
    if (message.successful !== true) {
      this.#registration.endIfUnknown(message, client);
      return;
    }
    if (client !== undefined) this.#registration.confirm(client, 'activity', atNs);
    if (request?.kind === 'subscribe' || request?.kind === 'unsubscribe') {
      this.#apply(request.kind, request.client, request.monitorings);
    }
  }

  /** `unanswered`: the result of this exchange's unanswered calls; undefined: another exchange may bring the answers. */
  onClosed(atNs: number, unanswered?: CallResult): void {
    this.#endHold('broken', atNs);
    this.#registration.closed(atNs);
    this.#source.isClosed = this.hasClientLeft || this.#registration.isWebSocket;
    this.#requests.clear();
    if (unanswered !== undefined) {
      for (const { client, pending } of this.#calls) {
        if (pending.ackedNs === 0) this.#endCall(client, pending, unanswered, atNs);
      }
    }
    // A client that the server never confirmed is in no other table; its calls free their memory here.
    for (const client of this.#unconfirmed) if (!client.isKnown) client.calls.takeAll();
  }

  #endHold(ending: HoldEnding, atNs: number): void {
    if (this.#hold === undefined) return;
    this.#application.metrics.holdEnded(ending, atNs - this.#hold.beganNs, atNs);
    this.#hold = undefined;
  }

  #endCall(client: BayeuxClient, pending: PendingCall, result: CallResult, atNs: number): void {
    const ended: CallResult = this.hasClientLeft ? { kind: 'aborted' } : result;
    if (client.calls.take(pending)) this.#application.clients.callEnded(client, pending, ended, atNs);
  }

  #apply(kind: 'subscribe' | 'unsubscribe', client: BayeuxClient, monitorings: ReadonlyMap<string, string>): void {
    const { clients } = this.#application;
    // An unknown client is not kept, so nothing would ever end its monitorings.
    if (!client.isKnown) return;
    for (const [key, name] of monitorings) {
      if (kind === 'subscribe') clients.subscribe(client, key, name);
      else clients.unsubscribe(client, key);
    }
  }
}

function takeAdvice(client: BayeuxClient | undefined, { adviceIntervalMs }: BayeuxMessage): void {
  if (client !== undefined && adviceIntervalMs !== undefined) client.adviceIntervalMs = Math.max(0, adviceIntervalMs);
}
