import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import {
  type BodyObserver,
  type ClientConnection,
  type DataPath,
  type Ending,
  Exchange,
  type ExchangeObserver,
  type RequestHead,
  type ResponseHeadView,
  type TunnelObserver,
} from './exchange.ts';
import { TunnelGuard } from './tunnel-guard.ts';

/**
 * What `relay/` and `gateway/` report exchanges to. Guards the traffic from the observer: an exception in it is counted,
 * logged once, and ends the observation of that exchange, not the exchange: its ending is still reported.
 */
export class ExchangeReporter {
  readonly #clock: Clock;
  readonly #observer: ExchangeObserver;
  readonly #logger: Logger;
  #observerErrors = 0;
  #open = 0;

  constructor(clock: Clock, observer: ExchangeObserver, logger: Logger) {
    this.#clock = clock;
    this.#observer = observer;
    this.#logger = logger;
  }

  /** Exchanges begun and not yet ended. */
  get open(): number {
    return this.#open;
  }

  get observerErrors(): number {
    return this.#observerErrors;
  }

  /** To be called at the moment the request's head has been read. */
  begin(request: RequestHead, client: ClientConnection, path: DataPath): Exchange {
    const exchange = new Exchange(request, client, path, this.#clock.nowNs());
    this.#open += 1;
    try {
      this.#observer.onBegin(exchange);
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
    return exchange;
  }

  /** The head of the final response, or of a 101, has come. Nothing is to be made of it unless `exchange.wantsResponse`. */
  response(exchange: Exchange, response: ResponseHeadView): void {
    if (!exchange.wantsResponse) return;
    try {
      this.#observer.onResponse?.(exchange, response);
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
  }

  requestBytes(exchange: Exchange, payload: Buffer): void {
    this.#bytes(exchange, exchange.requestObserver, payload);
  }

  requestEnd(exchange: Exchange): void {
    this.#end(exchange, exchange.requestObserver);
  }

  responseBytes(exchange: Exchange, payload: Buffer): void {
    this.#bytes(exchange, exchange.responseObserver, payload);
  }

  responseEnd(exchange: Exchange): void {
    this.#end(exchange, exchange.responseObserver);
  }

  /** Who is to be told of the tunnel behind an accepted upgrade: never throws, and passes one closing on. */
  tunnelOf(exchange: Exchange): TunnelObserver | undefined {
    const observer = exchange.tunnelObserver;
    return observer && new TunnelGuard(observer, (cause) => this.#observerFailed(cause));
  }

  /** Now, as `end` takes it. */
  nowNs(): number {
    return this.#clock.nowNs();
  }

  /**
   * Reports the ending; a second one is ignored, so callers may report from every event that could be the last. `endedNs`:
   * when it came, where something was done before it is reported.
   */
  end(exchange: Exchange, ending: Ending, endedNs: number = this.#clock.nowNs()): void {
    if (!exchange.markEnded(endedNs)) return;
    this.#open -= 1;
    try {
      this.#observer.onEnd(exchange, ending);
    } catch (cause) {
      this.#observerFailed(cause);
    }
    // A request's body may go on behind an early response: nobody is left who could be told.
    exchange.requestObserver = undefined;
    exchange.responseObserver = undefined;
  }

  #bytes(exchange: Exchange, observer: BodyObserver | undefined, payload: Buffer): void {
    if (observer === undefined) return;
    try {
      observer.onBytes(payload);
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
  }

  #end(exchange: Exchange, observer: BodyObserver | undefined): void {
    if (observer === undefined) return;
    try {
      observer.onEnd();
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
  }

  #observationFailed(exchange: Exchange, cause: unknown): void {
    exchange.unobserve();
    this.#observerFailed(cause);
  }

  #observerFailed(cause: unknown): void {
    this.#observerErrors += 1;
    // Once: a broken observer would otherwise write a line for each request. The name only, since a message could hold input.
    if (this.#observerErrors > 1) return;
    const name = cause instanceof Error ? cause.name : typeof cause;
    this.#logger.error({ error: name }, 'an observer failed; traffic goes on unobserved');
  }
}
