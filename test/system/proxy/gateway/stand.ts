import net from 'node:net';
import { systemClock } from '../../../../src/base/clock.ts';
import { createLogger } from '../../../../src/base/logger.ts';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { RequestMemory } from '../../../../src/limits/request-memory.ts';
import { StalledWrites } from '../../../../src/limits/stalled-writes.ts';
import { replacedFields } from '../../../../src/protocol/http1/forwarded.ts';
import type { ClientConnection, Ending, Exchange, ExchangeObserver } from '../../../../src/proxy/exchange/exchange.ts';
import { ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import { Gateway } from '../../../../src/proxy/gateway/gateway.ts';
import type { GatewayOptions } from '../../../../src/proxy/gateway/services.ts';
import { listening } from '../../../support/net.ts';
import { Peer, type PeerScript, playPeer } from '../../../support/wire/peer.ts';

export interface StandOptions {
  /** What an upstream does with one connection. */
  readonly upstream: PeerScript;
  readonly gateway?: Partial<GatewayOptions>;
  /** What the gateway is given as first bytes by whoever had the socket before; default: sockets come untouched. */
  readonly isHandedOver?: boolean;
  readonly client?: Partial<ClientConnection>;
  readonly observer?: Pick<ExchangeObserver, 'onBegin' | 'onResponse'>;
}

export interface Ended {
  readonly exchange: Exchange;
  readonly ending: Ending;
}

/** A gateway between raw clients and a raw upstream, all in this process. */
export class Stand {
  readonly gateway: Gateway;
  readonly reporter: ExchangeReporter;
  readonly upstreams: Peer[] = [];
  readonly ended: Ended[] = [];
  readonly #upstreamServer: net.Server;
  readonly #clientServer: net.Server;
  readonly #options: StandOptions;
  readonly #clients: Peer[] = [];
  #failure: unknown;
  readonly #waiting: (() => void)[] = [];

  private constructor(options: StandOptions, upstreamServer: net.Server) {
    this.#options = options;
    this.#upstreamServer = upstreamServer;
    const logger = createLogger('silent');
    const observer = {
      onBegin: () => undefined,
      ...options.observer,
      onEnd: (exchange: Exchange, ending: Ending) => {
        this.ended.push({ exchange, ending });
        for (const wake of this.#waiting.splice(0)) wake();
      },
    };
    this.reporter = new ExchangeReporter(systemClock, observer, logger);
    const memory = options.gateway?.memory ?? new RequestMemory(new MemoryBudget());
    const gatewayOptions: GatewayOptions = {
      upstreamHost: '127.0.0.1',
      upstreamPort: portOf(upstreamServer),
      forwarded: 'off',
      clientCertificate: 'off',
      replacedFields: replacedFields(options.gateway?.forwarded ?? 'off', 'off'),
      headBytes: 16_384,
      maxFields: 1_000,
      headTimeoutMs: 10_000,
      idleTimeoutMs: 60_000,
      connectTimeoutMs: 5_000,
      responseTimeoutMs: 0,
      halfClosedTimeoutMs: 10_000,
      memory,
      stalled: new StalledWrites(memory.budget, systemClock),
      ...options.gateway,
    };
    this.gateway = new Gateway(gatewayOptions, this.reporter, systemClock, logger);
    upstreamServer.on('connection', (socket) => this.#onUpstreamConnection(socket));
    this.#clientServer = net.createServer({ allowHalfOpen: true }, (socket) => this.#onClient(socket));
  }

  static async start(options: StandOptions): Promise<Stand> {
    const upstreamServer = net.createServer({ allowHalfOpen: true });
    await listening(upstreamServer);
    const stand = new Stand(options, upstreamServer);
    await listening(stand.#clientServer);
    return stand;
  }

  get port(): number {
    return portOf(this.#clientServer);
  }

  get upstreamPort(): number {
    return portOf(this.#upstreamServer);
  }

  /** A client of its own connection; `text` is its first bytes. */
  client(text = ''): Peer {
    const peer = new Peer(net.connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true }));
    this.#clients.push(peer);
    if (text !== '') peer.send(text);
    return peer;
  }

  /** Until that many exchanges have ended. */
  async endings(count: number): Promise<readonly Ended[]> {
    while (this.ended.length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
    }
    return this.ended;
  }

  /** Until the gateway has no connection left. Its sockets close a moment after their peers have seen their end. */
  async allClosed(): Promise<void> {
    while (this.gateway.openConnections > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Frees the upstream's port: connections are refused from now on. */
  async stopListening(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#upstreamServer.close(() => resolve());
    });
  }

  /** Ends everything; throws what an upstream's script threw. */
  async close(): Promise<void> {
    this.gateway.destroy();
    for (const peer of [...this.#clients, ...this.upstreams]) peer.socket.destroy();
    await Promise.all([closed(this.#clientServer), closed(this.#upstreamServer)]);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #onUpstreamConnection(socket: net.Socket): void {
    const peer = new Peer(socket);
    this.upstreams.push(peer);
    playPeer(this.#options.upstream, peer).catch((failure: unknown) => {
      // A script that still waits when its connection ends has nothing to complain about.
      if (!peer.isClosed && !peer.hasEnded) this.#failure = failure;
    });
  }

  #onClient(socket: net.Socket): void {
    const client = {
      remoteAddress: socket.remoteAddress ?? '',
      remotePort: socket.remotePort ?? 0,
      secure: false,
      ...this.#options.client,
    };
    if (this.#options.isHandedOver !== true) {
      this.gateway.take(socket, client);
      return;
    }
    socket.setTimeout(60_000);
    socket.once('data', (bytes: Buffer) => {
      socket.pause();
      socket.unshift(bytes);
      this.gateway.take(socket, client);
    });
  }
}

async function closed(server: net.Server): Promise<void> {
  if (!server.listening) return;
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
}

function portOf(server: net.Server): number {
  return (server.address() as net.AddressInfo).port;
}
