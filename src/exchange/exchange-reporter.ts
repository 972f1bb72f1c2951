import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import {
  type ClientConnection,
  type DataPath,
  type Ending,
  Exchange,
  type ExchangeObserver,
  type RequestHead,
} from './exchange.ts';

/**
 * What `relay/` and `gateway/` report exchanges to. Guards the traffic from the observer: an exception in it is counted,
 * logged once, and ends the observation of that exchange, not the exchange.
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
      this.#observerFailed(cause);
    }
    return exchange;
  }

  /** Reports the ending; a second one is ignored, so callers may report from every event that could be the last. */
  end(exchange: Exchange, ending: Ending): void {
    if (!exchange.markEnded(this.#clock.nowNs())) return;
    this.#open -= 1;
    try {
      this.#observer.onEnd(exchange, ending);
    } catch (cause) {
      this.#observerFailed(cause);
    }
  }

  #observerFailed(cause: unknown): void {
    this.#observerErrors += 1;
    // Once: a broken observer would otherwise write a line for each request. The name only, since a message could hold input.
    if (this.#observerErrors > 1) return;
    const name = cause instanceof Error ? cause.name : typeof cause;
    this.#logger.error({ error: name }, 'an observer failed; traffic goes on unobserved');
  }
}
