import type { ReadingTask } from '../../limits/reading-share.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import { MessageBatches } from '../../protocol/bayeux/message-batches.ts';
import { parseExtensions } from '../../protocol/websocket/extensions.ts';
import { type MessageHandler, WebSocketMessageReader } from '../../protocol/websocket/message-reader.ts';
import type { Exchange, ResponseHeadView, TunnelObserver } from '../../proxy/exchange/exchange.ts';
import type { CometApplication } from './comet-application.ts';
import { Conversation } from './conversation.ts';
import type { Speaker } from './registration.ts';

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
