import { withDrainNotice, withForwardedHead } from '../../protocol/http1/forwarded.ts';
import type { Framing } from '../../protocol/http1/framing.ts';
import { PayloadReader } from '../../protocol/http1/payload-reader.ts';
import type { Http1RequestHead } from '../../protocol/http1/request-head.ts';
import type { RequestReader } from '../../protocol/http1/request-reader.ts';
import {
  ResponseHeadFields,
  type ResponseProgress,
  type ResponseReader,
} from '../../protocol/http1/response-reader.ts';
import { MAX_TEXT_BYTES } from '../../protocol/http1/text.ts';
import type { BodyObserver, ClientConnection, Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { ClientLink, RelayServices } from './client-link.ts';
import type { UpstreamLink } from './upstream-link.ts';

export interface RelayParts {
  readonly client: ClientConnection;
  readonly context: { readonly services: RelayServices; readonly isDraining: boolean };
  readonly request: RequestReader;
  readonly response: ResponseReader;
  readonly toClient: ClientLink;
  readonly toUpstream: UpstreamLink;
}

/**
 * A request with its response. Passes both on, lets the observers read the bodies, and reports when the exchange waits
 * for its client: for a body that the upstream would take, or for room for the response. Only waits read the clock.
 */
export class RunningExchange {
  readonly exchange: Exchange;
  /** What is kept of the head, which may have 64 KiB. */
  readonly method: string;
  readonly isHttp10: boolean;
  readonly isLast: boolean;
  /** Our own answer follows in the next turn of the event loop. */
  isRefused = false;
  hasDrainNotice = false;
  progress: ResponseProgress = 'more';
  /** The moment of the response's last byte; 0 before. */
  endedNs = 0;
  /** An observer may be slow: flush the bytes before calling it. */
  #hasSlowObserver = false;
  readonly #parts: RelayParts;
  #isObserved = false;
  #requestPayload: PayloadReader | undefined;
  #responsePayload: PayloadReader | undefined;
  #maxTrailerBytes = 0;
  /** The client sends its body after a 100 (RFC 9110 §10.1.1). */
  expectsContinue = false;

  constructor(exchange: Exchange, { method, isHttp10, isLast }: Http1RequestHead, parts: RelayParts) {
    this.exchange = exchange;
    this.method = method;
    this.isHttp10 = isHttp10;
    this.isLast = isLast;
    this.#parts = parts;
  }

  get #reporter(): ExchangeReporter {
    return this.#parts.context.services.reporter;
  }

  /** Passes bytes of the request, its `head` first if given; `buffer` is their read buffer, if any. */
  passRequest(bytes: Buffer, head: Http1RequestHead | undefined, buffer: ReadBuffer | undefined): void {
    const { client, context, request, toUpstream } = this.#parts;
    if (head) {
      const { options, reporter } = context.services;
      const { beganNs, traceparent } = this.exchange;
      const sinceNs = reporter.added.request.sample(beganNs);
      const sent = withForwardedHead(options, head, client, bytes, request.takeText(), traceparent);
      toUpstream.send(sent, sinceNs, sent === bytes ? buffer : undefined);
    }
    // Without an upstream, after our own answer, the rest of a body is dropped.
    else if (toUpstream.isOpen) toUpstream.send(bytes, 0, buffer);
    if (this.#requestPayload === undefined) return;
    if (this.#hasSlowObserver) toUpstream.flush();
    this.#requestPayload.read(bytes, head?.text.length ?? 0, bytes.length);
    if (request.isDone) this.#reporter.requestEnd(this.exchange);
  }

  /** Reads bytes of the upstream and passes on those of the response. False if the client's socket is full. */
  passResponse(bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean {
    const { exchange } = this;
    const { response, toClient } = this.#parts;
    this.progress = response.read(bytes, length);
    const { headEnd, head, interimStatus } = response;
    if (headEnd > 0) exchange.status = head?.status ?? 0;
    const isComplete = this.progress === 'complete';
    // The call ends at its last byte from the upstream. A short answer is recorded before it is written, at the end of the turn.
    this.endedNs = isComplete ? this.#reporter.nowNs() : 0;
    if (headEnd > 0) {
      exchange.firstByteNs = this.endedNs || this.#reporter.nowNs();
      if (exchange.isWaitingForClient) exchange.clientWaitEnded(exchange.firstByteNs);
    } else if (interimStatus === 100) {
      this.expectsContinue = false;
      this.bodyPassed();
    }
    const canGoOn = this.#writeResponse(bytes, buffer);
    if (!canGoOn && !isComplete) this.clientFull();
    if (this.#hasSlowObserver) toClient.flush();
    if (this.#isObserved) this.#observeResponse();
    if (isComplete) this.observeResponseEnd();
    return canGoOn;
  }

  #writeResponse(read: Buffer, buffer: ReadBuffer | undefined): boolean {
    const { context, response, toClient } = this.#parts;
    const { bytes, end, headEnd, head } = response;
    if (end === 0) return true;
    const sinceNs = this.endedNs > 0 ? this.#reporter.added.response.sample(this.endedNs) : 0;
    if (headEnd > 0 && context.isDraining && head?.isPersistent === true) {
      this.hasDrainNotice = true;
      return toClient.write(withDrainNotice(bytes, headEnd, end), sinceNs);
    }
    if (end > MAX_TEXT_BYTES)
      return toClient.write(bytes.subarray(0, end), sinceNs, bytes === read ? buffer : undefined);
    toClient.writeSoon(bytes.toString('latin1', 0, end), sinceNs);
    return true;
  }

  /** Call before the first bytes if the exchange is observed. `framing` is that of the request. */
  observe(framing: Framing, maxTrailerBytes: number): void {
    const { requestObserver, responseObserver, wantsResponse } = this.exchange;
    this.#isObserved = true;
    this.#maxTrailerBytes = maxTrailerBytes;
    this.#hasSlowObserver = wantsResponse || isSlow(requestObserver) || isSlow(responseObserver);
    if (requestObserver === undefined) return;
    this.#requestPayload = new PayloadReader(framing, maxTrailerBytes, (payload) => {
      this.#reporter.requestBytes(this.exchange, payload);
    });
  }

  #observeResponse(): void {
    const { exchange } = this;
    const { response } = this.#parts;
    const { head } = response;
    if (response.headEnd > 0 && head !== undefined) {
      const reporter = this.#reporter;
      if (exchange.wantsResponse) reporter.response(exchange, new ResponseHeadFields(head.status, response.headText));
      if (exchange.responseObserver !== undefined) {
        this.#responsePayload = new PayloadReader(head.framing, this.#maxTrailerBytes, (payload) => {
          reporter.responseBytes(exchange, payload);
        });
      }
    }
    this.#responsePayload?.read(response.bytes, response.bodyStart, response.end);
  }

  observeResponseEnd(): void {
    if (this.#isObserved) this.#reporter.responseEnd(this.exchange);
  }

  /** Bytes of the body came. `bodyPassed` follows. */
  bodyCame(): void {
    this.expectsContinue = false;
    if (this.#parts.response.head === undefined) this.#clientWaitEnded();
  }

  /** All bytes that came are written to the upstream, or it takes bytes again, or a 100 has come. */
  bodyPassed(): void {
    const { request, response, toUpstream } = this.#parts;
    if (request.isDone || response.head !== undefined || this.isRefused) return;
    if (!toUpstream.isFull && !this.expectsContinue) this.exchange.waitForClient(this.#reporter.nowNs());
  }

  /** The client's socket is full. The upstream is not read until `clientTook`. */
  clientFull(): void {
    this.exchange.waitForClient(this.#reporter.nowNs());
  }

  clientTook(): void {
    this.#clientWaitEnded();
    this.bodyPassed();
  }

  #clientWaitEnded(): void {
    if (this.exchange.isWaitingForClient) this.exchange.clientWaitEnded(this.#reporter.nowNs());
  }
}

function isSlow(observer: BodyObserver | undefined): boolean {
  return observer !== undefined && observer.isQuick !== true;
}
