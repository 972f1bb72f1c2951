import net from 'node:net';
import { afterEach } from 'vitest';
import type { Clock } from '../../../../src/base/clock.ts';
import type { Ending, Exchange, ExchangeObserver } from '../../../../src/proxy/exchange/exchange.ts';
import type { ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import type { Gateway } from '../../../../src/proxy/gateway/gateway.ts';
import type { GatewayOptions } from '../../../../src/proxy/gateway/services.ts';
import { listening } from '../../../support/net.ts';
import { ObservedPlane } from '../../../support/wire/observed-plane.ts';
import { Peer, type PeerScript, playPeer } from '../../../support/wire/peer.ts';

export const GET = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n';
export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
export const UPGRADE =
  'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
export const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

export interface StandOptions {
  /** What an upstream does with one connection. */
  readonly upstream?: PeerScript;
  readonly gateway?: Partial<GatewayOptions>;
  readonly observer?: Pick<ExchangeObserver, 'onBegin' | 'onResponse'>;
  readonly clock?: Clock;
}

interface Ended {
  readonly exchange: Exchange;
  readonly ending: Ending;
}

/** A gateway between raw clients and a raw upstream, all in this process. */
class Stand {
  upstreams: Peer[] = [];
  ended: Ended[] = [];
  #options: StandOptions = {};
  #upstreamServer = net.createServer();
  #plane!: ObservedPlane;
  #clients: Peer[] = [];
  #failure: unknown;
  #wakeUps: (() => void)[] = [];

  async start(options: StandOptions = {}): Promise<void> {
    const { gateway, observer, clock } = options;
    [this.#options, this.upstreams, this.ended, this.#clients, this.#failure] = [options, [], [], [], undefined];
    const onUpstream = (socket: net.Socket) => this.#onUpstreamConnection(socket);
    this.#upstreamServer = net.createServer({ allowHalfOpen: true }, onUpstream);
    const upstreamPort = await listening(this.#upstreamServer);
    const onEnd = (exchange: Exchange, ending: Ending) => {
      this.ended.push({ exchange, ending });
      this.#wake();
    };
    const limits = { headBytes: 16_384, idleTimeoutMs: 60_000, ...gateway };
    const plane = { dataPath: 'gateway', upstreamPort, forwarded: 'off', limits } as const;
    this.#plane = await ObservedPlane.start(plane, { onBegin: () => undefined, ...observer, onEnd }, clock);
  }

  get gateway(): Gateway {
    return this.#plane.gateway;
  }

  get reporter(): ExchangeReporter {
    return this.#plane.reporter;
  }

  /** A client of its own connection; `text` is its first bytes. */
  client(text = ''): Peer {
    const peer = new Peer(net.connect({ port: this.#plane.port, host: '127.0.0.1', allowHalfOpen: true }));
    this.#clients.push(peer);
    if (text !== '') peer.send(text);
    return peer;
  }

  /** A client whose upgrade the upstream has accepted. */
  async tunnel(): Promise<Peer> {
    const client = this.client(UPGRADE);
    await client.head();
    return client;
  }

  /** The newest upstream connection, once `pattern` has come on it. */
  async asked(pattern: string | RegExp = '\r\n\r\n'): Promise<Peer> {
    while (this.upstreams.length === 0) await this.#woken();
    const upstream = this.upstreams.at(-1) as Peer;
    await upstream.until(pattern);
    return upstream;
  }

  /** Until that many exchanges have ended; how each did. */
  async endings(count: number): Promise<readonly Ending['kind'][]> {
    while (this.ended.length < count) await this.#woken();
    return this.ended.map(({ ending }) => ending.kind);
  }

  /** Until the gateway has no connection left. Its sockets close a moment after their peers have seen their end. */
  async allClosed(): Promise<void> {
    while (this.gateway.openConnections > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Frees the upstream's port: connections are refused from now on. */
  stopListening(): Promise<void> {
    return closed(this.#upstreamServer);
  }

  /** Ends everything; throws what an upstream's script threw. */
  async close(): Promise<void> {
    this.#plane.close();
    for (const peer of [...this.#clients, ...this.upstreams]) peer.socket.destroy();
    await closed(this.#upstreamServer);
    if (this.#failure !== undefined) throw this.#failure;
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => this.#wakeUps.push(resolve));
  }

  #wake(): void {
    for (const wake of this.#wakeUps.splice(0)) wake();
  }

  #onUpstreamConnection(socket: net.Socket): void {
    const peer = new Peer(socket);
    this.upstreams.push(peer);
    this.#wake();
    playPeer(this.#options.upstream ?? [], peer).catch((failure: unknown) => {
      // A script that still waits when its connection ends has nothing to complain about.
      if (!peer.isClosed && !peer.hasEnded) this.#failure = failure;
    });
  }
}

/** A stand that each test starts, and that is closed after it. */
export function useStand(): Stand {
  const stand = new Stand();
  afterEach(() => stand.close());
  return stand;
}

async function closed(server: net.Server): Promise<void> {
  if (server.listening) await new Promise((resolve) => server.close(resolve));
}
