import type { RequestReader } from '../../protocol/http1/request-reader.ts';
import type { ResponseReader } from '../../protocol/http1/response-reader.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';

/**
 * Reports when an exchange begins and ends to wait for its client: for bytes of the request's body that the upstream
 * would take, or for room for the response. The clock is read only then, so a call whose body comes with its head and
 * whose answer is taken at once costs nothing.
 */
export class ClientWait {
  readonly #reporter: Pick<ExchangeReporter, 'nowNs'>;
  readonly #request: Pick<RequestReader, 'isDone'>;
  readonly #response: Pick<ResponseReader, 'head'>;
  readonly #upstream: { readonly isFull: boolean };
  #exchange: Exchange | undefined;
  /** The client sends its body after a 100 (RFC 9110 §10.1.1), which has not come yet. */
  #expectsContinue = false;

  constructor(
    reporter: Pick<ExchangeReporter, 'nowNs'>,
    request: Pick<RequestReader, 'isDone'>,
    response: Pick<ResponseReader, 'head'>,
    upstream: { readonly isFull: boolean },
  ) {
    this.#reporter = reporter;
    this.#request = request;
    this.#response = response;
    this.#upstream = upstream;
  }

  begin(exchange: Exchange, expectsContinue: boolean): void {
    this.#exchange = exchange;
    this.#expectsContinue = expectsContinue;
  }

  end(): void {
    this.#exchange = undefined;
  }

  /** Bytes of the body came. `bodyPassed` follows. */
  bodyCame(): void {
    this.#expectsContinue = false;
    if (this.#response.head === undefined) this.#stop();
  }

  /** All bytes that came are written to the upstream, or it takes bytes again, or a 100 has come. */
  bodyPassed(): void {
    if (this.#exchange === undefined || this.#request.isDone || this.#response.head !== undefined) return;
    if (!this.#upstream.isFull && !this.#expectsContinue) this.#exchange.waitForClient(this.#reporter.nowNs());
  }

  interimCame(status: number): void {
    if (status !== 100) return;
    this.#expectsContinue = false;
    this.bodyPassed();
  }

  /** The head of the final response came; `completeNs` is set if all of it did. */
  responseCame(completeNs: number): void {
    if (this.#exchange === undefined) return;
    this.#exchange.firstByteNs = completeNs || this.#reporter.nowNs();
    if (this.#exchange.isWaitingForClient) this.#exchange.clientWaitEnded(this.#exchange.firstByteNs);
  }

  /** The client's socket is full. The upstream is not read until `clientTook`. */
  clientFull(): void {
    this.#exchange?.waitForClient(this.#reporter.nowNs());
  }

  clientTook(): void {
    this.#stop();
    this.bodyPassed();
  }

  #stop(): void {
    if (this.#exchange?.isWaitingForClient === true) this.#exchange.clientWaitEnded(this.#reporter.nowNs());
  }
}
