import { addressKeyOf } from '../../limits/address-counts.ts';
import type { ReadingTask } from '../../limits/reading-share.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import { MessageBatches } from '../../protocol/bayeux/message-batches.ts';
import { parseCallbackQuery, selectRequestTexts, selectResponseText } from '../../protocol/bayeux/request-body.ts';
import { detached } from '../../protocol/http1/text.ts';
import { parseExtensions } from '../../protocol/websocket/extensions.ts';
import { type MessageHandler, WebSocketMessageReader } from '../../protocol/websocket/message-reader.ts';
import type { Ending, Exchange, RequestHead, ResponseHeadView, TunnelObserver } from '../../proxy/exchange/exchange.ts';
import type { CallResult } from './bayeux-client.ts';
import { BodyReading } from './body-reading.ts';
import type { CometApplication } from './comet-application.ts';
import { Conversation } from './conversation.ts';
import type { Speaker } from './registration.ts';

const SWITCHING_PROTOCOLS = 101;
const MAX_FIELD_CHARS = 256;

/**
 * One request to the Comet endpoint: long-polling, callback-polling, or the upgrade to a WebSocket. Not parsed until
 * the server has accepted it (2xx), so that refused ones cost nothing; that of a client that the server has accepted
 * before is parsed at once, since its calls and holds must be known while they are running.
 */
export class CometExchange {
  readonly #application: CometApplication;
  /** Names the queue in which readings of this client wait. It does not change while one waits. */
  readonly #clientKey: () => string;
  readonly #conversation: Conversation;
  readonly #isKnown: boolean;
  readonly #login: RequestLogin;
  /** The body of a POST, or the query of a GET. */
  #request: BodyReading | undefined;
  #response: BodyReading | undefined;
  /** When the response was whole. */
  #answeredNs = 0;
  #isAccepted = false;
  /** Token of a client that the server has been seen to know. */
  #clientToken: string | undefined;
  #isRead = false;
  /** The conversation has received messages. */
  #isOpen = false;
  #callback: string | undefined;
  /** The response body held Bayeux messages. */
  #isUnderstood = false;

  constructor(application: CometApplication, exchange: Exchange, request: RequestHead) {
    const { credentials, sessions } = application;
    const { client, beganNs } = exchange;
    this.#application = application;
    const cookieToken = credentials.cookieTokenOf(request, sessions);
    const stated = credentials.statedNameOf(request, client);
    this.#login = { cookieToken, stated };
    this.#isKnown = cookieToken !== undefined && sessions.recognise(cookieToken, beganNs) !== undefined;
    // Known clients have their own queue, so that users behind one address do not wait for each other.
    this.#clientKey = () => (this.#isKnown ? cookieToken : this.#clientToken) ?? addressKeyOf(client.remoteAddress);
    this.#conversation = new Conversation(application, {
      connectionType: 'COMET_LONG_POLLING',
      remoteAddress: client.remoteAddress,
      traceparent: application.observers.isWanted ? copied(request.field('traceparent')) : undefined,
      stated,
      cookieToken,
    });
    exchange.wantsResponse = true;
    if (request.method === 'POST') {
      const type = copied(request.field('content-type'));
      const coding = copied(request.field('content-encoding'));
      this.#request = this.#readingOf(coding, beganNs, (body) => selectRequestTexts(type, body));
      exchange.requestObserver = this.#request;
    } else if (request.method === 'GET') this.#takeQuery(exchange, request);
  }

  #takeQuery({ beganNs }: Exchange, request: RequestHead): void {
    const queryAt = request.target.indexOf('?');
    // Most GETs are upgrades to a WebSocket.
    if (queryAt < 0 || !request.target.includes('message=', queryAt)) return;
    this.#request = this.#readingOf(undefined, beganNs, (query) => {
      const parsed = parseCallbackQuery(query);
      this.#callback = copied(parsed?.callback);
      return parsed?.texts ?? [];
    });
    this.#request.onBytes(Buffer.from(request.target.slice(queryAt + 1), 'latin1'));
    this.#request.onEnd();
  }

  #readingOf(
    coding: string | undefined,
    beganNs: number,
    parseTexts: (body: string) => readonly string[],
  ): BodyReading {
    return new BodyReading({
      ...{ application: this.#application, coding, parseTexts },
      onWhole: () => this.#onRequestWhole(),
      onMessages: (messages) => {
        this.#isOpen = true;
        this.#conversation.onClientMessages(messages, beganNs);
      },
      onUnread: (reason) => this.#application.metrics.passedUnread(reason),
    });
  }

  #onRequestWhole(): void {
    const { reading } = this.#application;
    if (this.#isKnown || this.#isAccepted || this.#isOfKnownClient()) this.#readRequest();
    // The answer to the client's handshake may still wait to be read.
    else if (reading.waitingBytes > 0 && reading.hasRoom(this.#clientKey)) {
      reading.runAfter(this.#clientKey, () => {
        if (!this.#isRead && this.#request?.state === 'whole' && this.#isOfKnownClient()) this.#readRequest();
      });
    }
  }

  #isOfKnownClient(): boolean {
    const { clients, credentials } = this.#application;
    const clientId = this.#request?.peekClientId();
    const token = clientId === undefined ? undefined : credentials.clientTokenOf(clientId);
    if (token === undefined || !clients.isKnown(token)) return false;
    this.#clientToken = token;
    return true;
  }

  #readRequest(): void {
    if (this.#request?.state !== 'whole' || this.#isRead) return;
    this.#isRead = true;
    const { reading, clock } = this.#application;
    reading.read(this.#clientKey, this.#request, clock.nowNs());
  }

  onResponse(exchange: Exchange, response: ResponseHeadView): void {
    const { status } = response;
    if (status === SWITCHING_PROTOCOLS) {
      this.#request?.drop();
      exchange.tunnelObserver = new CometTunnel(this.#application, exchange, this.#login, response);
      return;
    }
    this.#isAccepted = status >= 200 && status <= 299;
    if (this.#isAccepted) this.#readRequest();
    else if (!this.#isRead) this.#request?.drop();
    if (this.#request === undefined || !(this.#isAccepted || this.#isRead)) return;
    this.#collectResponse(exchange, response);
  }

  #collectResponse(exchange: Exchange, response: ResponseHeadView): void {
    const { clock, metrics, credentials } = this.#application;
    const { status } = response;
    const from = {
      setCookieToken: credentials.setCookieTokenOf(response.fields('set-cookie')),
      statedByServer: credentials.statedBy(response),
    };
    let isEmpty = false;
    const body = new BodyReading({
      application: this.#application,
      coding: copied(response.field('content-encoding')),
      parseTexts: (text) => {
        isEmpty = text === '';
        return [selectResponseText(text, this.#callback)];
      },
      onWhole: () => {
        this.#answeredNs = clock.nowNs();
      },
      onMessages: (messages) => {
        this.#isOpen = true;
        this.#isUnderstood = true;
        this.#conversation.onUpstreamMessages(messages, this.#answeredNs, from);
      },
      onRead: () => this.#conversation.onUpstreamEnd(this.#answeredNs),
      // Error pages and empty bodies need not be Bayeux.
      onUnread: (reason) => {
        if (reason !== 'not-bayeux' || (status < 400 && !isEmpty)) metrics.passedUnread(reason);
      },
    });
    this.#response = body;
    exchange.responseObserver = body;
  }

  onEnd(exchange: Exchange, ending: Ending): void {
    if (!this.#isRead) this.#request?.drop();
    this.#conversation.hasClientLeft = ending.kind === 'cancelled';
    const { reading } = this.#application;
    if (this.#response?.state === 'whole') reading.read(this.#clientKey, this.#response, this.#answeredNs);
    // An interrupted body never becomes complete.
    else if (this.#response?.state === 'collecting') this.#response.drop();
    // A body that passed unread needs no end: it would only wait in the queue, and keep this exchange.
    if (!this.#isOpen && this.#request?.isWaiting !== true && this.#response?.isWaiting !== true) return;
    const { endedNs, status } = exchange;
    reading.runAfter(this.#clientKey, () => {
      // Of this request's calls without an answer in its response. They stay pending if the client left or the response
      // was not understood: another exchange may bring the answer.
      let unanswered: CallResult | undefined;
      if (ending.kind === 'failed') unanswered = { kind: 'failed', code: ending.failure.code };
      else if (ending.kind === 'completed' && !this.#isUnderstood && status >= 400)
        unanswered = { kind: 'answered', status };
      this.#conversation.onClosed(endedNs, unanswered);
    });
  }
}

/** A copy that does not keep the request or response head in memory. Longer values have no meaning here. */
function copied(value: string | undefined): string | undefined {
  return value === undefined ? undefined : detached(value.slice(0, MAX_FIELD_CHARS));
}

type RequestLogin = Pick<Speaker, 'cookieToken' | 'stated'>;

class CometTunnel implements TunnelObserver {
  readonly #application: CometApplication;
  /** Names the queue in which readings of this client wait. */
  readonly #clientKey: () => string;
  readonly #conversation: Conversation;
  /** Undefined if the peers agreed on an extension that cannot be read. */
  readonly #client: WebSocketMessageReader | undefined;
  readonly #upstream: WebSocketMessageReader | undefined;

  constructor(application: CometApplication, { client }: Exchange, login: RequestLogin, response: ResponseHeadView) {
    const { credentials, sessions, config, metrics, memory, bodies, reading, frameRate, clock } = application;
    this.#application = application;
    const cookieToken = credentials.setCookieTokenOf(response.fields('set-cookie')) ?? login.cookieToken;
    const isKnown = cookieToken !== undefined && sessions.recognise(cookieToken, clock.nowNs()) !== undefined;
    // Its own queue: the server has accepted this client, and other clients of the same address must not wait for it.
    this.#clientKey = () => (isKnown ? cookieToken : `${client.remoteAddress} ${client.remotePort}`);
    this.#conversation = new Conversation(application, {
      connectionType: 'COMET_WEBSOCKET',
      remoteAddress: client.remoteAddress,
      traceparent: undefined,
      stated: credentials.statedBy(response) ?? login.stated,
      cookieToken,
    });
    const extensions = parseExtensions(response.fields('sec-websocket-extensions'));
    if (extensions === 'unknown') {
      metrics.passedUnread('extension');
      return;
    }
    const { maxBodyBytes: maxMessageBytes, maxInflatedBytes } = config;
    const nowNs = () => clock.nowNs();
    const read = (message: ReadingTask, atNs: number) => reading.read(this.#clientKey, message, atNs);
    const hasRoom = () => reading.hasRoom(this.#clientKey);
    const limits = { maxMessageBytes, maxInflatedBytes, budget: memory, bodies, read, nowNs, frameRate, hasRoom };
    this.#client = new WebSocketMessageReader(
      { from: 'client', deflate: extensions.deflate?.client, ...limits },
      this.#createHandler((messages, atNs) => this.#conversation.onClientMessages(messages, atNs)),
    );
    this.#upstream = new WebSocketMessageReader(
      { from: 'upstream', deflate: extensions.deflate?.upstream, ...limits },
      this.#createHandler(
        (messages, atNs) => this.#conversation.onUpstreamMessages(messages, atNs),
        (atNs) => this.#conversation.onUpstreamEnd(atNs),
      ),
    );
  }

  onClientBytes(bytes: Buffer): void {
    this.#client?.push(bytes);
  }

  onUpstreamBytes(bytes: Buffer): void {
    this.#upstream?.push(bytes);
  }

  onClosed(): void {
    const closedNs = this.#application.clock.nowNs();
    this.#client?.close();
    this.#upstream?.close();
    this.#application.reading.runAfter(this.#clientKey, () => this.#conversation.onClosed(closedNs));
  }

  /** Reads each text in batches; `onEnd` follows the last one. */
  #createHandler(
    onMessages: (messages: readonly BayeuxMessage[], atNs: number) => void,
    onEnd?: (atNs: number) => void,
  ): MessageHandler {
    const { metrics } = this.#application;
    const onText: MessageHandler['onText'] = (text, atNs) => {
      const batches = new MessageBatches(text);
      const readBatch = (): boolean => {
        const batch = batches.next();
        if (typeof batch === 'string') metrics.passedUnread(batch);
        else if (batch !== undefined) onMessages(batch, atNs);
        if (batches.isDone) onEnd?.(atNs);
        return !batches.isDone;
      };
      // The first batch now. The returned function, if any, reads the next one.
      return readBatch() ? readBatch : undefined;
    };
    return {
      onText,
      onBinary: () => metrics.passedUnread('binary'),
      onUnread: (reason) => metrics.passedUnread(reason),
    };
  }
}
