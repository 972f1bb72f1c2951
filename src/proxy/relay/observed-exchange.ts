import type { Framing } from '../../protocol/http1/framing.ts';
import { PayloadReader } from '../../protocol/http1/payload-reader.ts';
import { ResponseHeadFields } from '../../protocol/http1/response-head.ts';
import type { ResponseReader } from '../../protocol/http1/response-reader.ts';
import type { BodyObserver, Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';

/** Passes the bodies of one exchange to its observers. An exchange without observers has no such object. */
export class ObservedExchange {
  readonly #reporter: ExchangeReporter;
  readonly #exchange: Exchange;
  readonly #maxTrailerBytes: number;
  /** An observer may be slow: flush the bytes before calling it. */
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

  /** For an exchange that has just begun; `framing` is that of its request. Undefined without observers. */
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

  /** Call with all bytes of the request, after they are written. The body begins at `from`. */
  onRequest(bytes: Buffer, from: number, isLast: boolean): void {
    if (this.#request === undefined) return;
    this.#request.read(bytes, from, bytes.length);
    if (isLast) this.#reporter.requestEnd(this.#exchange);
  }

  /** Call after each `read` of the response, with the bytes that may be passed on. */
  onResponse(response: ResponseReader, isComplete: boolean): void {
    if (response.headEnd > 0) this.#onHead(response);
    this.#response?.read(response.bytes, response.bodyStart, response.end);
    if (isComplete) this.onResponseEnd();
  }

  /** Call when the response ended with its connection; otherwise `onResponse` has seen the end. */
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
