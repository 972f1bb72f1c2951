/**
 * Limits the connections to the monitoring port, in total and per address. At a limit the new connection is accepted
 * and another one is closed: the oldest one without an accepted request, or else the longest idle one. So clients
 * without credentials who hold connections open cannot keep a reader out. A connection with an accepted request in
 * progress is never closed for a new one.
 *
 * It also limits pipelined requests on one connection (RFC 9112 §9.3.2): Node starts all requests of one read at once,
 * which can be 3,000. Requests of many connections begin in turns of the event loop, which they share with the traffic.
 */

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';
import { AddressCounts } from '../limits/address-counts.ts';
import { toAddressKey } from '../limits/address-key.ts';
import type { LimitHits, LimitKey } from '../limits/limit-hits.ts';
import type { LoopShare } from './loop-share.ts';

export interface ConnectionLimits {
  readonly maxConnections: number;
  /** 0: unlimited. */
  readonly maxConnectionsPerAddress: number;
}

/** One in progress and three pipelined. Neither browsers nor Prometheus pipeline. */
const MAX_REQUESTS = 4;

interface Connection {
  /** The TCP socket, below TLS. */
  readonly socket: Socket;
  readonly address: string;
  readonly leave: () => void;
  /** Unfinished requests. */
  requests: number;
  /** Unfinished requests that were accepted. */
  running: number;
  /** A request was accepted. */
  isAccepted: boolean;
}

export class MonitorConnections {
  readonly #hits: LimitHits;
  readonly #share: LoopShare;
  readonly #addresses: AddressCounts;
  #maxConnections: number;
  /** Oldest first; those that were accepted, by their last answer. */
  readonly #open = new Set<Connection>();
  /** By the socket of their requests, which with TLS is the TLS socket. */
  readonly #bySocket = new WeakMap<Socket, Connection>();
  /** Connections in the TLS handshake, by their addresses and ports: Node does not link the two sockets. */
  readonly #inHandshake = new Map<string, Connection>();
  readonly #endTurn = (): void => {
    this.#hasBegun = false;
  };
  /** A request has begun in this turn of the event loop. */
  #hasBegun = false;
  #waitingRequests = 0;
  #overflows = 0;

  constructor(limits: ConnectionLimits, hits: LimitHits, share: LoopShare) {
    this.#hits = hits;
    this.#share = share;
    this.#maxConnections = limits.maxConnections;
    this.#addresses = new AddressCounts(limits.maxConnectionsPerAddress);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Connections closed since the start because of too many pipelined requests. */
  get overflows(): number {
    return this.#overflows;
  }

  /** Takes over all connections and requests of `server`, which must not have a limit of its own. */
  attach(server: Server, isSecure: boolean): void {
    const listeners = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('request', (request, response) => {
      const connection = this.#connectionFor(request, response);
      if (connection === undefined) return;
      this.#begin(() => {
        // The connection may have been closed meanwhile, to make room.
        if (!this.#open.has(connection)) return;
        for (const listener of listeners) listener.call(server, request, response);
      });
    });
    server.on('connection', (socket: Socket) => this.#onConnection(socket, isSecure));
    if (isSecure) server.on('secureConnection', (socket: TLSSocket) => this.#onSecured(socket));
  }

  /** Applies to new connections. */
  reconfigure({ maxConnections, maxConnectionsPerAddress }: ConnectionLimits): void {
    this.#maxConnections = maxConnections;
    this.#addresses.max = maxConnectionsPerAddress;
  }

  /** Protects the connection of an accepted request from being closed to make room, until `response` has ended. */
  accepted(socket: Socket, response: ServerResponse): void {
    const connection = this.#bySocket.get(socket);
    if (connection === undefined) return;
    connection.isAccepted = true;
    connection.running += 1;
    response.once('close', () => {
      connection.running -= 1;
      // Among idle ones, the longest idle is first.
      if (this.#open.delete(connection)) this.#open.add(connection);
    });
  }

  /** Runs `begin` at once if it is the first in this turn of the event loop, otherwise in a later turn. */
  #begin(begin: () => void): void {
    if (this.#hasBegun || this.#waitingRequests > 0) {
      this.#waitingRequests += 1;
      this.#share.enter(() => {
        this.#waitingRequests -= 1;
        begin();
      });
      return;
    }
    this.#hasBegun = true;
    this.#share.enter(this.#endTurn);
    begin();
  }

  /** Undefined if there are too many requests; the connection is then closed. */
  #connectionFor({ socket }: IncomingMessage, response: ServerResponse): Connection | undefined {
    const connection = this.#bySocket.get(socket);
    // The connection was closed, or exceeded its limit, within the same read.
    if (connection === undefined || !this.#open.has(connection)) return undefined;
    if (connection.requests >= MAX_REQUESTS) {
      this.#overflows += 1;
      this.#forget(connection);
      // Stops the parser, which would otherwise parse the rest of the read. Node has no other way.
      (socket as Socket & { readonly parser?: { pause?(): void } | null }).parser?.pause?.();
      connection.socket.destroy();
      return undefined;
    }
    connection.requests += 1;
    response.once('close', () => {
      connection.requests -= 1;
    });
    return connection;
  }

  #onConnection(socket: Socket, isSecure: boolean): void {
    const { remoteAddress } = socket;
    // The connection was reset before it was accepted.
    if (remoteAddress === undefined) {
      socket.destroy();
      return;
    }
    const address = toAddressKey(remoteAddress);
    const leave = this.#makeRoom(remoteAddress, address);
    if (leave === undefined) {
      socket.destroy();
      return;
    }
    const connection: Connection = { socket, address, leave, requests: 0, running: 0, isAccepted: false };
    this.#open.add(connection);
    const ends = endsOf(socket);
    if (isSecure) this.#inHandshake.set(ends, connection);
    else this.#bySocket.set(socket, connection);
    socket.once('close', () => {
      if (this.#inHandshake.get(ends) === connection) this.#inHandshake.delete(ends);
      this.#forget(connection);
    });
  }

  #onSecured(socket: TLSSocket): void {
    const ends = endsOf(socket);
    const connection = this.#inHandshake.get(ends);
    if (connection === undefined) return;
    this.#inHandshake.delete(ends);
    this.#bySocket.set(socket, connection);
  }

  /**
   * Returns a function that releases the new connection's slot; undefined if all others are busy, so that the new one
   * must close. Closes more than one only after a reload that lowered a limit.
   */
  #makeRoom(remoteAddress: string, address: string): (() => void) | undefined {
    let leave = this.#addresses.enter(remoteAddress);
    while (leave === undefined) {
      if (!this.#close('monitor.maxConnectionsPerAddress', address)) return undefined;
      leave = this.#addresses.enter(remoteAddress);
    }
    while (this.#open.size >= this.#maxConnections) {
      if (this.#close('monitor.maxConnections')) continue;
      leave();
      return undefined;
    }
    return leave;
  }

  /** Closes one connection, of `address` if given; false if all are busy. The limit is counted in both cases. */
  #close(limit: LimitKey, address?: string): boolean {
    this.#hits.hit(limit);
    const connection = this.#leastNeeded(address);
    if (connection === undefined) return false;
    this.#forget(connection);
    connection.socket.destroy();
    return true;
  }

  #leastNeeded(address: string | undefined): Connection | undefined {
    let idle: Connection | undefined;
    for (const connection of this.#open) {
      if (connection.running > 0 || (address !== undefined && connection.address !== address)) continue;
      if (!connection.isAccepted) return connection;
      idle ??= connection;
    }
    return idle;
  }

  /** Runs before the socket has closed, since the next connection may come earlier. */
  #forget(connection: Connection): void {
    if (!this.#open.delete(connection)) return;
    connection.leave();
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

export const MONITOR_METRICS: readonly MetricDescription<Pick<MonitorConnections, 'size' | 'overflows'>>[] = [
  gauge('d2_sidecar_monitor_connections', 'Connections to the monitoring port open now.', ({ size }) => size),
  counter(
    'd2_sidecar_monitor_overflows_total',
    'Connections to the monitoring port closed for too many pipelined requests.',
    ({ overflows }) => overflows,
  ),
];
