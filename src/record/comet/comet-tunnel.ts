import { parseMessages } from '../../bayeux/message.ts';
import type { Exchange, ResponseHeadView, TunnelObserver } from '../../exchange/exchange.ts';
import { parseExtensions } from '../../websocket/extensions.ts';
import type { MemoryBudget } from '../../websocket/memory-budget.ts';
import { type MessageHandler, WebSocketMessageReader } from '../../websocket/message-reader.ts';
import type { CometApplication } from './comet-application.ts';
import { Conversation } from './conversation.ts';

export interface CometTunnelServices {
  /** For the windows of all compressed WebSockets together. */
  readonly budget: MemoryBudget;
}

/** A WebSocket that carries Bayeux messages, both directions. */
export class CometTunnel implements TunnelObserver {
  readonly #application: CometApplication;
  readonly #conversation: Conversation;
  /** Undefined where an extension was agreed that nobody here can read. */
  readonly #client: WebSocketMessageReader | undefined;
  readonly #upstream: WebSocketMessageReader | undefined;

  constructor(
    application: CometApplication,
    { budget }: CometTunnelServices,
    { request, client, path }: Exchange,
    response: ResponseHeadView,
  ) {
    const { credentials, config, metrics } = application;
    this.#application = application;
    this.#conversation = new Conversation(application, {
      connectionType: 'COMET_WEBSOCKET',
      path,
      remoteAddress: client.remoteAddress,
      traceparent: undefined,
      userName: credentials.identify(request, client)?.userName ?? null,
      cookieToken: credentials.setCookieTokenOf(response.fields('set-cookie')) ?? credentials.cookieTokenOf(request),
    });
    const extensions = parseExtensions(response.fields('sec-websocket-extensions'));
    if (extensions === 'unknown') {
      metrics.passedUnread('extension');
      return;
    }
    const limits = { maxMessageBytes: config.maxBodyBytes, maxInflatedBytes: config.maxInflatedBytes, budget };
    this.#client = new WebSocketMessageReader(
      { from: 'client', deflate: extensions.deflate?.client, ...limits },
      this.#handler((messages) => this.#conversation.onClientMessages(messages, application.clock.nowNs())),
    );
    this.#upstream = new WebSocketMessageReader(
      { from: 'upstream', deflate: extensions.deflate?.upstream, ...limits },
      this.#handler((messages) => this.#conversation.onUpstreamMessages(messages, application.clock.nowNs())),
    );
  }

  onClientBytes(bytes: Buffer): void {
    this.#client?.push(bytes);
  }

  onUpstreamBytes(bytes: Buffer): void {
    this.#upstream?.push(bytes);
  }

  onClosed(): void {
    this.#client?.close();
    this.#upstream?.close();
    this.#conversation.onClosed(this.#application.clock.nowNs());
  }

  #handler(onMessages: (messages: NonNullable<ReturnType<typeof parseMessages>>) => void): MessageHandler {
    const { metrics } = this.#application;
    return {
      onText: (text) => {
        const messages = parseMessages(text);
        if (messages === undefined) metrics.passedUnread('not-bayeux');
        else onMessages(messages);
      },
      onBinary: () => metrics.passedUnread('binary'),
      onUnread: (reason) => metrics.passedUnread(reason),
    };
  }
}
