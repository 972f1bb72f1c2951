/**
 * This folder is the complete data path: Node's own HTTP server and http-proxy. It serves what the relay does not frame
 * itself (odd heads, absolute-form, upgrades), or everything with `dataPath: gateway`. The gateway is given
 * sockets and never listens. It reports the same exchanges as the relay; it must know neither the relay nor metrics/.
 * Node's strict parser decides what is HTTP at all.
 *
 * Node's parser or writer changes these things on the way, unlike a direct connection:
 * - Requests reach the upstream as HTTP/1.1, and responses reach the client as HTTP/1.1. An HTTP/1.0 client gets Node's
 *   own Connection field, no chunks and no interim responses. An HTTP/1.0 request without Host gets the upstream's.
 * - Request fields of one name are grouped at the place of the first, in its letter case; several Cookie fields become
 *   one. Whitespace around values and folded lines are normalised. Response lines stay as they came, except in the 101
 *   of an upgrade, which is grouped in the same way and gets the standard reason.
 * - Chunk sizes change and chunk extensions are lost. `Trailer` is lost on messages without chunks; `Transfer-Encoding`
 *   on 204 and 304. Content-Length moves after Content-Disposition.
 * - 100 loses its fields. A final response to a request that still waits for its 100 gains `Connection: keep-alive`.
 * - The gateway refuses with 400: methods that Node's parser does not know, more than one Host, a fragment in the
 *   target, transfer codings that are not plain tokens with one chunked at the end, any transfer coding in HTTP/1.0,
 *   and trailers that belong in a head (Connection, Upgrade). It refuses CONNECT with 501, and versions other than 1.0
 *   and 1.1 with 505.
 * - Node's parser silently reads request lines of RTSP/1.x (GET, POST, OPTIONS) and ICE/1.x (SOURCE) as HTTP/1.x. The
 *   relay refuses them before it hands over.
 * - An Upgrade other than to `websocket` is ignored: Upgrade and HTTP2-Settings are removed. A refused WebSocket
 *   request is the last one on its connection.
 * - A client that has sent nothing yet has `headTimeoutMs`, not `idleTimeoutMs`; Node adds a second to the latter.
 */

import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type net from 'node:net';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import { withoutUpgrade } from '../../protocol/http1/upgrade.ts';
import type { ClientConnection, Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { RequestProblemStatus } from '../exchange/problem.ts';
import { keepAlive } from '../upstream/keep-alive.ts';
import { SharedLookup } from '../upstream/shared-lookup.ts';
import { OpenTunnels } from './open-tunnels.ts';
import { PlainExchange } from './plain-exchange.ts';
import { createProxy, type ProxyServer } from './proxy.ts';
import { type QueuedRequest, UNSENT_REQUEST } from './queued-request.ts';
import { GatewayRequestHead, toLines, withoutUpgradeFields } from './raw-fields.ts';
import { ReadAhead } from './read-ahead.ts';
import { ServedConnection } from './served-connection.ts';
import type { GatewayOptions, GatewayServices, LiveGatewayOptions } from './services.ts';
import { NO_SIZE, type RequestSize, toHeadProblem, toRequestSize } from './set-request-head.ts';
import { UpstreamAgent } from './upstream-agent.ts';
import { hasBody, isWebSocketRequest, WebSocketExchange } from './websocket-exchange.ts';

/** Node 22.21, 24.9 and later have it; the types of Node 20 do not. */
interface ShouldUpgrade {
  readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean;
}

/** Node checks the time limits of heads at this interval, so a limit is kept with this precision. */
const MAX_CHECK_INTERVAL_MS = 1_000;
const MIN_CHECK_INTERVAL_MS = 10;

/** Interval of `#checkConnections`. */
const CONNECTION_CHECK_MS = 250;

/** An accepted request: its connection, and its size (`NO_SIZE` if it does not have to wait). */
interface Admitted {
  readonly connection: ServedConnection;
  readonly size: RequestSize;
}

export class Gateway {
  readonly #reporter: ExchangeReporter;
  readonly #proxy: ProxyServer;
  readonly #logger: Logger;
  #lookTimer: NodeJS.Timeout | undefined;
  readonly #server: http.Server;
  readonly #connections = new Map<net.Socket, ServedConnection>();
  readonly #tunnels: OpenTunnels;
  readonly #names: SharedLookup;
  #options: GatewayOptions;
  #services: GatewayServices;
  #isDraining = false;
  #isDestroyed = false;
  #overflowed = 0;

  constructor(options: GatewayOptions, reporter: ExchangeReporter, clock: Clock, logger: Logger) {
    this.#options = options;
    this.#tunnels = new OpenTunnels(clock);
    this.#names = new SharedLookup(clock);
    this.#logger = logger;
    this.#reporter = reporter;
    this.#proxy = createProxy({ host: options.upstreamHost, port: options.upstreamPort });
    this.#services = this.#createServices();
    this.#server = this.#createServer();
  }

  /**
   * Changes the limits. Upstream time limits, the forwarding mode and `maxFields` apply to the next requests,
   * `headTimeoutMs` also to heads that are on their way, everything else to the next connections. Node keeps its
   * interval for checking heads, so a shorter time limit may take effect up to a second late.
   */
  reconfigure(options: LiveGatewayOptions): void {
    this.#options = { ...this.#options, ...options };
    this.#services = this.#createServices();
    const { headBytes, headTimeoutMs, idleTimeoutMs } = options;
    this.#server.headersTimeout = headTimeoutMs;
    this.#server.keepAliveTimeout = idleTimeoutMs;
    this.#server.timeout = idleTimeoutMs;
    // Node reads it from the server for each connection; its types only know it as an option.
    (this.#server as unknown as { maxHeaderSize: number }).maxHeaderSize = headBytes;
  }

  /** Upgraded ones included. */
  get openConnections(): number {
    return this.#connections.size;
  }

  /** Open WebSockets, counted in `openConnections` as well. */
  get upgradedConnections(): number {
    return this.#tunnels.size;
  }

  /** WebSockets that `closeTunnels` ended, by outcome. */
  get closedTunnels(): OpenTunnels['closed'] {
    return this.#tunnels.closed;
  }

  /** Connections on which further requests were refused because too many were waiting (`MAX_WAITING`). */
  get overflowedConnections(): number {
    return this.#overflowed;
  }

  /**
   * Takes over a client's socket, without listeners, whose next unread byte is the first of a request head. `upstream`
   * is the connection that has served this client so far.
   */
  take(socket: net.Socket, client: ClientConnection, upstream?: net.Socket): void {
    if (this.#isDestroyed) socket.destroy();
    if (socket.destroyed) {
      upstream?.destroy();
      return;
    }
    const agent = new UpstreamAgent(this.#services, upstream);
    const connection = new ServedConnection(socket, { client, agent, isDraining: this.#isDraining }, this.#services);
    this.#connections.set(socket, connection);
    socket.on('close', () => this.#connections.delete(socket));
    this.#lookTimer ??= setInterval(() => this.#checkConnections(), CONNECTION_CHECK_MS).unref();
    socket.setNoDelay(true);
    socket.allowHalfOpen = true;
    this.#serve(socket, connection);
  }

  /** Answers carry `Connection: close` from now on. Idle and upgraded connections stay. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#connections.values()) connection.announceEnd();
  }

  /** Upgraded ones included. */
  connections(): IterableIterator<ServedConnection> {
    return this.#connections.values();
  }

  /** Closes the WebSockets with code 1001, spread over `overMs`; a second call replaces the first. */
  closeTunnels(overMs: number): void {
    this.#tunnels.close(overMs);
  }

  destroy(): void {
    this.#isDestroyed = true;
    for (const socket of this.#connections.keys()) socket.destroy();
    this.#tunnels.stop();
    clearInterval(this.#lookTimer);
    // The server has never listened: this only stops its interval.
    this.#server.close();
  }

  #createServices(): GatewayServices {
    const { upstreamHost: host, upstreamPort: port } = this.#options;
    return {
      options: this.#options,
      proxy: this.#proxy,
      reporter: this.#reporter,
      names: this.#names,
      authority: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    };
  }

  #createServer(): http.Server {
    const { headBytes, headTimeoutMs, idleTimeoutMs } = this.#options;
    const interval = Math.min(Math.max(Math.floor(headTimeoutMs / 4), MIN_CHECK_INTERVAL_MS), MAX_CHECK_INTERVAL_MS);
    const options: http.ServerOptions & ShouldUpgrade = {
      // Newer Nodes ask. A request with a body is served as an ordinary one. Older Nodes raise 'upgrade' for it as
      // well, with the body unread (`#ignoreUpgrade`).
      shouldUpgradeCallback: (request) => isWebSocketRequest(request) || !hasBody(request),
      maxHeaderSize: headBytes,
      headersTimeout: headTimeoutMs,
      // An upload may take long, and an upgraded connection has no end (#1664).
      requestTimeout: 0,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: interval,
      insecureHTTPParser: false,
      // The gateway answers with a problem, and also refuses two Hosts.
      requireHostHeader: false,
    };
    const server = http.createServer(options);
    // Node silently drops fields past 2,000; the gateway refuses them (`#admit`).
    server.maxHeadersCount = 0;
    // A client that has closed its sending side still waits for its answer. Undocumented, but in Node since 0.8.
    (server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
    server.on('request', (request, response) => this.#onRequest(request, response, false));
    server.on('checkContinue', (request, response) => this.#onRequest(request, response, true));
    server.on('checkExpectation', (request, response) => this.#onRequest(request, response, false));
    server.on('upgrade', (request, socket, leftover) => this.#onUpgrade(request, socket as net.Socket, leftover));
    server.on('connect', (_request, socket) => this.#connections.get(socket as net.Socket)?.refuse(501));
    // Limits the time between two bytes, either way. Node applies it to each connection, and longer between requests.
    server.timeout = idleTimeoutMs;
    server.on('timeout', (socket) => this.#onSilence(socket));
    server.on('clientError', (error, socket) => this.#onClientError(error, socket as net.Socket));
    // Node starts to check heads at this event, and a server that never listens never emits it.
    server.emit('listening');
    return server;
  }

  /** Checks what no event reports: unfinished heads, stalled tunnels, writes below the high-water mark. */
  #checkConnections(): void {
    if (this.#connections.size === 0) {
      clearInterval(this.#lookTimer);
      this.#lookTimer = undefined;
      return;
    }
    const inMessage = socketsInMessage(this.#server);
    for (const [socket, connection] of this.#connections) {
      keepAlive(socket);
      connection.agent.lookAfter();
      connection.checkStalled();
      connection.chargeHead(inMessage?.has(socket) ?? !connection.isIdle);
    }
  }

  #serve(socket: net.Socket, connection: ServedConnection): void {
    if (socket.destroyed) return;
    // The previous owner may have left an idle timeout on it.
    socket.setTimeout(0);
    this.#server.emit('connection', socket);
    connection.onServed();
    socket.resume();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void {
    const admitted = this.#admit(request);
    if (admitted === undefined) {
      request.resume();
      return;
    }
    const { connection, size } = admitted;
    const isUpgradeIgnored = request.headers.upgrade !== undefined;
    // The gateway does not upgrade this request, so it does not ask the upstream to.
    if (isUpgradeIgnored) request.rawHeaders = withoutUpgradeFields(request.rawHeaders);
    const exchange = this.#begin(request, connection);
    const plain = new PlainExchange(this.#services, connection, { request, response, expectsContinue }, exchange);
    connection.add(plain, size);
    // Node's parser stops after it and drops what came in the same read: the client must learn that it was not served.
    if (isUpgradeIgnored) connection.endAfterLast();
  }

  #onUpgrade(request: IncomingMessage, socket: net.Socket, leftover: Buffer): void {
    this.#connections.get(socket)?.onUpgrade();
    const admitted = this.#admit(request);
    if (admitted === undefined) return;
    const { connection, size } = admitted;
    if (!isWebSocketRequest(request)) {
      this.#ignoreUpgrade(request, admitted, leftover);
      return;
    }
    const ahead = this.#readAhead(connection, leftover);
    if (ahead === undefined) return;
    const onTunnel = (upstream: net.Socket) => this.#tunnels.add(socket, upstream);
    const exchange = this.#begin(request, connection);
    const webSocket = new WebSocketExchange(this.#services, connection, { request, ahead, onTunnel }, exchange);
    connection.add(webSocket, size);
  }

  /** Undefined if memory has no room for `leftover`; the request is refused then. */
  #readAhead(connection: ServedConnection, leftover: Buffer): ReadAhead | undefined {
    const ahead = ReadAhead.of(connection.socket, leftover, this.#services);
    if (ahead === undefined) connection.refuse(503);
    return ahead;
  }

  /** The connection of an accepted request; undefined if the request is refused or the connection is closing. */
  #admit(request: IncomingMessage): Admitted | undefined {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.isClosing) return undefined;
    const hasTooMany = request.rawHeaders.length > 2 * this.#options.maxFields;
    if (hasTooMany) this.#reporter.hits.hit('limits.fields');
    const problem = hasTooMany ? 431 : toHeadProblem(request);
    if (problem !== undefined) {
      connection.refuse(problem, request.method === 'HEAD');
      return undefined;
    }
    if (connection.isFull) {
      this.#overflowed += 1;
      this.#logger.warn({ overflowed: this.#overflowed }, 'too many requests wait on one connection: refusing more');
      connection.refuse(503, request.method === 'HEAD');
      return undefined;
    }
    const size = connection.isBusy ? toRequestSize(request) : NO_SIZE;
    if (!connection.hasRoomFor(size)) {
      this.#reporter.hits.hit('limits.memoryBytes');
      connection.refuse(503, request.method === 'HEAD');
      return undefined;
    }
    return { connection, size };
  }

  #begin(request: IncomingMessage, connection: ServedConnection): Exchange {
    return this.#services.reporter.begin(new GatewayRequestHead(request), connection.client, 'gateway');
  }

  /**
   * Serves the request without its Upgrade (RFC 9110 §7.8). Node's server has released the connection and would not
   * read the request's body. So the head goes back into the socket without its Upgrade, and Node's server serves it
   * again.
   */
  #ignoreUpgrade(request: IncomingMessage, { connection, size }: Admitted, leftover: Buffer): void {
    const { socket } = connection;
    const head = `${request.method} ${request.url} HTTP/${request.httpVersion}\r\n${toLines(request.rawHeaders)}\r\n`;
    const bytes = Buffer.concat([Buffer.from(withoutUpgrade(head), 'latin1'), leftover]);
    const ahead = this.#readAhead(connection, bytes);
    if (ahead === undefined) return;
    const queued: QueuedRequest = {
      ...UNSENT_REQUEST,
      begin: () => {
        // As in the relay: an ended stream cannot take bytes back, so the request cannot be read again.
        if (connection.hasClientEnded) {
          ahead.drop();
          connection.refuseNow(400, request.method === 'HEAD');
          return;
        }
        ahead.giveBack();
        connection.release(queued);
        // Node's parser is still running here, and the restart would use it again.
        process.nextTick(() => this.#serve(socket, connection));
      },
      cancel: () => ahead.drop(),
    };
    connection.add(queued, size);
  }

  /** As in the relay: a client may be silent while it waits for an answer, but not while the upstream waits for it. */
  #onSilence(socket: net.Socket): void {
    const connection = this.#connections.get(socket);
    // These have a time limit of their own.
    if (connection?.hasClientEnded === true || connection?.isClosing === true) return;
    if (connection?.canBeSilent === true && socket.writableLength === 0) {
      // As in the relay: the client may have left unseen. It is not read while the upstream does not read.
      socket.write('');
      socket.setTimeout(this.#options.idleTimeoutMs);
      return;
    }
    this.#reporter.hits.hit('timeouts.idle');
    socket.destroy();
  }

  #onClientError(error: NodeJS.ErrnoException, socket: net.Socket): void {
    const connection = this.#connections.get(socket);
    const status = toStatus(error.code);
    const isUnused = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && connection?.isIdle === true;
    if (status === 408) this.#reporter.hits.hit('timeouts.head');
    else if (status === 431) this.#reporter.hits.hit('limits.headBytes');
    // The socket is unknown, or there is no request that could be answered.
    if (connection === undefined || status === undefined || isUnused) socket.destroy();
    else connection.refuse(status);
  }
}

interface ConnectionsList {
  active(): readonly { readonly socket?: net.Socket | null }[];
}

/**
 * Sockets whose message Node's parser has read in part. Undocumented, the same in Node 20 and 26: Node's own timeout
 * check of heads uses the list. Undefined where Node does not have it.
 */
function socketsInMessage(server: http.Server): ReadonlySet<net.Socket> | undefined {
  const key = Object.getOwnPropertySymbols(server).find(({ description }) => description === 'http.server.connections');
  const list = key && (server as unknown as Record<symbol, Partial<ConnectionsList> | undefined>)[key];
  const parsers = list?.active?.();
  return parsers && new Set(parsers.flatMap(({ socket }) => socket ?? []));
}

/** The status for what Node's parser or its timeout found; undefined for an error of the connection itself. */
function toStatus(code: string | undefined): RequestProblemStatus | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  return code?.startsWith('HPE_') === true ? 400 : undefined;
}

export const GATEWAY_METRICS: readonly MetricDescription<Gateway>[] = [
  gauge(
    'd2_sidecar_upgraded_connections',
    'Client connections that are WebSockets now.',
    ({ upgradedConnections }) => upgradedConnections,
  ),
  counter(
    'd2_sidecar_websockets_let_go_total',
    'WebSockets ended by a stop: closed with 1001 and answered, or cut.',
    ({ closedTunnels }) => closedTunnels,
    'ending',
  ),
  counter(
    'd2_sidecar_gateway_overflows_total',
    'Connections on which too many requests waited: further ones were refused.',
    ({ overflowedConnections }) => overflowedConnections,
  ),
];
