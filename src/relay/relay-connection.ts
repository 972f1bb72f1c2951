/**
 * The fast path: one client connection and the one upstream connection that belongs to it. Heads are read, framing is
 * followed, and everything passes on as the bytes it came in, but for the forwarding fields. Knows no metrics: it reports
 * exchanges. What it cannot frame without doubt it hands over, at a message boundary, with every byte unread.
 */
import type { Socket } from 'node:net';
import { CANCELLED, type ClientConnection, COMPLETED, type Ending, type Exchange } from '../exchange/exchange.ts';
import { toRawResponse, upstreamProblem } from '../exchange/problem.ts';
import { toUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import { forwardedForLine } from '../http1/forwarded.ts';
import { type Http1RequestHead, type Irregularity, isOtherProtocol } from '../http1/request-head.ts';
import { RequestReader } from '../http1/request-reader.ts';
import { ResponseReader } from '../http1/response-reader.ts';
import type { LimitKey } from '../limits/limit-hits.ts';
import { resetConnection } from '../tls/reset.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { UpstreamListener } from '../upstream/upstream.ts';
import { type ForwardedSource, MAX_TEXT_BYTES, refusal, withDrainNotice, withForwardedFields } from './messages.ts';
import { ObservedExchange } from './observed-exchange.ts';
import type { RelayContext, RelayServices } from './relay-context.ts';
import { DeferredWriter } from './write-batch.ts';

/** How long a client may go on sending into a connection that we have closed, so that it can read the answer first. */
const LINGER_MS = 2_000;

export class RelayConnection implements UpstreamListener {
  readonly client: ClientConnection;
  readonly #socket: Socket;
  readonly #context: RelayContext;
  readonly #services: RelayServices;
  readonly #forwardedSource: ForwardedSource;
  readonly #request: RequestReader;
  readonly #response: ResponseReader;
  readonly #toClient: DeferredWriter;
  readonly #toUpstream: DeferredWriter;
  #upstream: Socket | undefined;
  #exchange: Exchange | undefined;
  #observed: ObservedExchange | undefined;
  #head: Http1RequestHead | undefined;
  #isUpstreamFull = false;
  #isPaused = false;
  #hasClientEnded = false;
  #isClosing = false;
  #isDetached = false;
  /** The current response has said that it is the last. */
  #hasDrainNotice = false;
  /** Its current request is not passed on; the answer to it is due. */
  #isTurnedAway = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, client: ClientConnection, context: RelayContext) {
    this.client = client;
    this.#socket = socket;
    this.#context = context;
    this.#services = context.services;
    const { remoteAddress, secure } = client;
    this.#forwardedSource = { remoteAddress, secure, forLine: forwardedForLine(client) };
    this.#request = new RequestReader(context.services.options.headBytes);
    this.#response = new ResponseReader(context.services.options.headBytes);
    this.#toClient = new DeferredWriter(context.services.writes, this.#onClientFull);
    this.#toUpstream = new DeferredWriter(context.services.writes, this.#onUpstreamFull);
    socket.setTimeout(context.services.options.idleTimeoutMs);
    socket.on('data', this.#onData);
    socket.on('end', this.#onEnd);
    socket.on('drain', this.#onDrain);
    socket.on('timeout', this.#onTimeout);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
  }

  get isIdle(): boolean {
    return this.#exchange === undefined && this.#request.isDone;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** Closes the connection if nothing is under way on it. */
  closeIfIdle(): void {
    if (this.isIdle && this.#request.unread.length === 0) this.#close();
  }

  /** Ends everything at once. */
  destroy(): void {
    this.#toClient.flush();
    this.#socket.destroy();
  }

  // ---- requests: client to upstream

  readonly #onData = (chunk: Buffer): void => {
    if (this.#isClosing || this.#socket.destroyed) return;
    if (this.#request.isDone) this.#request.append(chunk);
    else this.#passRequest(this.#request.continue(chunk));
    this.#takeNext();
    if (this.#request.unread.length > 0) this.#updateReading();
  };

  /** Begins the next request if it is there and it is its turn. */
  #takeNext(): void {
    if (!this.isIdle || this.#isClosing) return;
    // RFC 9112 §2.2: an empty line before a request line is ignored.
    if (this.#hasClientEnded) this.#request.skipEmptyLines();
    if (this.#request.unread.length === 0) {
      if (this.#hasClientEnded) this.#close();
      return;
    }
    const head = this.#request.peek();
    if (head === undefined) {
      this.#awaitHead();
    } else if (typeof head === 'string') {
      // A stream that has ended cannot be handed over. And the gateway is not told of the protocol in a request line.
      if (this.#hasClientEnded || isOtherProtocol(this.#request.unread)) this.#answerAndClose(refusal(400));
      else this.#handOver(head);
    } else if (head.fieldCount > this.#services.options.maxFields) {
      this.#refuse(431, 'limits.fields');
    } else {
      this.#beginExchange(head);
    }
  }

  #awaitHead(): void {
    if (this.#hasClientEnded) this.#close();
    else if (this.#timer === undefined)
      this.#startTimer(this.#services.options.headTimeoutMs, () => this.#refuse(408, 'timeouts.head'));
  }

  #beginExchange(head: Http1RequestHead): void {
    this.#stopTimer();
    const { reporter, options } = this.#services;
    this.#exchange = reporter.begin(head, this.client, 'relay');
    if (!reporter.admit(this.#exchange)) {
      this.#turnAway(this.#exchange, head);
      return;
    }
    this.#observed = ObservedExchange.of(reporter, this.#exchange, head.framing, options.headBytes);
    this.#head = head;
    this.#response.begin(head.method);
    this.#passRequest(this.#request.begin(head), head);
  }

  /** Answers in place of the upstream, which has as many requests as it may have; a body is read and dropped. */
  #turnAway(exchange: Exchange, head: Http1RequestHead): void {
    this.#head = head;
    this.#response.begin(head.method);
    if (this.#request.begin(head) === undefined) {
      this.#rejectRequest();
      return;
    }
    // The connection of the requests before stays, unless a body is coming that must not get onto it.
    if (!this.#request.isDone) this.#dropUpstream(false);
    this.#isTurnedAway = true;
    // Not at once: requests sent ahead would be answered within each other.
    setImmediate(() => {
      this.#isTurnedAway = false;
      if (this.#exchange !== exchange) return;
      const failure = new UpstreamFailure('D2S_ERR_UPSTREAM_BUSY');
      this.#endExchange(this.#hasClientEnded ? CANCELLED : { kind: 'failed', failure });
      // RFC 9110 §10.1.1: a client that asks before it sends a body may leave it out.
      const isBodyUnsure = !this.#request.isDone && head.field('expect') !== undefined;
      this.#answer(failure, isBodyUnsure);
    });
  }

  /** Passes on bytes of the current request, its `head` first if given; undefined when its body is malformed. */
  #passRequest(bytes: Buffer | undefined, head?: Http1RequestHead): void {
    if (bytes === undefined) {
      this.#rejectRequest();
      return;
    }
    const { forwarded } = this.#services.options;
    this.#sendUpstream(head ? withForwardedFields(forwarded, head, this.#forwardedSource, bytes) : bytes);
    // Who reads along takes his time.
    if (this.#observed?.takesTime === true) this.#toUpstream.flush();
    this.#observed?.onRequest(bytes, head?.text.length ?? 0, this.#request.isDone);
    if (this.#request.isDone) this.#onRequestDone();
    // Sent ahead, and cut off: the rest never comes, and without this the upstream would wait for it.
    else if (this.#hasClientEnded) this.#endUpstream();
  }

  #onRequestDone(): void {
    if (this.#exchange === undefined) return;
    if (this.#hasClientEnded && this.#request.unread.length === 0) this.#endUpstream();
    const { responseTimeoutMs } = this.#services.options;
    if (responseTimeoutMs > 0 && this.#response.head === undefined) {
      this.#startTimer(responseTimeoutMs, () => this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT')));
    }
  }

  #sendUpstream(bytes: Buffer | string): void {
    // A closed upstream with a body still coming: the response was early or ours, the rest has nowhere to go.
    if (this.#upstream === undefined && (this.#exchange === undefined || this.#isTurnedAway)) return;
    this.#upstream ??= this.#services.upstream.connect(this);
    if (typeof bytes === 'string') {
      this.#toUpstream.write(this.#upstream, bytes);
      return;
    }
    this.#toUpstream.flush();
    if (!this.#upstream.write(bytes)) this.#onUpstreamFull();
  }

  readonly #onUpstreamFull = (): void => {
    this.#isUpstreamFull = true;
    this.#updateReading();
  };

  #endUpstream(): void {
    this.#toUpstream.flush();
    this.#upstream?.end();
  }

  /** The body's framing is broken: nobody may guess where the next request begins. */
  #rejectRequest(): void {
    this.#endExchange(CANCELLED);
    this.#dropUpstream(true);
    if (this.#response.head === undefined) this.#answerAndClose(refusal(400));
    else this.destroy();
  }

  // ---- responses: upstream to client

  onUpstreamBytes(_upstream: Socket, bytes: Buffer, length: number, buffer: ReadBuffer | undefined): boolean {
    // Bytes that answer nothing: reading them as the next response would give a client what is not his.
    if (this.#exchange === undefined || this.#isTurnedAway) {
      this.#dropUpstream(true);
      // The rest of a body answered early is lost, and its client may be waiting for us to close.
      if (!this.#request.isDone) this.#close();
      return false;
    }
    const progress = this.#response.read(bytes, length);
    if (this.#response.headEnd > 0) this.#onResponseHead(this.#exchange);
    // The upstream has begun to answer; 100 only says that it has begun to read.
    else if (this.#response.interimStatus > 100) this.#stopTimer();
    // The call ends here, at its last byte from the upstream; it is measured once the client has it.
    const endedNs = progress === 'complete' ? this.#services.reporter.nowNs() : 0;
    const canGoOn = this.#passResponse(bytes, buffer);
    if (this.#observed?.takesTime === true) this.#toClient.flush();
    this.#observed?.onResponse(this.#response, progress === 'complete');
    if (progress === 'complete') this.#completed(endedNs);
    else if (progress === 'malformed') this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL'));
    else if (progress === 'too-large') this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_HEAD_TOO_LARGE'));
    return canGoOn;
  }

  #onResponseHead(exchange: Exchange): void {
    this.#stopTimer();
    exchange.status = this.#response.head?.status ?? 0;
  }

  /** Passes on what was read; false when the client cannot take more for now. */
  #passResponse(read: Buffer, buffer: ReadBuffer | undefined): boolean {
    const { bytes, end, headEnd, head } = this.#response;
    if (end === 0) return true;
    const hasNotice = headEnd > 0 && this.#context.isDraining && head?.isPersistent === true;
    if (hasNotice) this.#hasDrainNotice = true;
    if (!hasNotice && end <= MAX_TEXT_BYTES) {
      this.#toClient.write(this.#socket, bytes.toString('latin1', 0, end));
      return true;
    }
    this.#toClient.flush();
    if (hasNotice) return this.#socket.write(withDrainNotice(bytes, headEnd, end));
    const part = bytes.subarray(0, end);
    return buffer === undefined || bytes !== read ? this.#socket.write(part) : buffer.pass(part, this.#socket);
  }

  readonly #onClientFull = (): void => {
    this.#upstream?.pause();
  };

  #completed(endedNs: number): void {
    this.#endExchange(COMPLETED, endedNs);
    // Bytes behind the response answer nothing, as above.
    if (this.#response.end < this.#response.length) this.#dropUpstream(true);
    // Draining ends a connection only where the client has been told: else the end may cross with its next request.
    const isLast = this.#head?.isLast === true || this.#response.head?.isPersistent !== true || this.#hasDrainNotice;
    this.#head = undefined;
    if (isLast || (this.#hasClientEnded && this.#request.unread.length === 0)) {
      this.#close();
      return;
    }
    this.#takeNext();
    this.#updateReading();
  }

  onUpstreamDrain(upstream: Socket): void {
    if (upstream !== this.#upstream) return;
    this.#isUpstreamFull = false;
    this.#updateReading();
  }

  onUpstreamClosed(upstream: Socket, failure: UpstreamFailure | undefined): void {
    // One that was dropped before, while another may be at work.
    if (upstream !== this.#upstream) return;
    this.#dropUpstream(false);
    if (this.#exchange === undefined || this.#isTurnedAway) {
      // Idle: the client's connection stays, its next request opens a new one. Else the rest of a body answered early is lost.
      if (!this.#request.isDone) this.#close();
      return;
    }
    if (failure !== undefined || !this.#response.endsWithConnection) {
      this.#fail(this.#toFailure(failure));
      return;
    }
    this.#observed?.onResponseEnd();
    this.#endExchange(COMPLETED);
    this.#close();
  }

  #toFailure(failure: UpstreamFailure | undefined): UpstreamFailure {
    if (this.#response.head !== undefined) return toUpstreamFailure(failure?.cause, 'response');
    return failure ?? new UpstreamFailure('D2S_ERR_UPSTREAM_TERMINATED');
  }

  /** The upstream gives no (whole) answer: say so if the answer has not begun, else make the break visible. */
  #fail(failure: UpstreamFailure): void {
    const hasAnswerBegun = this.#response.head !== undefined;
    // A client that has closed its side may have left for good, and an upstream that closes then only follows it.
    this.#endExchange(this.#hasClientEnded ? CANCELLED : { kind: 'failed', failure });
    this.#dropUpstream(true);
    if (hasAnswerBegun) {
      // Without framing of its own, a response cut short by an orderly close would look complete.
      if (this.#response.endsWithConnection) this.#reset();
      else this.#close();
      return;
    }
    this.#answer(failure, !this.#request.isDone);
  }

  /** Tells the client why there is no response; `isForcedLast`: nobody can tell where its next request would begin. */
  #answer(failure: UpstreamFailure, isForcedLast: boolean): void {
    const isLast = isForcedLast || this.#hasClientEnded || this.#context.isDraining || this.#head?.isLast === true;
    const answer = toRawResponse(upstreamProblem(failure), { isHead: this.#head?.method === 'HEAD', isLast });
    this.#head = undefined;
    if (isLast) {
      this.#answerAndClose(answer);
      return;
    }
    this.#toClient.flush();
    if (!this.#socket.write(answer)) {
      this.#close();
      return;
    }
    this.#takeNext();
    this.#updateReading();
  }

  // ---- the client's socket

  readonly #onEnd = (): void => {
    this.#hasClientEnded = true;
    if (this.#isClosing) return;
    if (this.isIdle) {
      this.#takeNext();
      return;
    }
    // A request answered early, and now broken off: nobody is left who could say more.
    if (this.#exchange === undefined && this.#upstream === undefined) {
      this.#close();
      return;
    }
    // As without us: the upstream sees the client's half-close, behind everything that the client sent before it.
    if (!this.#request.isDone || this.#request.unread.length === 0) this.#endUpstream();
    this.#socket.setTimeout(this.#services.options.halfClosedTimeoutMs);
  };

  readonly #onDrain = (): void => {
    this.#upstream?.resume();
  };

  readonly #onTimeout = (): void => {
    // A held long poll is silent by design until the server has something to say; cutting it would look like a server fault.
    // So would cutting a client that may not go on sending since the upstream does not read.
    const isHeld = this.#exchange !== undefined && (this.#isUpstreamFull || (this.#request.isDone && !this.#isPaused));
    if (!isHeld || this.#hasClientEnded || this.#socket.writableLength > 0) {
      this.#services.reporter.hits.hit(this.#hasClientEnded ? 'timeouts.halfClosed' : 'timeouts.idle');
      this.#socket.destroy();
      return;
    }
    // That one is not read, so its leaving is not seen: a write of nothing fails then.
    if (this.#isUpstreamFull) this.#socket.write('');
    this.#socket.setTimeout(this.#services.options.idleTimeoutMs);
  };

  /** The client reset the connection; so do we on the other side. 'close' follows and does the rest. */
  readonly #onError = (): void => this.#dropUpstream(true);

  readonly #onClose = (): void => {
    this.#stopTimer();
    if (this.#exchange !== undefined) this.#endExchange(CANCELLED);
    this.#dropUpstream(false);
    if (!this.#isDetached) this.#context.onRelayClosed(this);
  };

  #updateReading(): void {
    const isPaused = !this.#isDetached && (this.#isUpstreamFull || this.#isTooFarAhead());
    if (isPaused === this.#isPaused || this.#isDetached) return;
    this.#isPaused = isPaused;
    if (isPaused) this.#socket.pause();
    else this.#socket.resume();
  }

  /**
   * What a client sends before its turn is bounded. And a next request that is the gateway's must stay within the socket's
   * reach, with the end of the stream behind it: a stream that has ended cannot be handed over.
   */
  #isTooFarAhead(): boolean {
    if (this.#exchange === undefined || !this.#request.isDone || this.#request.unread.length === 0) return false;
    return this.#request.unread.length > this.#services.options.headBytes || typeof this.#request.peek() === 'string';
  }

  #endExchange(ending: Ending, endedNs?: number): void {
    if (this.#exchange === undefined) return;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    this.#observed = undefined;
    this.#stopTimer();
    this.#services.reporter.end(exchange, ending, endedNs);
  }

  #refuse(status: 408 | 431, limit: LimitKey): void {
    this.#services.reporter.hits.hit(limit);
    this.#answerAndClose(refusal(status));
  }

  #answerAndClose(answer: Buffer): void {
    this.#stopTimer();
    this.#toClient.flush();
    this.#socket.write(answer);
    this.#close();
  }

  /** Ends our side after what is written; the client may still be sending, and must not lose the answer to a reset. */
  #close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#stopTimer();
    this.#dropUpstream(false);
    this.#request.clear();
    this.#toClient.flush();
    // Not read until all is written: else a client that sends on and reads nothing would never be silent.
    this.#socket.pause();
    this.#socket.end(() => {
      if (this.#socket.destroyed) return;
      this.#timer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
      this.#socket.resume();
    });
  }

  #dropUpstream(isReset: boolean): void {
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    this.#upstream = undefined;
    this.#toUpstream.clear();
    // One that is still connecting would wait for that before it resets.
    if (isReset && !upstream.connecting) resetConnection(upstream);
    else upstream.destroy();
    if (!this.#isUpstreamFull) return;
    this.#isUpstreamFull = false;
    this.#updateReading();
  }

  #reset(): void {
    this.#toClient.flush();
    resetConnection(this.#socket);
  }

  /** `act` comes behind what has been sent in time: that this process stood still is not the other side's silence. */
  #startTimer(limitMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) act();
      });
    }, limitMs);
    this.#timer = timer;
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #handOver(irregularity: Irregularity): void {
    const socket = this.#socket;
    const unread = this.#request.unread;
    this.#isDetached = true;
    this.#toClient.flush();
    this.#stopTimer();
    this.#dropUpstream(false);
    socket.setTimeout(0);
    socket.off('data', this.#onData);
    socket.off('end', this.#onEnd);
    socket.off('drain', this.#onDrain);
    socket.off('timeout', this.#onTimeout);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    this.#context.onIrregular(this, socket, unread, irregularity);
  }
}
