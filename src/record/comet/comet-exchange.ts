import { parseCallbackQuery, parseRequestText } from '../../bayeux/request-body.ts';
import { parseResponseText } from '../../bayeux/response-body.ts';
import type { Ending, Exchange, ResponseHeadView } from '../../exchange/exchange.ts';
import { detached } from '../../http1/text.ts';
import { decodeContent } from '../../websocket/content-coding.ts';
import { BodyCollector } from './body-collector.ts';
import type { CometApplication } from './comet-application.ts';
import type { CallResult } from './comet-clients.ts';
import type { UnreadReason } from './comet-metrics.ts';
import { CometTunnel, type CometTunnelServices } from './comet-tunnel.ts';
import { Conversation } from './conversation.ts';
import type { ExchangeReading } from './exchange-reading.ts';

const SWITCHING_PROTOCOLS = 101;

/** One request to the Comet endpoint: long-polling, callback-polling, or the upgrade to a WebSocket. */
export class CometExchange implements ExchangeReading {
  readonly #application: CometApplication;
  readonly #tunnels: CometTunnelServices;
  readonly #conversation: Conversation;
  #callback: string | undefined;
  /** The response's body has been read and understood. */
  #isHeard = false;

  constructor(application: CometApplication, tunnels: CometTunnelServices, exchange: Exchange) {
    const { credentials } = application;
    const { request, client } = exchange;
    this.#application = application;
    this.#tunnels = tunnels;
    this.#conversation = new Conversation(application, {
      connectionType: 'COMET_LONG_POLLING',
      path: exchange.path,
      remoteAddress: client.remoteAddress,
      traceparent: application.observers.isWanted ? copied(request.field('traceparent')) : undefined,
      userName: credentials.identify(request, client)?.userName ?? null,
      cookieToken: credentials.cookieTokenOf(request),
    });
    exchange.wantsResponse = true;
    if (request.method === 'POST') this.#readRequest(exchange);
    else if (request.method === 'GET') this.#readQuery(exchange);
  }

  #readRequest(exchange: Exchange): void {
    const { request, beganNs } = exchange;
    const type = detached(request.field('content-type') ?? '');
    const coding = copied(request.field('content-encoding'));
    exchange.requestObserver = this.#collect(coding, (text) => {
      const messages = parseRequestText(type, text);
      if (messages === undefined) this.#application.metrics.passedUnread('not-bayeux');
      else this.#conversation.onClientMessages(messages, beganNs);
    });
  }

  #readQuery({ request, beganNs }: Exchange): void {
    const asked = parseCallbackQuery(request.target);
    if (asked === undefined) return;
    this.#callback = detached(asked.callback);
    this.#conversation.onClientMessages(asked.messages, beganNs);
  }

  onResponse(exchange: Exchange, response: ResponseHeadView): void {
    if (response.status === SWITCHING_PROTOCOLS) {
      exchange.tunnelObserver = new CometTunnel(this.#application, this.#tunnels, exchange, response);
      return;
    }
    if (exchange.request.method !== 'POST' && this.#callback === undefined) return;
    const coding = copied(response.field('content-encoding'));
    const setCookieToken = this.#application.credentials.setCookieTokenOf(response.fields('set-cookie'));
    const { status } = response;
    exchange.responseObserver = this.#collect(coding, (text) => {
      const messages = parseResponseText(text, this.#callback);
      if (messages !== undefined) {
        this.#isHeard = true;
        this.#conversation.onUpstreamMessages(messages, this.#application.clock.nowNs(), setCookieToken);
      } else if (status < 400 && text !== '') {
        this.#application.metrics.passedUnread('not-bayeux');
      }
    });
  }

  onEnd(exchange: Exchange, ending: Ending): void {
    this.#conversation.onClosed(exchange.endedNs, this.#resultOfUnheard(exchange, ending));
  }

  /** What a call gets that went with this request and of which the response said nothing. */
  #resultOfUnheard({ status }: Exchange, ending: Ending): CallResult | undefined {
    if (ending.kind === 'failed') return { kind: 'failed', code: ending.failure.code };
    // Another exchange may bring the answer: of a client that left, and where this one was not understood.
    return ending.kind === 'completed' && !this.#isHeard && status >= 400 ? { kind: 'answered', status } : undefined;
  }

  #collect(coding: string | undefined, onText: (text: string) => void): BodyCollector {
    const { metrics, config } = this.#application;
    const unread = (reason: UnreadReason) => metrics.passedUnread(reason);
    return new BodyCollector(config.maxBodyBytes, (body) => {
      if (body === undefined) {
        unread('body-too-large');
        return;
      }
      const plain = decodeContent(body, coding, config.maxInflatedBytes);
      if (plain === undefined) unread('content-coding');
      else onText(plain.toString('utf8'));
    });
  }
}

/** Without the head that it was read from. */
function copied(value: string | undefined): string | undefined {
  return value === undefined ? undefined : detached(value);
}
