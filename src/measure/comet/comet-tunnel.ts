import type { ReadingTask } from '../../limits/reading-share.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import { MessageBatches } from '../../protocol/bayeux/message-batches.ts';
import { parseExtensions } from '../../protocol/websocket/extensions.ts';
import { type MessageHandler, WebSocketMessageReader } from '../../protocol/websocket/message-reader.ts';
import type { FurtherSteps } from '../../protocol/websocket/message-reading.ts';
import type { Exchange, ResponseHeadView, TunnelObserver } from '../../proxy/exchange/exchange.ts';
import type { CometApplication } from './comet-application.ts';
import { Conversation } from './conversation.ts';
import type { Speaker } from './registration.ts';

/** Receives the messages of one text in batches, and then its end. */
interface TextReader {
  onMessages(messages: readonly BayeuxMessage[], atNs: number): void;
  onEnd?(atNs: number): void;
}

export type RequestLogin = Pick<Speaker, 'cookieToken' | 'stated'>;

export class CometTunnel implements TunnelObserver {
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
      this.#handler({ onMessages: (messages, atNs) => this.#conversation.onClientMessages(messages, atNs) }),
    );
    this.#upstream = new WebSocketMessageReader(
      { from: 'upstream', deflate: extensions.deflate?.upstream, ...limits },
      this.#handler({
        onMessages: (messages, atNs) => this.#conversation.onUpstreamMessages(messages, atNs),
        onEnd: (atNs) => this.#conversation.onUpstreamEnd(atNs),
      }),
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

  #handler(reader: TextReader): MessageHandler {
    const { metrics } = this.#application;
    return {
      onText: (text, atNs) => this.#readText(new MessageBatches(text), reader, atNs),
      onBinary: () => metrics.passedUnread('binary'),
      onUnread: (reason) => metrics.passedUnread(reason),
    };
  }

  /** Reads the first batch of a text. The returned function, if any, reads the next one. */
  #readText(batches: MessageBatches, reader: TextReader, atNs: number): FurtherSteps | undefined {
    const readBatch = (): boolean => {
      const batch = batches.next();
      if (typeof batch === 'string') this.#application.metrics.passedUnread(batch);
      else if (batch !== undefined) reader.onMessages(batch, atNs);
      if (batches.isDone) reader.onEnd?.(atNs);
      return !batches.isDone;
    };
    return readBatch() ? readBatch : undefined;
  }
}
