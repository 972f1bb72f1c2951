import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../../base/problem.ts';
import { isFramingName } from '../../protocol/http1/chunked.ts';
import { twinKey } from '../../protocol/http1/forwarded.ts';
import { CANCELLED, COMPLETED, type Exchange } from '../exchange/exchange.ts';
import { type Refusal, toAnswer, upstreamProblem } from '../exchange/problem.ts';
import { UpstreamFailure } from '../exchange/upstream-failure.ts';
import { type ClientResponseHead, toClientHead, toFinalStatus, toInterimBytes } from './client-response-head.ts';
import { callWeb } from './proxy.ts';
import { pump } from './pump.ts';
import type { QueuedRequest } from './queued-request.ts';
import { GatewayResponseHead, hasField, isChunked, toPairs } from './raw-fields.ts';
import type { ServedConnection } from './served-connection.ts';
import type { GatewayServices } from './services.ts';
import { isVersion10, setRequestHead } from './set-request-head.ts';
import { toFailure, UpstreamWatch } from './upstream-watch.ts';

/** One request and its response, through http-proxy's `web`. */
export class PlainExchange implements QueuedRequest {
  readonly #services: GatewayServices;
  readonly #connection: ServedConnection;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #exchange: Exchange;
  /** The client sent `Expect: 100-continue` and has not received a 100: it may or may not send its body. */
  #isContinueDue: boolean;
  #upstream: ClientRequest | undefined;
  #watch: UpstreamWatch | undefined;
  #isUntilClose = false;
  #isOver = false;
  #isResponseDone = false;
  #isUpstreamDone = true;

  constructor(
    services: GatewayServices,
    connection: ServedConnection,
    message: {
      readonly request: IncomingMessage;
      readonly response: ServerResponse;
      readonly expectsContinue: boolean;
    },
    exchange: Exchange,
  ) {
    this.#services = services;
    this.#connection = connection;
    this.#request = message.request;
    this.#response = message.response;
    this.#isContinueDue = message.expectsContinue;
    this.#exchange = exchange;
  }

  get isReceiving(): boolean {
    return !this.#request.complete;
  }

  /** While the upstream does not read, the client cannot send. */
  get canBeSilent(): boolean {
    return this.#request.complete || this.#upstream?.writableNeedDrain === true;
  }

  get upstream(): ClientRequest | undefined {
    return this.#upstream;
  }

  get bodyBytes(): number {
    return this.#request.readableLength;
  }

  get hasAnswered(): boolean {
    return this.#response.headersSent;
  }

  begin(): void {
    const { proxy, options } = this.#services;
    this.#request.on('error', () => undefined);
    this.#response.on('error', () => undefined);
    this.#response.on('finish', () => {
      this.#isResponseDone = true;
      this.#settle();
    });
    const refusal = this.#services.reporter.admit(this.#exchange);
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    const call = { agent: this.#connection.agent, headBytes: options.headBytes };
    try {
      callWeb(proxy, this.#request, this.#response, call, (upstream) => this.#onUpstreamRequest(upstream));
    } catch {
      // Node's parser admits what its client refuses to send, e.g. a control character in a value: the request's fault.
      this.#rejectRequest();
    }
  }

  /** Also ends the upstream request, which http-proxy does not do on Node 15.5 and later (#1586). */
  cancel(): void {
    this.#isOver = true;
    this.#services.reporter.end(this.#exchange, CANCELLED);
    this.#upstream?.destroy();
  }

  onClientEnded(): void {
    // As without the sidecar: the upstream sees the client's half-close, after all bytes from before it.
    if (this.#upstream?.writableFinished === true) this.#upstream.socket?.end();
  }

  #onUpstreamRequest(upstream: ClientRequest): void {
    const { options, authority } = this.#services;
    this.#upstream = upstream;
    this.#isUpstreamDone = false;
    this.#watch = new UpstreamWatch(upstream, options);
    upstream.on('error', (cause) => this.#onUpstreamError(cause));
    upstream.on('information', (interim) => this.#onInterim(interim));
    upstream.on('response', (response) => this.#onResponse(response));
    upstream.on('upgrade', (_response, tunnel) => {
      // No upgrade was requested. Without a listener Node would end this request silently.
      tunnel.destroy();
      this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL'));
    });
    upstream.on('finish', () => {
      if (this.#connection.hasClientEnded && this.#connection.isLast) this.onClientEnded();
    });
    upstream.on('close', () => {
      this.#isUpstreamDone = true;
      // The last chance to answer the client: there may be no earlier event, as with an upgrade above.
      if (this.#exchange.status === 0) this.#fail(undefined);
      this.#settle();
    });
    // After a whole response Node's client removes its 'drain' listener; the request may still need one.
    const flow = () => this.#request.resume();
    upstream.on('socket', (socket) => {
      socket.on('drain', flow);
      upstream.on('close', () => socket.off('drain', flow));
    });
    setRequestHead(upstream, this.#request, {
      options,
      traceparent: this.#exchange.traceparent,
      authority,
      client: this.#connection.client,
    });
    pump(this.#request, upstream, {
      onEnd: () => this.#endRequest(upstream),
      onFlowChange: this.#onFlowChange,
      onPassed: this.#requestReader(),
    });
  }

  #endRequest(upstream: ClientRequest): void {
    if (upstream.destroyed || upstream.writableEnded) return;
    const { replacedFields } = this.#services.options;
    const trailers = toPairs(this.#request.rawTrailers).filter(([name]) => !replacedFields.has(twinKey(name)));
    if (trailers.some(([name]) => isFramingName(name))) {
      this.#rejectRequest();
      return;
    }
    try {
      if (trailers.length > 0) upstream.addTrailers(trailers);
      upstream.end();
      this.#services.reporter.requestEnd(this.#exchange);
    } catch {
      // Node's parser accepts trailers that its client refuses to send. The request's end is lost, so the request is
      // cut off.
      this.#rejectRequest();
    }
  }

  #rejectRequest(): void {
    this.cancel();
    if (this.hasAnswered) this.#connection.socket.destroy();
    else this.#connection.refuseNow(400, this.#request.method === 'HEAD');
  }

  #onInterim(interim: { statusCode: number; statusMessage: string; rawHeaders: string[] }): void {
    this.#watch?.onInterim(interim.statusCode);
    // RFC 9110 §15.2: HTTP/1.0 has no interim responses.
    if (this.#isOver || isVersion10(this.#request) || this.#response.headersSent) return;
    if (interim.statusCode === 100) {
      this.#isContinueDue = false;
      // Through Node's method, so that Node knows of the 100 and keeps the connection.
      this.#response.writeContinue();
      return;
    }
    // No earlier request is in progress, and no byte of this one's answer is written, so the order of bytes is right.
    this.#connection.socket.write(toInterimBytes(interim));
  }

  #onResponse(upstream: IncomingMessage): void {
    upstream.on('error', (cause) => this.#fail(cause));
    if (this.#isOver) return;
    this.#watch?.onResponse(upstream);
    try {
      this.#exchange.status = toFinalStatus(upstream);
      this.#writeHead(upstream);
    } catch (cause) {
      // Not a final response, or Node has read what it does not write, e.g. a control character in a value.
      this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL', cause));
      return;
    }
    // The response may close without an 'end'.
    upstream.on('close', () => {
      if (!upstream.complete || !upstream.readableEnded) this.#fail(undefined);
    });
    // Node's server releases the socket and its own 'drain' listener if an upgrade or CONNECT follows this request.
    const { socket } = this.#connection;
    const flow = () => upstream.resume();
    socket.on('drain', flow);
    upstream.on('close', () => socket.off('drain', flow));
    pump(upstream, this.#response, {
      onEnd: () => this.#onResponseEnd(upstream),
      onFlowChange: this.#onFlowChange,
      onPassed: this.#responseReader(upstream),
    });
  }

  readonly #onFlowChange = (): void => this.#connection.checkStalled();

  /** Reports the request's body; undefined without an observer. */
  #requestReader(): ((chunk: Buffer) => void) | undefined {
    const { reporter } = this.#services;
    const exchange = this.#exchange;
    return exchange.requestObserver && ((chunk) => reporter.requestBytes(exchange, chunk));
  }

  /** Reports the response's head if an observer wants it. The result reports the body. */
  #responseReader(upstream: IncomingMessage): (chunk: Buffer) => void {
    const { reporter } = this.#services;
    const exchange = this.#exchange;
    if (exchange.wantsResponse) reporter.response(exchange, new GatewayResponseHead(upstream));
    exchange.isEmpty = true;
    return (chunk) => {
      exchange.isEmpty = false;
      reporter.responseBytes(exchange, chunk);
    };
  }

  #writeHead(upstream: IncomingMessage): void {
    const isVersion10Client = isVersion10(this.#request);
    const head = toClientHead(upstream, {
      isHead: this.#request.method === 'HEAD',
      isVersion10: isVersion10Client,
      isLast: this.#connection.tellIfLast(),
      isContinueDue: this.#isContinueDue,
    });
    this.#isUntilClose = head.isUntilClose;
    this.#keepNodeFromAdding(head, isVersion10Client);
    this.#response.writeHead(upstream.statusCode ?? 0, upstream.statusMessage ?? '', head.fields);
  }

  /** Node adds fields unless they have been removed. It may add them for an HTTP/1.0 client. */
  #keepNodeFromAdding(head: ClientResponseHead, isVersion10Client: boolean): void {
    this.#response.sendDate = false;
    for (const name of ['content-length', 'transfer-encoding']) {
      if (!hasField(head.fields, name)) this.#response.removeHeader(name);
    }
    if (!isVersion10Client && !hasField(head.fields, 'connection')) this.#response.removeHeader('connection');
  }

  #onResponseEnd(upstream: IncomingMessage): void {
    // 'close' follows then.
    if (!upstream.complete) return;
    this.#watch?.confirmEnd((cause) => {
      if (cause === undefined) this.#complete(upstream);
      else this.#fail(cause);
    });
  }

  #complete(upstream: IncomingMessage): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#services.reporter.responseEnd(this.#exchange);
    this.#services.reporter.end(this.#exchange, COMPLETED);
    if (this.#upstream?.writableFinished === false) this.#endAfterRest(this.#upstream);
    const trailers = upstream.rawTrailers;
    try {
      if (trailers.length > 0 && isChunked(upstream.rawHeaders)) this.#response.addTrailers(toPairs(trailers));
      this.#response.end();
    } catch {
      // Node does not write one of the trailers: the client must see that the response is incomplete.
      this.#connection.breakOff(this.#isUntilClose);
    }
  }

  /**
   * As in the relay: an upstream that answers before it has read the whole request may read the rest as the
   * next request. The rest is still passed on; then the connection ends (RFC 9112 §9.3).
   */
  #endAfterRest(upstream: ClientRequest): void {
    // Otherwise Node's agent would reuse the connection.
    upstream.shouldKeepAlive = false;
    upstream.once('finish', () => upstream.socket?.destroySoon());
  }

  /** After a whole response an error does not matter: surplus bytes (RFC 9112 §9.3) or a reset. 'end' will follow. */
  #onUpstreamError(cause: unknown): void {
    if (this.#watch?.isComplete !== true) this.#fail(cause);
  }

  #fail(cause: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const failure = this.#watch?.toFailure(cause) ?? toFailure(cause);
    // A client that has closed its side may have left; the upstream's close may only be a consequence.
    const hasClientEnded = this.#connection.hasClientEnded;
    this.#services.reporter.end(this.#exchange, hasClientEnded ? CANCELLED : { kind: 'failed', failure });
    this.#upstream?.destroy();
    if (this.#response.headersSent) this.#connection.breakOff(this.#isUntilClose);
    else this.#answer(upstreamProblem(failure));
  }

  #refuse({ ending, problem }: Refusal): void {
    this.#isOver = true;
    this.#services.reporter.end(this.#exchange, this.#connection.hasClientEnded ? CANCELLED : ending);
    this.#answer(problem);
  }

  #answer(problem: Problem): void {
    const { fields: pairs, body } = toAnswer(problem);
    const fields = pairs.flat();
    if (this.#connection.tellIfLast() || this.#isContinueDue) fields.push('Connection', 'close');
    else if (!isVersion10(this.#request)) this.#response.removeHeader('connection');
    this.#response.writeHead(problem.status, problem.title, fields);
    this.#response.end(Buffer.from(body, 'latin1'));
    // Drop the rest of the request's body, so that the connection stays usable.
    this.#request.resume();
  }

  #settle(): void {
    if (this.#isResponseDone && this.#isUpstreamDone) this.#connection.done(this);
  }
}
