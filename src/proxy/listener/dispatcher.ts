/**
 * This folder accepts clients, limits their number, and closes the listener without resetting any. The dispatcher gives
 * each connection to the relay, and takes a WebSocket from the relay to `websocket/`. Neither knows the other, and the
 * folder does not know metrics/.
 */

import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { type AddressRanges, withoutMapping } from '../../base/address.ts';
import type { Clock } from '../../base/clock.ts';
import { StartError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import { Roster } from '../../base/roster.ts';
import type { HostPort } from '../../config/config.ts';
import { AddressCounts } from '../../limits/address-counts.ts';
import { certificateFields } from '../../protocol/http1/certificate-fields.ts';
import { certificateChainOf, type ListenerTls } from '../../tls/listener-tls.ts';
import type { ClientConnection } from '../exchange/exchange.ts';
import type { RelayServices } from '../relay/client-link.ts';
import { RelayConnection, type RelayContext } from '../relay/relay-connection.ts';
import { ReadBuffer } from '../upstream/read-buffer.ts';
import type { TrafficOptions, WebSocketRequest } from '../upstream/traffic-services.ts';
import { WebSockets } from '../websocket/web-sockets.ts';
import { capByDescriptors, DescriptorWatch } from './descriptor-watch.ts';
import { ListenerEnd, QuietConnections } from './listener-end.ts';
import { ProxyHeaders } from './proxy-headers.ts';

export interface LiveDispatcherOptions {
  readonly maxConnections: number;
  readonly maxConnectionsPerAddress: number;
  /** These peers may name the addresses of their clients. */
  readonly trustedProxies: AddressRanges;
  /** They do so in a PROXY header before the first request; otherwise in a field of each request. */
  readonly hasProxyHeaders: boolean;
}

export type DispatcherOptions = LiveDispatcherOptions & { readonly tls?: ListenerTls | undefined };

type AcceptSecure = (socket: net.Socket, client: ClientConnection) => void;

/** Connections that the kernel may accept ahead of us. */
const BACKLOG = 4096;
/** The kernel lowers it to its own maximum, which a socket that was given cannot exceed either. */
const LONGEST_BACKLOG = 65_535;
const SAMPLE_MS = 250;

export class Dispatcher implements RelayContext {
  readonly services: RelayServices;
  readonly webSockets: WebSockets;
  readonly #logger: Logger;
  readonly #server: net.Server;
  /** For sockets that were given, after the first. */
  readonly #furtherServers: net.Server[] = [];
  /** The listeners were given to this process: what nobody accepts waits for the next one. */
  outlivesProcess = false;
  readonly #relayed = new Roster<RelayConnection>();
  /** TCP connections that carry TLS, from the first byte of the handshake, by `peerOf`. Empty without TLS. */
  readonly #secured = new Map<string, { readonly socket: net.Socket; readonly client: ClientConnection }>();
  readonly descriptors: DescriptorWatch;
  readonly addresses: AddressCounts;
  readonly #quiet: QuietConnections;
  readonly #listenerEnd: ListenerEnd;
  readonly proxyHeaders: ProxyHeaders;
  #options: DispatcherOptions;
  isDraining = false;
  #sampleTimer: NodeJS.Timeout | undefined;
  acceptedConnections = 0;

  constructor(options: DispatcherOptions, services: RelayServices, clock: Clock, logger: Logger) {
    this.services = services;
    this.#options = options;
    this.webSockets = new WebSockets(services, clock);
    this.#logger = logger;
    this.descriptors = new DescriptorWatch(clock, logger);
    this.addresses = new AddressCounts(options.maxConnectionsPerAddress);
    this.#quiet = new QuietConnections(clock);
    this.proxyHeaders = new ProxyHeaders(services.reporter.hits);
    this.#server = this.#createServer();
    this.#listenerEnd = new ListenerEnd(this.#server, BACKLOG);
    // Includes connections that are still in their handshake.
    this.#server.maxConnections = options.maxConnections;
    this.#server.on('drop', () => this.services.reporter.hits.hit('limits.connections'));
  }

  /**
   * `options` apply to new connections; those above a new limit stay. `trafficOptions` apply to the next requests,
   * `idleTimeoutMs` to open connections, too, `headBytes` to new connections.
   */
  reconfigure(options: LiveDispatcherOptions, trafficOptions: TrafficOptions): void {
    const hasNewLimit = options.maxConnections !== this.#options.maxConnections;
    this.#options = { ...this.#options, ...options };
    this.services.options = trafficOptions;
    this.addresses.max = options.maxConnectionsPerAddress;
    if (!hasNewLimit) return;
    this.#server.maxConnections = capByDescriptors(options.maxConnections, this.#logger);
  }

  get openConnections(): number {
    return this.#relayed.size + this.webSockets.connections;
  }

  get refusedConnections(): number {
    return this.services.reporter.hits.countOf('limits.connections');
  }

  /** Opens the listener, or takes over listening `descriptors`. Returns the first address. Throws `D2S_ERR_LISTEN`. */
  async listen(address: HostPort, descriptors: readonly number[] = []): Promise<HostPort> {
    this.outlivesProcess = descriptors.length > 0;
    try {
      const [first, ...others] = descriptors;
      if (first === undefined) this.#server.listen({ host: address.host, port: address.port, backlog: BACKLOG });
      else this.#server.listen({ fd: first }, LONGEST_BACKLOG);
      await once(this.#server, 'listening');
      for (const fd of others) {
        const server = net.createServer(socketOptions(this.#options), (accepted) => {
          this.#server.emit('connection', accepted);
        });
        this.#furtherServers.push(server);
        await once(server.listen({ fd }, LONGEST_BACKLOG), 'listening');
        server.on('error', () => undefined);
      }
    } catch (error) {
      const cause = error as NodeJS.ErrnoException;
      const text = `listen: cannot listen on ${address.host}:${address.port}: ${cause.code ?? cause.message}`;
      throw new StartError('D2S_ERR_LISTEN', text, { cause });
    }
    // No Node since 20 emits it: libuv accepts and closes a client without a descriptor. Unhandled, it would be fatal.
    this.#server.on('error', () => undefined);
    this.#server.maxConnections = capByDescriptors(this.#options.maxConnections, this.#logger);
    this.descriptors.start();
    const bound = this.#server.address() as net.AddressInfo;
    return { host: bound.address, port: bound.port };
  }

  /** From now on, answers announce the end of their connection. Idle connections stay, and new ones are served. */
  drain(): void {
    this.isDraining = true;
    this.#sampleTimer ??= setInterval(() => this.#quiet.sample(this.#relayed), SAMPLE_MS).unref();
    this.#quiet.sample(this.#relayed);
  }

  /** Closes connections that are idle and have sent nothing for `quietMs`, counted from `drain` at the earliest. */
  closeIdle(quietMs: number): void {
    this.#quiet.close(this.#relayed, quietMs);
  }

  /** Stops accepting connections, after those in the kernel's accept queue. */
  async stopListening(): Promise<void> {
    if (this.outlivesProcess) this.#closeServers();
    else await this.#listenerEnd.close();
  }

  #closeServers(): void {
    for (const server of [this.#server, ...this.#furtherServers]) server.close();
  }

  destroy(): void {
    this.descriptors.stop();
    clearInterval(this.#sampleTimer);
    this.#closeServers();
    for (const { toClient } of this.#relayed) toClient.destroy();
    this.webSockets.destroy();
    this.proxyHeaders.destroy();
    // Connections in the TLS handshake belong to nobody yet.
    for (const { socket } of this.#secured.values()) socket.destroy();
  }

  onWebSocket(connection: RelayConnection, request: WebSocketRequest): void {
    this.#relayed.delete(connection);
    this.webSockets.take(request);
  }

  onRelayClosed(connection: RelayConnection): void {
    this.#relayed.delete(connection);
  }

  #createServer(): net.Server {
    const { tls: listenerTls } = this.#options;
    const acceptSecure = listenerTls && this.#createTlsServer(listenerTls);
    return net.createServer(socketOptions(this.#options), (accepted) => {
      if (this.#listenerEnd.isOwn(accepted)) return;
      // Each of several servers only knows its own connections.
      if (this.#furtherServers.length > 0 && this.openConnections >= this.#server.maxConnections) {
        this.services.reporter.hits.hit('limits.connections');
        accepted.destroy();
        return;
      }
      const peer = describeClient(accepted);
      const { trustedProxies, hasProxyHeaders } = this.#options;
      const isProxy = trustedProxies.has(peer.remoteAddress);
      if (isProxy && hasProxyHeaders) {
        this.#readProxyHeader(accepted, peer, acceptSecure);
        return;
      }
      // All clients of a proxy share its address.
      if (!isProxy && !this.#admits(accepted, peer.remoteAddress)) return;
      this.acceptedConnections += 1;
      const client = isProxy ? { ...peer, viaProxy: 'field' as const } : peer;
      if (acceptSecure !== undefined) {
        acceptSecure(accepted, client);
        return;
      }
      // Not after a PROXY header or TLS: those connections have been read as streams.
      this.#onConnection(accepted, client, ReadBuffer.ofAccepted(accepted, this.services.buffers));
    });
  }

  #readProxyHeader(socket: net.Socket, peer: ClientConnection, acceptSecure: AcceptSecure | undefined): void {
    this.acceptedConnections += 1;
    this.proxyHeaders.read(socket, this.services.options.headTimeoutMs, (source) => {
      const named = source && { remoteAddress: source.address, remotePort: source.port };
      const client = { ...peer, ...named, viaProxy: 'header' as const };
      // Without a source the proxy sends its own health check.
      if (source !== undefined && !this.#admits(socket, source.address)) return;
      if (acceptSecure === undefined) this.#onConnection(socket, client);
      else acceptSecure(socket, client);
    });
  }

  /** The returned function begins the handshake on a client's connection. */
  #createTlsServer(listenerTls: ListenerTls): AcceptSecure {
    const server = tls.createServer(listenerTls.serverOptions(this.services.options.headTimeoutMs));
    listenerTls.attach(server);
    server.on('secureConnection', (socket) => {
      const { client } = this.#secured.get(peerOf(socket)) ?? {};
      // As for plain TCP, but only after the handshake: before it, no answer is pending.
      socket.allowHalfOpen = true;
      const { clientCertificate: mode } = this.services.options;
      // First, since Node gives the issuers only to the first reader of a certificate.
      const certificates = mode === 'off' ? [] : certificateChainOf(socket);
      const certificate = listenerTls.clientOf(socket);
      this.#onConnection(socket, {
        ...(client ?? describeClient(socket)),
        secure: true,
        ...(mode !== 'off' && {
          certificateFields: certificateFields(mode, { certificates, cipher: socket.getCipher().standardName }),
        }),
        ...(certificate && { certificateUser: certificate.user, certificateSubject: certificate.subject }),
      });
    });
    return (socket, client) => {
      const key = peerOf(socket);
      const secured = { socket, client };
      this.#secured.set(key, secured);
      socket.on('close', () => {
        if (this.#secured.get(key) === secured) this.#secured.delete(key);
      });
      // The TLS server never listens itself, since a PROXY header precedes the handshake.
      server.emit('connection', socket);
    };
  }

  /** Closes a connection above its address's limit, before a byte of a request is read. */
  #admits(socket: net.Socket, remoteAddress: string): boolean {
    // Without an address the socket has closed already.
    if (remoteAddress === '') return true;
    const leave = this.addresses.enter(remoteAddress);
    if (leave === undefined) {
      this.services.reporter.hits.hit('limits.connectionsPerAddress');
      socket.destroy();
      return false;
    }
    socket.once('close', leave);
    return true;
  }

  #onConnection(socket: net.Socket, client: ClientConnection, reads?: ReadBuffer): void {
    // Stays for the socket's whole life: between two owners nothing else listens.
    socket.on('error', () => undefined);
    // The client has reset the connection already: it gets no answer, and its requests would have no address.
    if (client.remoteAddress === '') {
      socket.destroy();
      return;
    }
    this.#relayed.add(new RelayConnection(socket, client, this, reads));
  }
}

function socketOptions({ tls: listenerTls }: DispatcherOptions): net.ServerOpts {
  // A client that has closed its sending side still waits for its answer, but not for a TLS handshake.
  return { noDelay: true, allowHalfOpen: listenerTls === undefined };
}

function describeClient(socket: net.Socket): ClientConnection {
  const remoteAddress = withoutMapping(socket.remoteAddress ?? '');
  return { remoteAddress, remotePort: socket.remotePort ?? 0, secure: false };
}

/** The same key for a TLS socket and for the TCP socket below it. */
function peerOf({ remoteAddress, remotePort }: net.Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

export const DISPATCHER_METRICS: readonly MetricDescription<Dispatcher>[] = [
  gauge('d2_sidecar_connections', 'Client connections open now.', 'openConnections'),
  gauge('d2_sidecar_client_addresses', 'Addresses with client connections now.', ({ addresses }) => addresses.size),
  counter('d2_sidecar_connections_accepted_total', 'Client connections accepted.', 'acceptedConnections'),
  counter(
    'd2_sidecar_connections_refused_total',
    'Client connections closed at once for limits.connections.',
    'refusedConnections',
  ),
  counter(
    'd2_sidecar_descriptor_shortages_total',
    'Seconds without a free file descriptor.',
    ({ descriptors }) => descriptors.shortages,
  ),
];
