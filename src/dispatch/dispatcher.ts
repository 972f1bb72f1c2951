/**
 * Accepts clients, keeps their number within its limit, and chooses the data path: the relay for what can be framed without
 * doubt, the gateway for everything else and from then on. Knows no metrics.
 */
import net from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { HostPort } from '../config/config.ts';
import { StartError } from '../errors.ts';
import type { ClientConnection } from '../exchange/exchange.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Irregularity } from '../http1/request-head.ts';
import type { Logger } from '../logger.ts';
import { RelayConnection } from '../relay/relay-connection.ts';
import type { RelayContext, RelayServices } from '../relay/relay-context.ts';
import type { ListenerTls } from '../tls/listener-tls.ts';
import { descriptorsFor, openFilesLimit } from './open-files.ts';

export interface DispatcherOptions {
  readonly dataPath: 'auto' | 'gateway';
  readonly maxConnections: number;
  /** Undefined: clients speak plain HTTP. */
  readonly tls?: ListenerTls | undefined;
}

/** Dead peers of held long polls are noticed by TCP keep-alive, since nothing else is ever sent to them. */
const KEEP_ALIVE_DELAY_MS = 60_000;
const MAX_CONNECTIONS_LOG_NS = 10_000_000_000;

export class Dispatcher implements RelayContext {
  readonly services: RelayServices;
  readonly #options: DispatcherOptions;
  readonly #gateway: Gateway;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #server: net.Server;
  readonly #relayed = new Set<RelayConnection>();
  /** TCP connections below TLS, from the first byte of the handshake; empty without TLS. */
  readonly #secured = new Set<net.Socket>();
  readonly #handedOver = new Map<Irregularity, number>();
  #isDraining = false;
  #accepted = 0;
  #refused = 0;
  #refusalLoggedNs = Number.NEGATIVE_INFINITY;

  constructor(options: DispatcherOptions, services: RelayServices, gateway: Gateway, clock: Clock, logger: Logger) {
    this.services = services;
    this.#options = options;
    this.#gateway = gateway;
    this.#clock = clock;
    this.#logger = logger;
    this.#server = this.#createServer();
    // Also of those that are still in their handshake.
    this.#server.maxConnections = options.maxConnections;
    this.#server.on('drop', () => this.#onRefused());
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Client connections open now. */
  get openConnections(): number {
    return this.#relayed.size + this.#gateway.openConnections;
  }

  /** Client connections accepted since the start. */
  get acceptedConnections(): number {
    return this.#accepted;
  }

  /** Client connections closed at once, since `limits.connections` were open. */
  get refusedConnections(): number {
    return this.#refused;
  }

  /** Client connections handed over from the relay to the gateway, by what was irregular. */
  get handedOver(): ReadonlyMap<Irregularity, number> {
    return this.#handedOver;
  }

  /** Opens the listener; the address really bound. Throws `D2S_ERR_LISTEN`. */
  async listen(address: HostPort): Promise<HostPort> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host: address.host, port: address.port, backlog: 4096 }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    }).catch((cause: NodeJS.ErrnoException) => {
      const text = `listen: cannot listen on ${address.host}:${address.port}: ${cause.code ?? cause.message}`;
      throw new StartError('D2S_ERR_LISTEN', text, { cause });
    });
    // Accepting may fail later, e.g. without file descriptors; the listener stays open and the next one may succeed.
    this.#server.on('error', (cause: NodeJS.ErrnoException) => {
      this.#logger.error({ code: cause.code }, 'accepting a connection failed');
    });
    this.#warnOfFewDescriptors();
    const bound = this.#server.address() as net.AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  /** Answers announce the end of their connection from now on; idle connections are closed; new ones still served. */
  drain(): void {
    this.#isDraining = true;
    for (const connection of this.#relayed) connection.drain();
    this.#gateway.drain();
  }

  /** Accepts no new connection. */
  stopListening(): void {
    this.#server.close();
  }

  /** Ends every connection at once. */
  destroy(): void {
    this.#server.close();
    for (const connection of this.#relayed) connection.destroy();
    this.#gateway.destroy();
    // What has not come through its handshake yet belongs to nobody.
    for (const socket of this.#secured) socket.destroy();
  }

  onIrregular(connection: RelayConnection, socket: net.Socket, unread: Buffer, irregularity: Irregularity): void {
    this.#relayed.delete(connection);
    this.#handedOver.set(irregularity, (this.#handedOver.get(irregularity) ?? 0) + 1);
    socket.pause();
    socket.unshift(unread);
    this.#gateway.take(socket, connection.client);
    socket.resume();
  }

  onRelayClosed(connection: RelayConnection): void {
    this.#relayed.delete(connection);
  }

  #createServer(): net.Server {
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS };
    const { tls: listenerTls } = this.#options;
    if (listenerTls === undefined) {
      // A client that has closed its sending side still waits for its answer.
      return net.createServer({ ...options, allowHalfOpen: true }, (socket) => {
        this.#accepted += 1;
        this.#onConnection(socket, toClientConnection(socket));
      });
    }
    const handshakeTimeoutMs = this.services.options.headTimeoutMs;
    const server = tls.createServer({ ...options, ...listenerTls.serverOptions(handshakeTimeoutMs) });
    listenerTls.attach(server);
    server.on('connection', (socket) => {
      this.#accepted += 1;
      this.#secured.add(socket);
      socket.on('close', () => this.#secured.delete(socket));
    });
    server.on('secureConnection', (socket) => {
      // As above, but from here on: one that closes in its handshake waits for nothing.
      socket.allowHalfOpen = true;
      this.#onConnection(socket, toSecureClient(socket, listenerTls));
    });
    return server;
  }

  #onConnection(socket: net.Socket, client: ClientConnection): void {
    // For the socket's whole life: between two owners nobody else listens.
    socket.on('error', () => undefined);
    if (this.#options.dataPath === 'gateway') this.#gateway.take(socket, client);
    else this.#relayed.add(new RelayConnection(socket, client, this));
  }

  /** Out of descriptors, the kernel turns clients away without a word: neither counted nor logged. */
  #warnOfFewDescriptors(): void {
    const limit = openFilesLimit();
    const needed = descriptorsFor(this.#options.maxConnections);
    if (limit === undefined || limit >= needed) return;
    this.#logger.warn(
      { openFiles: limit, needed },
      'limits.connections needs more open files than the process may have: raise the limit (LimitNOFILE, ulimit -n), or lower limits.connections',
    );
  }

  #onRefused(): void {
    this.#refused += 1;
    const nowNs = this.#clock.nowNs();
    if (nowNs - this.#refusalLoggedNs < MAX_CONNECTIONS_LOG_NS) return;
    this.#refusalLoggedNs = nowNs;
    const { maxConnections } = this.#options;
    this.#logger.warn({ refused: this.#refused }, `limits.connections (${maxConnections}) are open: refusing new ones`);
  }
}

function toClientConnection(socket: net.Socket): ClientConnection {
  return { remoteAddress: socket.remoteAddress ?? '', remotePort: socket.remotePort ?? 0, secure: false };
}

function toSecureClient(socket: TLSSocket, listenerTls: ListenerTls): ClientConnection {
  const client = { ...toClientConnection(socket), secure: true };
  const certificate = listenerTls.clientOf(socket);
  if (certificate === undefined) return client;
  return { ...client, certificateUser: certificate.user, certificateSubject: certificate.subject };
}
