import type { Framing } from '../../protocol/http1/framing.ts';
import { PayloadReader } from '../../protocol/http1/payload-reader.ts';
import { ResponseHeadFields } from '../../protocol/http1/response-head.ts';
import type { ResponseReader } from '../../protocol/http1/response-reader.ts';
import type { BodyObserver, Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';

/**
 * Reads the bodies of one exchange to its observers, out of the bytes that the relay passes on. There is none for an exchange
 * without observers: the relay then only sees that it is undefined.
 */
export class ObservedExchange {
  readonly #reporter: ExchangeReporter;
  readonly #exchange: Exchange;
  readonly #maxTrailerBytes: number;
  /** Bytes are to be on their way before it is told of them. */
  readonly takesTime: boolean;
  readonly #request: PayloadReader | undefined;
  #response: PayloadReader | undefined;

  private constructor(reporter: ExchangeReporter, exchange: Exchange, framing: Framing, maxTrailerBytes: number) {
    this.#reporter = reporter;
    this.#exchange = exchange;
    this.#maxTrailerBytes = maxTrailerBytes;
    const { requestObserver, responseObserver, wantsResponse } = exchange;
    this.takesTime = wantsResponse || isSlow(requestObserver) || isSlow(responseObserver);
    if (requestObserver === undefined) return;
    this.#request = new PayloadReader(framing, maxTrailerBytes, (payload) => reporter.requestBytes(exchange, payload));
  }

  /** For an exchange that has just begun; `framing` is its request's. Undefined when nobody wants to know more of it. */
  static of(
    reporter: ExchangeReporter,
    exchange: Exchange,
    framing: Framing,
    maxTrailerBytes: number,
  ): ObservedExchange | undefined {
    const { requestObserver, responseObserver, wantsResponse } = exchange;
    if (requestObserver === undefined && responseObserver === undefined && !wantsResponse) return undefined;
    return new ObservedExchange(reporter, exchange, framing, maxTrailerBytes);
  }

  /** To be called with all bytes of the request, once they are on their way; `from` is where the body begins in them. */
  onRequest(bytes: Buffer, from: number, isLast: boolean): void {
    if (this.#request === undefined) return;
    this.#request.read(bytes, from, bytes.length);
    if (isLast) this.#reporter.requestEnd(this.#exchange);
  }

  /** To be called after each `read`, with what may be passed on by it. */
  onResponse(response: ResponseReader, isComplete: boolean): void {
    if (response.headEnd > 0) this.#onHead(response);
    this.#response?.read(response.bytes, response.bodyStart, response.end);
    if (isComplete) this.onResponseEnd();
  }

  /** To be called when the end of the connection was the end of the response; else `onResponse` has seen it. */
  onResponseEnd(): void {
    this.#reporter.responseEnd(this.#exchange);
  }

  #onHead(response: ResponseReader): void {
    if (response.head === undefined) return;
    const { status, framing } = response.head;
    if (this.#exchange.wantsResponse) {
      this.#reporter.response(this.#exchange, new ResponseHeadFields(status, response.headText));
    }
    if (this.#exchange.responseObserver === undefined) return;
    this.#response = new PayloadReader(framing, this.#maxTrailerBytes, (payload) => {
      this.#reporter.responseBytes(this.#exchange, payload);
    });
  }
}

function isSlow(observer: BodyObserver | undefined): boolean {
  return observer !== undefined && observer.isQuick !== true;
}
