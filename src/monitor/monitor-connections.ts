/**
 * Limits the connections to the monitoring port, in total and per address. At a limit the new connection is accepted
 * and another one is closed: the oldest one without an accepted request, or else the longest idle one. So clients
 * without credentials who hold connections open cannot keep a reader out. A connection that was accepted is never closed
 * for a new one while it has a request in progress.
 *
 * It also limits pipelined requests on one connection (RFC 9112 §9.3.2): Node starts all requests of one read at once,
 * which can be 3,000. Requests of many connections begin in turns of the event loop, which they share with the traffic.
 */
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';
import type { Config } from '../config/config.ts';
import { addressKeyOf } from '../limits/address-counts.ts';
import type { LimitHits, LimitKey } from '../limits/limit-hits.ts';
import type { LoopShare } from './loop-share.ts';

type ConnectionLimits = Pick<Config['monitor'], 'maxConnections' | 'maxConnectionsPerAddress'>;

/** One in progress and three pipelined. Neither browsers nor Prometheus pipeline. */
const MAX_REQUESTS = 4;

interface Connection {
  readonly ends: string;
  /** The TCP socket, below TLS. */
  readonly socket: Socket;
  readonly address: string;
  requests: number;
  isAccepted: boolean;
}

export class MonitorConnections {
  readonly #hits: LimitHits;
  readonly #share: LoopShare;
  /**
   * By the addresses and ports of both ends, since Node does not link a TLS socket to the TCP socket below it. Oldest
   * first; those that were accepted, by their last answer.
   */
  readonly #open = new Map<string, Connection>();
  #limits: ConnectionLimits;
  /** Connections closed since the start because of too many pipelined requests. */
  overflows = 0;

  constructor(limits: ConnectionLimits, hits: LimitHits, share: LoopShare) {
    this.#limits = limits;
    this.#hits = hits;
    this.#share = share;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Takes over all connections and requests of `server`, which must not have a limit of its own. */
  attach(server: Server): void {
    const listeners = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    server.on('connection', (socket: Socket) => this.#onConnection(socket));
    server.on('request', (request, response) => {
      const connection = this.#open.get(endsOf(request.socket));
      // Undefined if it was closed, or exceeded its limit, within the same read.
      if (connection === undefined) return;
      if (connection.requests === MAX_REQUESTS) {
        this.#onOverflow(connection, request.socket);
        return;
      }
      connection.requests += 1;
      response.once('close', () => {
        connection.requests -= 1;
        // Among idle ones, the longest idle is first.
        if (connection.isAccepted && this.#forget(connection)) this.#open.set(connection.ends, connection);
      });
      this.#share.enter(() => {
        // The connection may have been closed meanwhile, to make room.
        if (!this.#isOpen(connection)) return;
        for (const listener of listeners) listener.call(server, request, response);
      });
    });
  }

  /** Applies to new connections. */
  reconfigure(limits: ConnectionLimits): void {
    this.#limits = limits;
  }

  /** Protects the connection of an accepted request: it is closed to make room only while idle, and after all others. */
  accepted(socket: Socket): void {
    const connection = this.#open.get(endsOf(socket));
    if (connection !== undefined) connection.isAccepted = true;
  }

  #onOverflow(connection: Connection, socket: Socket): void {
    this.overflows += 1;
    // Stops the parser, which would otherwise parse the rest of the read. Node has no other way.
    (socket as Socket & { readonly parser?: { pause?(): void } | null }).parser?.pause?.();
    this.#close(connection);
  }

  #onConnection(socket: Socket): void {
    const { remoteAddress } = socket;
    const address = addressKeyOf(remoteAddress ?? '');
    // Undefined: the connection was reset before it was accepted.
    if (remoteAddress === undefined || !this.#makeRoom(address)) {
      socket.destroy();
      return;
    }
    const connection = { ends: endsOf(socket), socket, address, requests: 0, isAccepted: false };
    this.#open.set(connection.ends, connection);
    socket.once('close', () => this.#forget(connection));
  }

  /** False if all others are busy, so that the new connection must close. */
  #makeRoom(address: string): boolean {
    const { maxConnections, maxConnectionsPerAddress: maxOwn } = this.#limits;
    const isOwn = (connection: Connection) => connection.address === address;
    return (
      (maxOwn === 0 || this.#closeAtLimit('monitor.maxConnectionsPerAddress', maxOwn, isOwn)) &&
      this.#closeAtLimit('monitor.maxConnections', maxConnections, () => true)
    );
  }

  #closeAtLimit(limit: LimitKey, max: number, isCounted: (connection: Connection) => boolean): boolean {
    const counted = [...this.#open.values()].filter(isCounted);
    // More than one only after a reload that lowered the limit.
    for (let count = counted.length; count >= max; count -= 1) {
      this.#hits.hit(limit);
      const open = counted.filter((connection) => this.#isOpen(connection));
      const leastNeeded = open.find(({ isAccepted }) => !isAccepted) ?? open.find(({ requests }) => requests === 0);
      if (leastNeeded === undefined) return false;
      this.#close(leastNeeded);
    }
    return true;
  }

  /** Another connection may have the same ends after this one. */
  #isOpen(connection: Connection): boolean {
    return this.#open.get(connection.ends) === connection;
  }

  /** Forgets it before its socket has closed, since the next connection may come earlier. */
  #close(connection: Connection): void {
    this.#forget(connection);
    connection.socket.destroy();
  }

  #forget(connection: Connection): boolean {
    return this.#isOpen(connection) && this.#open.delete(connection.ends);
  }
}

function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

export const MONITOR_METRICS: readonly MetricDescription<Pick<MonitorConnections, 'size' | 'overflows'>>[] = [
  gauge('d2_sidecar_monitor_connections', 'Connections to the monitoring port open now.', 'size'),
  counter(
    'd2_sidecar_monitor_overflows_total',
    'Monitoring connections closed for too many pipelined requests.',
    'overflows',
  ),
];
