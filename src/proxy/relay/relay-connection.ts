/**
 * The relay serves every HTTP request, and gives every refusal: one client connection with one upstream connection of
 * its own. It passes all bytes on unchanged, except for some fields. What it cannot frame without doubt it refuses
 * (`RequestFault`). Only a WebSocket leaves it. The folder must not know websocket/ or metrics/.
 */
import type { Socket } from 'node:net';
import { PhaseTimer } from '../../base/clock.ts';
import type { Problem } from '../../base/problem.ts';
import type { LimitKey } from '../../limits/limit-hits.ts';
import { formatForwardedHead } from '../../protocol/http1/forwarded.ts';
import { type Http1RequestHead, REQUEST_FAULTS, type RequestFault } from '../../protocol/http1/request-head.ts';
import { RequestReader } from '../../protocol/http1/request-reader.ts';
import { ResponseReader } from '../../protocol/http1/response-reader.ts';
import { CANCELLED, type ClientConnection, COMPLETED, type Ending } from '../exchange/exchange.ts';
import { encodeProblem, encodeRefusal, type Refusal, upstreamProblem } from '../exchange/problem.ts';
import { classifyUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { WebSocketRequest } from '../upstream/traffic-services.ts';
import { ClientLink, type ClientListener, type RelayServices } from './client-link.ts';
import { ClientRequests, type RequestsOwner } from './client-requests.ts';
import { type RelayParts, RunningExchange } from './running-exchange.ts';
import { UpstreamLink, type UpstreamLinkListener } from './upstream-link.ts';

export interface RelayContext {
  readonly services: RelayServices;
  /** True while the sidecar drains: responses then announce the end of their connection. */
  readonly isDraining: boolean;
  /** The connection asks for a WebSocket: the relay leaves both sockets. */
  onWebSocket(connection: RelayConnection, request: WebSocketRequest): void;
  onRelayClosed(connection: RelayConnection): void;
}

export class RelayConnection implements ClientListener, RelayParts, RequestsOwner, UpstreamLinkListener {
  readonly client: ClientConnection;
  place = -1;
  readonly context: RelayContext;
  readonly #services: RelayServices;
  readonly request: RequestReader;
  readonly response: ResponseReader;
  readonly toClient: ClientLink;
  readonly toUpstream: UpstreamLink;
  readonly #responseTimer = new PhaseTimer();
  #running: RunningExchange | undefined;
  /** The last request was of HTTP/1.0. Its client may wait for the upstream to close, so we close when that does. */
  #closesWithUpstream = false;
  /** The buffer of the current client read, unless its bytes have memory of their own. */
  #readBuffer: ReadBuffer | undefined;
  readonly #requests: ClientRequests;

  constructor(socket: Socket, client: ClientConnection, context: RelayContext, reads?: ReadBuffer) {
    this.client = client;
    this.context = context;
    this.#services = context.services;
    this.request = new RequestReader(context.services.options.headBytes);
    this.#requests = new ClientRequests(this.request, client.remoteAddress, context.services, this);
    this.response = new ResponseReader(context.services.options.headBytes);
    this.toClient = new ClientLink(socket, reads, this, context.services);
    this.toUpstream = new UpstreamLink(context.services, this, this.toClient, this.response);
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.request.isDone;
  }

  get bytesRead(): number {
    return this.toClient.bytesRead;
  }

  closeIfIdle(): void {
    if (this.isIdle && this.request.unread.length === 0) this.#close();
  }

  onClientBytes(bytes: Buffer, buffer: ReadBuffer | undefined): void {
    const sinceNs = this.#requests.turn.beginRead(bytes);
    this.#readBuffer = buffer;
    if (this.request.isDone) this.request.append(bytes);
    else {
      this.#running?.bodyCame();
      this.#passRequest(this.request.continue(bytes));
    }
    this.#takeNext();
    this.#readBuffer = undefined;
    const shared = buffer === undefined ? undefined : bytes;
    if (this.#requests.endRead(sinceNs, this.isIdle, shared)) this.updateReading();
  }

  onTurn(): void {
    if (!this.toClient.isClosing) this.#goOn();
  }

  #takeNext(): void {
    if (!this.isIdle || this.toClient.isClosing) return;
    if (this.#requests.isOverfull) {
      this.#answerAndClose(encodeRefusal(503));
      return;
    }
    const head = this.#requests.next();
    if (head === undefined) {
      if (this.toClient.hasEnded && !this.#requests.turn.isWaiting) this.#close();
    } else if (typeof head === 'string') this.#refuseFault(head, this.request.isNextHead);
    else if (head.fieldCount > this.#services.options.maxFields) {
      this.refuseAndClose(431, 'limits.fields', head.method === 'HEAD');
    } else this.#beginExchange(head);
  }

  #beginExchange(head: Http1RequestHead): void {
    const { reporter, options } = this.#services;
    const exchange = reporter.begin(head, this.client);
    const running = new RunningExchange(exchange, head, this);
    this.#running = running;
    this.response.begin(head.method);
    const refusal = reporter.admit(exchange);
    if (refusal !== undefined) {
      this.#refuseExchange(running, head, refusal);
      return;
    }
    if (head.isWebSocket) {
      this.#leaveForWebSocket(running, head);
      return;
    }
    if (exchange.isObserved) running.observe(head.framing, options.headBytes);
    this.#closesWithUpstream = head.isHttp10;
    const passed = this.request.begin(head, options.replacedFields);
    if (!this.request.isDone && head.field('expect') !== undefined) running.expectsContinue = true;
    this.#passRequest(passed, head);
  }

  /** Passes on bytes of the current request, its `head` first if given. Undefined `bytes`: the body is malformed. */
  #passRequest(bytes: Buffer | undefined, head?: Http1RequestHead): void {
    if (bytes === undefined) {
      this.#rejectRequest();
      return;
    }
    const running = this.#running;
    if (running !== undefined) running.passRequest(bytes, head, this.#readBuffer);
    // After an early response, the rest of a body is still sent if the upstream is open.
    else if (this.toUpstream.isOpen) this.toUpstream.send(bytes, 0, this.#readBuffer);
    if (this.request.isDone) this.#onRequestDone();
    // The client has ended in the middle of a pipelined request: the upstream must not wait for the rest.
    else if (this.toClient.hasEnded) this.toUpstream.end();
    else running?.bodyPassed();
  }

  #onRequestDone(): void {
    // The response was complete before its request: see `#completed`.
    if (this.#running === undefined) {
      this.toUpstream.endAfterRest();
      return;
    }
    if (this.#mayHaveLeft) this.toUpstream.end();
    const { responseTimeoutMs } = this.#services.options;
    if (responseTimeoutMs > 0 && this.response.head === undefined) {
      this.#responseTimer.start(responseTimeoutMs, () => this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT')));
    }
  }

  onClientEnd(): void {
    if (this.isIdle) this.#takeNext();
    // The request was answered early, and the client ends in the middle of it: neither side will send more.
    else if (this.#running === undefined && !this.toUpstream.isOpen) this.#close();
    else {
      // As without the sidecar, the upstream sees the client's half-close, after all that the client sent before it.
      if (!this.request.isDone || this.request.unread.length === 0) this.toUpstream.end();
      this.toClient.limitHalfClosed();
    }
  }

  onUpstreamBytes(bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean {
    const running = this.#running;
    // Bytes that answer no request. Read as the next response, they would give the client data that is not its own.
    if (running === undefined || running.isRefused) {
      this.toUpstream.drop(true);
      // The upstream reads no more of a request body that it answered early, and the client may wait for us to close.
      if (!this.request.isDone) this.#close();
      return false;
    }
    const canGoOn = running.passResponse(bytes, length, buffer);
    const { progress, endedNs } = running;
    // The answer has begun; an interim 100 only says that the upstream reads.
    if (this.response.headEnd > 0 || this.response.interimStatus > 100) this.#responseTimer.stop();
    if (progress === 'complete') {
      this.#completed(endedNs);
    } else if (progress === 'malformed') {
      this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL', undefined, this.response.fault));
    } else if (progress === 'too-large') this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_HEAD_TOO_LARGE'));
    return canGoOn;
  }

  onUpstreamClosed(failure: UpstreamFailure | undefined): void {
    this.toUpstream.drop(false);
    if (this.#running === undefined || this.#running.isRefused) {
      // The rest of a body that was answered early is lost. An idle client stays: its next request connects again.
      if (!this.request.isDone || this.#closesWithUpstream) this.#close();
      return;
    }
    const hasBegun = this.response.head !== undefined;
    if (!hasBegun) this.#fail(failure ?? new UpstreamFailure('D2S_ERR_UPSTREAM_TERMINATED'));
    else if (failure !== undefined || !this.response.endsWithConnection) {
      this.#fail(classifyUpstreamFailure(failure?.cause, 'response'));
    } else {
      this.#running.observeResponseEnd();
      this.#endExchange(COMPLETED);
      this.#close();
    }
  }

  /** The client sent a FIN, and no further request is unread. */
  get #mayHaveLeft(): boolean {
    return this.toClient.hasEnded && this.request.unread.length === 0;
  }

  #completed(endedNs: number): void {
    const running = this.#endExchange(COMPLETED, endedNs);
    if (this.response.end < this.response.length) this.toUpstream.drop(true);
    // An upstream that answers before it has read the whole request may read the rest as the next request. The rest is
    // still sent; then the connection ends (RFC 9112 §9.3).
    else if (this.toUpstream.isFull && this.request.isDone) this.toUpstream.endAfterRest();
    // A drain closes only after announcing it: otherwise the close may cross with the client's next request.
    const isPersistent = this.response.head?.isPersistent === true && running?.hasDrainNotice !== true;
    this.response.release();
    const endsWithUpstream = this.#closesWithUpstream && !this.toUpstream.isOpen;
    const isLast = running?.isLast === true || !isPersistent || endsWithUpstream;
    const isClientDone = running?.isLast === true && this.isIdle && this.request.unread.length === 0;
    if (isLast || (this.#mayHaveLeft && !this.#requests.isOverfull)) this.#close(isClientDone);
    else this.#goOn();
  }

  #goOn(): void {
    this.#takeNext();
    this.#requests.recharge(this.isIdle);
    this.updateReading();
  }

  #endExchange(ending: Ending, endedNs = this.#services.reporter.nowNs()): RunningExchange | undefined {
    const running = this.#running;
    if (running === undefined) return undefined;
    this.#running = undefined;
    this.#responseTimer.stop();
    running.exchange.isEmpty = !this.response.hasContent;
    const isKept = ending === COMPLETED && this.toClient.keepUnconfirmed(running.exchange, endedNs);
    if (!isKept) this.#services.reporter.end(running.exchange, ending, endedNs);
    return running;
  }

  /** Answers an exchange that was not admitted. A request body is read and dropped. */
  #refuseExchange(running: RunningExchange, head: Http1RequestHead, { ending, problem }: Refusal): void {
    if (this.request.begin(head) === undefined) {
      this.#rejectRequest();
      return;
    }
    // The upstream connection stays, unless a body is coming that must not reach it.
    if (!this.request.isDone) this.toUpstream.drop(false);
    running.isRefused = true;
    // Deferred: answering pipelined requests at once would recurse.
    setImmediate(() => {
      if (this.#running !== running) return;
      this.#endExchange(this.toClient.hasEnded ? CANCELLED : ending);
      // RFC 9110 §10.1.1: a client that sends `Expect` may leave the body out.
      this.#answer(problem, running, !this.request.isDone && head.field('expect') !== undefined);
    });
  }

  /** The body's framing is broken, so the beginning of the next request is unknown. */
  #rejectRequest(): void {
    const running = this.#endExchange(CANCELLED);
    this.toUpstream.drop(true);
    const fault = this.request.bodyFault;
    if (this.response.head === undefined) this.#refuseFault(fault, running?.method === 'HEAD');
    else {
      this.#services.reporter.noteRefused(fault);
      this.toClient.destroy();
    }
  }

  refuseAndClose(status: 408 | 431 | 503, limit: LimitKey, isHead = false): void {
    this.#services.reporter.hits.hit(limit);
    this.#answerAndClose(encodeRefusal(status, isHead));
  }

  /** The end of the request is unknown, so it is the last on its connection. */
  #refuseFault(fault: RequestFault, isHead: boolean): void {
    this.#services.reporter.noteRefused(fault);
    this.#answerAndClose(encodeRefusal(REQUEST_FAULTS[fault], isHead));
  }

  /** The upstream has failed. Answers with an error if no response has begun; otherwise makes the break visible. */
  #fail(failure: UpstreamFailure): void {
    // A client that has closed its side may have left; the upstream's close may only be a consequence.
    const running = this.#endExchange(this.toClient.hasEnded ? CANCELLED : { kind: 'failed', failure });
    this.toUpstream.drop(true);
    if (this.response.head === undefined) this.#answer(upstreamProblem(failure), running, !this.request.isDone);
    // A response with a length or chunks lacks its end, which the client sees at an orderly close. One that ends with
    // its connection would look complete.
    else if (this.response.endsWithConnection) this.toClient.reset();
    else this.#close();
  }

  /** Tells the client why there is no response. `isForcedLast`: the beginning of its next request is unknown. */
  #answer(problem: Problem, request: RunningExchange | undefined, isForcedLast: boolean): void {
    const isLastByHead = request?.isLast === true || request?.isHttp10 === true;
    const isLast = isForcedLast || this.toClient.hasEnded || this.context.isDraining || isLastByHead;
    const answer = encodeProblem(problem, { isHead: request?.method === 'HEAD', isLast });
    if (isLast) this.#answerAndClose(answer);
    else if (this.toClient.write(answer)) this.#goOn();
    else this.#close();
  }

  #answerAndClose(answer: Buffer): void {
    this.toClient.write(answer);
    this.#close();
  }

  get canBeSilent(): boolean {
    const isAllPassed = this.request.isDone && !this.toClient.isPaused;
    return this.#running !== undefined && (this.toUpstream.isFull || isAllPassed);
  }

  updateReading(): void {
    const isBusy = this.#running !== undefined && this.request.isDone;
    this.toClient.setPaused(this.toUpstream.isFull || this.#requests.mustPause(isBusy));
  }

  onUpstreamDrain(): void {
    this.toUpstream.setFull(false);
    this.#running?.bodyPassed();
  }

  onClientDrain(): void {
    this.#running?.clientTook();
    this.toUpstream.resume();
  }

  onClientFull(): void {
    this.#running?.clientFull();
    this.toUpstream.pause();
  }

  onCheck(): void {
    this.toUpstream.check();
  }

  #leaveForWebSocket({ exchange }: RunningExchange, head: Http1RequestHead): void {
    // Both sides close a WebSocket (RFC 6455 §7.1.1): this client has left.
    if (this.toClient.hasEnded) {
      this.#endExchange(CANCELLED);
      this.#close();
      return;
    }
    this.request.begin(head);
    const headText = formatForwardedHead(this.#services.options, head, this.client, exchange.traceparent);
    const leftover = Buffer.from(this.request.unread);
    this.#requests.end();
    this.#running = undefined;
    const socket = this.toClient.detach();
    this.context.onWebSocket(this, { socket, exchange, headText, leftover, upstream: this.toUpstream.release() });
  }

  /** `isClientDone`: the last request said that it is the last, and all of it has come (RFC 9112 §9.6). */
  #close(isClientDone = false): void {
    if (this.toClient.isClosing) return;
    this.#requests.end();
    this.toUpstream.drop(false);
    this.toClient.close(isClientDone);
  }

  onClientReset(): void {
    this.toUpstream.drop(true);
  }

  onClientClosed(): void {
    this.#requests.end();
    this.#endExchange(CANCELLED);
    this.toUpstream.drop(false);
    this.context.onRelayClosed(this);
  }
}
