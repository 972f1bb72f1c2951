import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { CANCELLED, COMPLETED, type Exchange } from '../exchange/exchange.ts';
import { type Refusal, toRawResponse, upstreamProblem } from '../exchange/problem.ts';
import { UpstreamFailure } from '../exchange/upstream-failure.ts';
import { toClientHead, toFinalStatus, toInterimBytes } from './client-response-head.ts';
import { callWebSocket } from './proxy.ts';
import type { QueuedRequest } from './queued-request.ts';
import { GatewayResponseHead, listOf, toGroups, toLines, valuesOf } from './raw-fields.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { ServedConnection } from './served-connection.ts';
import type { GatewayServices } from './services.ts';
import { isVersion10, setRequestHead } from './set-request-head.ts';
import { endTogether, ignoreErrors, observeTunnel } from './tunnel.ts';
import { toFailure, UpstreamWatch } from './upstream-watch.ts';

/**
 * Whether a request asks for WebSocket and nothing else (RFC 6455 §4.1). Any other upgrade may be ignored (RFC 9110
 * §7.8). Node's server does not read the body of a request that it treats as an upgrade.
 */
export function isWebSocketRequest(request: IncomingMessage): boolean {
  const raw = request.rawHeaders;
  const upgrades = listOf(raw, 'upgrade');
  return (
    request.method === 'GET' &&
    !isVersion10(request) &&
    upgrades.length === 1 &&
    upgrades[0] === 'websocket' &&
    !hasBody(request)
  );
}

/** Whether a request's framing says that a body follows. */
export function hasBody({ rawHeaders: raw }: IncomingMessage): boolean {
  return (
    valuesOf(raw, 'transfer-encoding').length > 0 || valuesOf(raw, 'content-length').some((length) => length !== '0')
  );
}

/** One WebSocket handshake, through http-proxy's `ws`, and the tunnel that follows if the upstream accepts. */
export class WebSocketExchange implements QueuedRequest {
  readonly isReceiving = false;
  readonly canBeSilent = true;
  /** `ReadAhead` counts the bytes that follow the request. */
  readonly bodyBytes = 0;
  readonly #services: GatewayServices;
  readonly #connection: ServedConnection;
  readonly #request: IncomingMessage;
  readonly #ahead: ReadAhead;
  readonly #exchange: Exchange;
  readonly #onTunnel: (upstream: Socket) => void;
  #upstream: ClientRequest | undefined;
  #watch: UpstreamWatch | undefined;
  #isOver = false;
  #hasAnswered = false;
  #isUntilClose = false;

  /** `onTunnel` is called when the upstream has accepted and the pipes are set up, before any new protocol byte. */
  constructor(
    services: GatewayServices,
    connection: ServedConnection,
    message: {
      readonly request: IncomingMessage;
      readonly ahead: ReadAhead;
      readonly onTunnel: (upstream: Socket) => void;
    },
    exchange: Exchange,
  ) {
    this.#services = services;
    this.#connection = connection;
    this.#request = message.request;
    this.#ahead = message.ahead;
    this.#onTunnel = message.onTunnel;
    this.#exchange = exchange;
  }

  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  begin(): void {
    const { proxy, options, reporter } = this.#services;
    const { socket, agent } = this.#connection;
    if (this.#connection.hasClientEnded) {
      this.onClientEnded();
      return;
    }
    const refusal = reporter.admit(this.#exchange);
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    // http-proxy writes the 101 as a string, by default in UTF-8; heads are latin1.
    socket.setDefaultEncoding('latin1');
    try {
      callWebSocket(proxy, this.#request, socket, NOTHING, { agent, headBytes: options.headBytes }, (upstream) => {
        this.#onUpstreamRequest(upstream);
      });
      this.#takeOverAnswer();
      reporter.requestEnd(this.#exchange);
    } catch {
      // Node's parser admits what its client refuses to send: the request's fault.
      this.cancel();
      this.#connection.refuseNow(400, false);
    }
  }

  /** No effect once the tunnel is open: its two sockets end each other (`endTogether`). */
  cancel(): void {
    this.#isOver = true;
    this.#ahead.drop();
    this.#services.reporter.end(this.#exchange, CANCELLED);
    this.#upstream?.destroy();
  }

  /**
   * Both sides close a WebSocket (RFC 6455 §7.1.1): a client that closes its side before the handshake is done has
   * left. A refusal that is on its way is still sent to its end. In the tunnel http-proxy's pipe passes the end on.
   */
  onClientEnded(): void {
    if (this.#isOver || this.#hasAnswered) return;
    this.cancel();
    this.#connection.close();
  }

  #onUpstreamRequest(upstream: ClientRequest): void {
    const { options, authority } = this.#services;
    this.#upstream = upstream;
    this.#watch = new UpstreamWatch(upstream, options);
    upstream.on('information', (interim) => {
      this.#watch?.onInterim(interim.statusCode);
      if (!this.#isOver) this.#connection.socket.write(toInterimBytes(interim));
    });
    setRequestHead(upstream, this.#request, {
      options,
      traceparent: this.#exchange.traceparent,
      authority,
      client: this.#connection.client,
    });
  }

  /** Sets the gateway's listeners before, or instead of, those of http-proxy. */
  #takeOverAnswer(): void {
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    // http-proxy's listener ends the client's connection in any case.
    upstream.removeAllListeners('error');
    upstream.on('error', (cause) => {
      // After a whole refusal an error does not matter, as in plain-exchange.ts.
      if (this.#watch?.isComplete !== true) this.#fail(cause);
    });
    // http-proxy's listener pipes a refusal without its framing, to a socket that may be dead (PR #1439).
    upstream.removeAllListeners('response');
    upstream.on('response', (response) => this.#onRefused(response));
    const [openTunnel] = upstream.listeners('upgrade');
    upstream.removeAllListeners('upgrade');
    upstream.on('upgrade', (response, tunnel, leftover) => {
      if (!this.#accept(response, tunnel)) return;
      openTunnel?.call(upstream, response, tunnel, leftover);
      ignoreErrors(this.#connection.socket, tunnel);
      this.#onTunnel(tunnel);
      const observer = this.#services.reporter.tunnelOf(this.#exchange);
      if (observer !== undefined) observeTunnel(this.#connection.socket, tunnel, observer);
    });
  }

  #accept(response: IncomingMessage, tunnel: Socket): boolean {
    tunnel.on('error', () => undefined);
    if (this.#isOver || listOf(response.rawHeaders, 'upgrade').join() !== 'websocket') {
      tunnel.destroy();
      this.#fail(new UpstreamFailure('D2S_ERR_UPSTREAM_UPGRADE'));
      return false;
    }
    this.#isOver = true;
    this.#hasAnswered = true;
    this.#watch?.onResponse(response);
    this.#exchange.status = 101;
    this.#reportHead(response);
    this.#services.reporter.end(this.#exchange, COMPLETED);
    this.#ahead.giveBack();
    const fields = [...toGroups(response.rawHeaders).values()];
    response.headers = Object.fromEntries(
      fields.map(({ name, values }) => [name, values]),
    ) as IncomingMessage['headers'];
    this.#connection.becomeTunnel(tunnel);
    endTogether(this.#connection.socket, tunnel, this.#services.options.idleTimeoutMs);
    return true;
  }

  /** The upstream answers instead of upgrading: passes that on, framed, as the connection's last response. */
  #onRefused(response: IncomingMessage): void {
    response.on('error', (cause) => this.#fail(cause));
    if (this.#isOver) return;
    const { socket } = this.#connection;
    this.#ahead.drop();
    this.#watch?.onResponse(response);
    try {
      this.#exchange.status = toFinalStatus(response);
    } catch (cause) {
      this.#fail(cause);
      return;
    }
    this.#hasAnswered = true;
    this.#reportHead(response);
    this.#exchange.isEmpty = true;
    const head = toClientHead(response, { isHead: false, isVersion10: false, isLast: true, isContinueDue: false });
    this.#isUntilClose = head.isUntilClose;
    const lines = `HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\n${toLines(head.fields)}\r\n`;
    socket.write(lines, 'latin1');
    const drained = () => response.resume();
    socket.on('drain', drained);
    const { reporter } = this.#services;
    response.on('data', (chunk: Buffer) => {
      if (!socket.write(head.isChunked ? toChunk(chunk) : chunk)) response.pause();
      this.#exchange.isEmpty = false;
      reporter.responseBytes(this.#exchange, chunk);
    });
    response.on('end', () => {
      if (!response.complete) return;
      this.#watch?.confirmEnd((cause) => {
        socket.off('drain', drained);
        if (cause !== undefined) this.#fail(cause);
        else this.#complete(head.isChunked ? `0\r\n${toLines(response.rawTrailers)}\r\n` : '');
      });
    });
    response.on('close', () => {
      if (!response.complete || !response.readableEnded) this.#fail(undefined);
    });
  }

  #complete(end: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#services.reporter.responseEnd(this.#exchange);
    this.#services.reporter.end(this.#exchange, COMPLETED);
    this.#connection.close(Buffer.from(end, 'latin1'));
  }

  #reportHead(response: IncomingMessage): void {
    if (this.#exchange.wantsResponse) {
      this.#services.reporter.response(this.#exchange, new GatewayResponseHead(response));
    }
  }

  #refuse({ ending, problem }: Refusal): void {
    this.#isOver = true;
    this.#ahead.drop();
    this.#services.reporter.end(this.#exchange, ending);
    this.#connection.close(toRawResponse(problem, { isHead: false, isLast: true }));
  }

  #fail(cause: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ahead.drop();
    const failure = this.#watch?.toFailure(cause) ?? toFailure(cause);
    const hasClientEnded = this.#connection.hasClientEnded;
    this.#services.reporter.end(this.#exchange, hasClientEnded ? CANCELLED : { kind: 'failed', failure });
    this.#upstream?.destroy();
    if (this.#hasAnswered) this.#connection.breakOff(this.#isUntilClose);
    else this.#connection.close(toRawResponse(upstreamProblem(failure), { isHead: false, isLast: true }));
  }
}

function toChunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'), bytes, CRLF]);
}

const NOTHING = Buffer.alloc(0);
const CRLF = Buffer.from('\r\n', 'latin1');
