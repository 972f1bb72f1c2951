import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { PhaseTimer } from '../../base/clock.ts';
import { QueuedWrites, type WritesOwner } from '../../limits/stalled-writes.ts';
import { RequestAccount } from '../../limits/unfinished-bodies.ts';
import { closeAfterWrites, LINGER_MS, resetConnection } from '../../tls/connection-end.ts';
import { CANCELLED, COMPLETED, type Exchange } from '../exchange/exchange.ts';
import { encodeProblem, upstreamProblem } from '../exchange/problem.ts';
import { classifyUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import type { TrafficServices, WebSocketRequest } from '../upstream/traffic-services.ts';
import type { UpstreamConnection } from '../upstream/upstream-connection.ts';
import { fieldsByName, fieldsOfHead, formatHead, membersOf, passRefusal, viewHead } from './fields.ts';
import { endTogether, observeTunnel, PAUSED_BYTES, withoutProxyListeners } from './open-tunnel.ts';
import { callWebSocket, type ProxyServer } from './proxy.ts';
import { ReadAhead } from './read-ahead.ts';

export interface HandshakeListener {
  /** The upstream has accepted and the pipes are set up, before any byte has passed. The handshake is over. */
  onTunnel(handshake: Handshake, client: Socket, upstream: Socket): void;
  onClosed(handshake: Handshake): void;
}

/** Copies of a head while its handshake waits: ours, Node's fields, and what Node has written. Measured: 2.3. */
const HEAD_COPIES = 3;

/**
 * One WebSocket handshake, through http-proxy's `ws`. It ends with the tunnel, or with an answer that is the last on
 * its connection: the upstream's refusal, or one of our own.
 */
export class Handshake implements WritesOwner {
  readonly #services: TrafficServices;
  readonly #listener: HandshakeListener;
  readonly #socket: Socket;
  readonly #exchange: Exchange;
  readonly #toClient: QueuedWrites;
  #toUpstream: QueuedWrites | undefined;
  readonly #account: RequestAccount;
  readonly #timer = new PhaseTimer();
  #ahead: ReadAhead | undefined;
  #connection: UpstreamConnection | undefined;
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  /** The client's socket has been taken over by the tunnel, or gets its last bytes. */
  #isOver = false;
  #isClosing = false;
  #isUntilClose = false;
  /** How the upstream's connection has ended; undefined while it is open. */
  #end: { readonly failure: UpstreamFailure | undefined } | undefined;
  #onEndKnown: (() => void) | undefined;

  constructor(request: WebSocketRequest, services: TrafficServices, proxy: ProxyServer, listener: HandshakeListener) {
    const { socket, exchange } = request;
    this.#services = services;
    this.#listener = listener;
    this.#socket = socket;
    this.#exchange = exchange;
    this.#toClient = new QueuedWrites(socket, services.stalled, PAUSED_BYTES, this);
    this.#account = new RequestAccount(services.requests);
    socket.on('end', this.#onClientEnd);
    socket.on('drain', this.checkStalled);
    socket.on('close', this.#onClientClosed);
    this.#begin(request, proxy);
  }

  #begin({ headText, leftover, upstream }: WebSocketRequest, proxy: ProxyServer): void {
    this.#ahead = ReadAhead.of(this.#socket, leftover, this.#services);
    if (this.#ahead === undefined || !this.#account.keep(HEAD_COPIES * headText.length)) {
      if (this.#ahead !== undefined) this.#services.reporter.hits.hit('limits.memoryBytes');
      upstream?.socket.destroy();
      this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_RESOURCES'));
      return;
    }
    this.#connection = upstream ?? this.#services.upstream.connect();
    const socket = this.#connection.becomeStream((failure) => {
      this.#end = { failure };
      this.#onEndKnown?.();
    });
    this.#toUpstream = new QueuedWrites(socket, this.#services.stalled, PAUSED_BYTES, this);
    socket.on('drain', this.checkStalled);
    // Gives Node's client the one connection of this handshake. It has what Node's client uses of an http.Agent.
    const addRequest = (request: ClientRequest) => request.onSocket(socket);
    const agent = { protocol: 'http:', keepAlive: true, maxSockets: 1, addRequest };
    const { headBytes, idleTimeoutMs } = this.#services.options;
    // http-proxy writes the 101 as a string, by default in UTF-8; heads are latin1.
    this.#socket.setDefaultEncoding('latin1');
    callWebSocket(proxy, (request) => this.#prepare(request, headText), this.#socket, { agent, headBytes });
    this.#takeOverAnswer();
    this.#socket.on('timeout', this.#onSilence);
    this.#socket.setTimeout(idleTimeoutMs);
    this.#services.reporter.requestEnd(this.#exchange);
  }

  onStalledTooLong(): void {
    this.#services.reporter.hits.hit('limits.memoryBytes');
    resetConnection(this.#socket);
  }

  readonly checkStalled = (): void => {
    this.#toClient.check();
    this.#toUpstream?.check();
  };

  destroy(): void {
    this.#socket.destroy();
  }

  #prepare(request: ClientRequest, headText: string): void {
    this.#request = request;
    // Node drops the fields of an answer beyond 2,000.
    request.maxHeadersCount = 0;
    request.path = headText.slice(headText.indexOf(' ') + 1, headText.indexOf(' HTTP/1.1\r\n'));
    const fields = fieldsByName(fieldsOfHead(headText));
    // Node refuses to send it without chunks (Node's own rule; RFC 9110 §6.6.2 only makes it useless there).
    fields.delete('trailer');
    for (const name of request.getHeaderNames()) request.removeHeader(name);
    for (const { name, values } of fields.values()) {
      request.setHeader(name, values.length === 1 ? (values[0] as string) : values);
    }
    // Node adds them unless they have been removed explicitly.
    if (!fields.has('content-length')) request.removeHeader('content-length');
    request.removeHeader('transfer-encoding');
    request.on('information', (interim) => {
      // 100 asks for a body, so the answer has not begun.
      if (interim.statusCode !== 100) this.#timer.stop();
      if (!this.#isOver) this.#socket.write(formatHead(interim, interim.rawHeaders), 'latin1');
    });
    request.on('finish', () => {
      const { responseTimeoutMs } = this.#services.options;
      if (this.#isOver || responseTimeoutMs === 0) return;
      this.#timer.start(responseTimeoutMs, () => this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT')));
    });
  }

  /** Sets our listeners before, or instead of, those of http-proxy. */
  #takeOverAnswer(): void {
    const request = this.#request;
    if (request === undefined) return;
    // http-proxy's listener ends the client's connection in any case.
    request.removeAllListeners('error');
    // After a whole refusal an error does not matter.
    request.on('error', (cause) => {
      if (this.#response?.complete !== true) this.#fail(cause);
    });
    request.removeAllListeners('response');
    request.on('response', (response) => this.#onRefused(response));
    const [openTunnel] = request.listeners('upgrade');
    request.removeAllListeners('upgrade');
    request.on('upgrade', (response, upstream: Socket, leftover) => {
      upstream.on('error', () => undefined);
      const upgrades = membersOf(fieldsByName(response.rawHeaders).get('upgrade'));
      if (this.#isOver || upgrades.join() !== 'websocket') {
        upstream.destroy();
        this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_UPGRADE'));
        return;
      }
      this.#accept(response, upstream, () => openTunnel?.call(request, response, upstream, leftover));
    });
  }

  #accept(response: IncomingMessage, upstream: Socket, openTunnel: () => void): void {
    const { reporter, options } = this.#services;
    const socket = this.#socket;
    this.#isOver = true;
    this.#leave();
    this.#connection?.forget();
    this.#exchange.status = 101;
    if (this.#exchange.wantsResponse) reporter.response(this.#exchange, viewHead(response));
    reporter.end(this.#exchange, COMPLETED);
    this.#ahead?.giveBack();
    const fields = [...fieldsByName(response.rawHeaders).values()];
    response.headers = Object.fromEntries(fields.map(({ name, values }) => [name, values])) as never;
    socket.setTimeout(0);
    endTogether(socket, upstream, options.idleTimeoutMs);
    withoutProxyListeners(socket, upstream, openTunnel);
    this.#listener.onTunnel(this, socket, upstream);
    const observer = reporter.tunnelOf(this.#exchange);
    if (observer !== undefined) observeTunnel(socket, upstream, observer);
  }

  #onRefused(response: IncomingMessage): void {
    response.on('error', (cause) => this.#fail(cause));
    if (this.#isOver) return;
    const { reporter } = this.#services;
    this.#ahead?.drop();
    this.#timer.stop();
    const { statusCode = 0 } = response;
    // Node allows 099, or 101 without Upgrade.
    if (statusCode < 200) {
      this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL', undefined, `status ${statusCode}`));
      return;
    }
    this.#response = response;
    this.#exchange.status = statusCode;
    this.#exchange.isEmpty = true;
    if (this.#exchange.wantsResponse) reporter.response(this.#exchange, viewHead(response));
    response.on('close', () => {
      if (!response.complete || !response.readableEnded) this.#fail(undefined);
    });
    this.#isUntilClose = passRefusal(response, this.#socket, {
      onBytes: (bytes) => {
        this.#toClient.wrote();
        this.#exchange.isEmpty = false;
        reporter.responseBytes(this.#exchange, bytes);
      },
      onEnd: (end) => this.#complete(end),
    });
  }

  /** A body that only the connection's end ends is whole if the connection was not reset. */
  #complete(end: string): void {
    if (this.#isUntilClose && this.#end === undefined) this.#onEndKnown = () => this.#complete(end);
    else if (this.#end?.failure !== undefined) this.#fail(this.#end.failure.cause);
    else if (!this.#isOver) {
      this.#services.reporter.responseEnd(this.#exchange);
      this.#services.reporter.end(this.#exchange, COMPLETED);
      this.#closeWith(end);
    }
  }

  #fail(cause: unknown): void {
    if (this.#isOver) return;
    const failure = this.#toFailure(cause);
    const hasClientLeft = this.#socket.readableEnded;
    this.#services.reporter.end(this.#exchange, hasClientLeft ? CANCELLED : { kind: 'failed', failure });
    if (this.#response === undefined) {
      this.#closeWith(encodeProblem(upstreamProblem(failure), { isHead: false, isLast: true }));
    } else if (this.#isUntilClose) {
      // An orderly end would make the answer look complete.
      this.#isOver = true;
      resetConnection(this.#socket);
    } else this.#closeWith('');
  }

  #toFailure(cause: unknown): UpstreamFailure {
    const code = (cause as { code?: unknown } | undefined)?.code;
    if (code === 'HPE_HEADER_OVERFLOW') return new UpstreamFailure('D2S_ERR_UPSTREAM_HEAD_TOO_LARGE', cause);
    // Node's parser: the bytes are not HTTP. An early end is not a syntax error.
    if (typeof code === 'string' && code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE') {
      return new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL', cause);
    }
    if (this.#response !== undefined) return classifyUpstreamFailure(cause, 'response');
    return this.#connection?.failure ?? classifyUpstreamFailure(cause, 'wait');
  }

  /**
   * A client that closes its side before the handshake is done has left: both sides close a WebSocket (RFC 6455
   * §7.1.1). A refusal that is on its way is still sent to its end.
   */
  readonly #onClientEnd = (): void => {
    if (this.#isClosing) return;
    if (this.#response === undefined) {
      this.#services.reporter.end(this.#exchange, CANCELLED);
      this.#closeWith('');
      return;
    }
    this.#socket.setTimeout(this.#services.options.halfClosedTimeoutMs, () => {
      if (!this.#isClosing) this.#services.reporter.hits.hit('timeouts.halfClosed');
      this.#socket.destroy();
    });
  };

  /** A client may be silent while it waits, but must take a refusal. */
  readonly #onSilence = (): void => {
    if (this.#isClosing || this.#socket.readableEnded) return;
    if (this.#socket.writableLength > 0) {
      this.#services.reporter.hits.hit('timeouts.idle');
      this.#socket.destroy();
      return;
    }
    // A socket that is not read does not report that its client has left; an empty write then fails.
    this.#socket.write('');
    this.#socket.setTimeout(this.#services.options.idleTimeoutMs);
  };

  readonly #onClientClosed = (): void => {
    this.#isOver = true;
    this.#isClosing = true;
    this.#services.reporter.end(this.#exchange, CANCELLED);
    this.#ahead?.drop();
    this.#leave();
    this.#dropUpstream();
    this.#listener.onClosed(this);
  };

  /** Ends our side after `last` and all earlier writes. What the client still sends is dropped. */
  #closeWith(last: Buffer | string): void {
    if (this.#isClosing) return;
    this.#isOver = true;
    this.#isClosing = true;
    this.#ahead?.drop();
    this.#timer.stop();
    this.#account.keep(0);
    this.#dropUpstream();
    const socket = this.#socket;
    const { idleTimeoutMs } = this.#services.options;
    socket.setTimeout(idleTimeoutMs > 0 ? idleTimeoutMs : LINGER_MS, () => socket.destroy());
    if (last.length > 0) socket.write(last, 'latin1');
    closeAfterWrites(socket, this.checkStalled);
  }

  #dropUpstream(): void {
    this.#request?.destroy();
    this.#connection?.socket.destroy();
  }

  #leave(): void {
    this.#timer.stop();
    this.#account.keep(0);
    this.#toClient.release();
    this.#toUpstream?.release();
    const socket = this.#socket;
    socket.off('end', this.#onClientEnd);
    socket.off('drain', this.checkStalled);
    socket.off('close', this.#onClientClosed);
    socket.off('timeout', this.#onSilence);
    this.#connection?.socket.off('drain', this.checkStalled);
  }
}
