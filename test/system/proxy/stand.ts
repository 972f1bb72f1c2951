import type net from 'node:net';
import { afterEach } from 'vitest';
import type { Clock } from '../../../src/base/clock.ts';
import type { Config } from '../../../src/config/config.ts';
import type { MemoryBudget } from '../../../src/limits/memory-budget.ts';
import type { Ending, Exchange, ExchangeObserver } from '../../../src/proxy/exchange/exchange.ts';
import type { WebSockets } from '../../../src/proxy/websocket/web-sockets.ts';
import type { Sidecar } from '../../../src/sidecar/sidecar.ts';
import { type ObservedStand, startObserved } from '../../support/wire/observed-stand.ts';
import { Peer, type PeerScript, playPeer } from '../../support/wire/peer.ts';
import { turns } from '../../support/wire/split-writer.ts';
import { OK } from '../../support/wire/stand.ts';

export { OK };
export const GET = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n';
export const UPGRADE =
  'GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n';
export const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';

export interface StandOptions {
  /** What an upstream does with one connection. */
  readonly upstream?: PeerScript;
  /** Instead of that upstream's. */
  readonly upstreamPort?: number;
  readonly forwarded?: Config['forwarded'];
  readonly limits?: Partial<Config['limits']>;
  readonly timeouts?: Partial<Config['timeouts']>;
  readonly observer?: Pick<ExchangeObserver, 'onBegin' | 'onResponse'>;
  readonly clock?: Clock;
}

/** A sidecar between raw clients and a raw upstream, all in this process. */
class ProxyStand {
  upstreams: Peer[] = [];
  ended: { readonly exchange: Exchange; readonly ending: Ending }[] = [];
  #stand!: ObservedStand;
  #failure: unknown;

  async start({ upstream = [], observer, forwarded = 'off', ...options }: StandOptions = {}): Promise<void> {
    [this.upstreams, this.ended, this.#failure] = [[], [], undefined];
    const onEnd = (exchange: Exchange, ending: Ending) => void this.ended.push({ exchange, ending });
    const config = (base: Config): Partial<Config> => ({
      forwarded,
      limits: { ...base.limits, headBytes: 16_384, ...options.limits },
      timeouts: { ...base.timeouts, idleMs: 60_000, ...options.timeouts },
    });
    const onConnection = (socket: net.Socket) => this.#onUpstreamConnection(socket, upstream);
    const observing = { onBegin: () => undefined, ...observer, onEnd };
    this.#stand = await startObserved({ ...options, config, onConnection }, observing);
  }

  get sidecar(): Sidecar {
    return this.#stand.sidecar;
  }

  get webSockets(): WebSockets {
    return this.sidecar.dispatcher.webSockets;
  }

  get memory(): MemoryBudget {
    return this.sidecar.recorder.memory;
  }

  /** A client of its own connection; `text` is its first bytes. */
  client(text?: string): Peer {
    return this.#stand.client(text);
  }

  /** A client whose upgrade the upstream has accepted. */
  async tunnel(): Promise<Peer> {
    const client = this.client(UPGRADE);
    await client.head();
    return client;
  }

  /** The newest upstream connection, once `pattern` has come on it. */
  async asked(pattern: string | RegExp = '\r\n\r\n'): Promise<Peer> {
    while (this.upstreams.length === 0) await turns(1);
    const upstream = this.upstreams.at(-1) as Peer;
    await upstream.until(pattern);
    return upstream;
  }

  /** Starts; a client that has sent `text`, and the upstream's connection, to which a head of it has come. */
  async begin(text: string, options?: StandOptions): Promise<[client: Peer, upstream: Peer]> {
    await this.start(options);
    return [this.client(text), await this.asked()];
  }

  /** Until that many exchanges have ended; how each did. */
  async endings(count: number): Promise<readonly Ending['kind'][]> {
    while (this.ended.length < count) await turns(1);
    return this.ended.map(({ ending }) => ending.kind);
  }

  allClosed(): Promise<void> {
    return this.#stand.allClosed();
  }

  /** Ends everything; throws what an upstream's script threw. */
  async close(): Promise<void> {
    await this.#stand.close();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #onUpstreamConnection(socket: net.Socket, script: PeerScript): void {
    const peer = new Peer(socket);
    this.upstreams.push(peer);
    playPeer(script, peer).catch((failure: unknown) => {
      // A script that still waits when its connection ends has nothing to complain about.
      if (!peer.isClosed && !peer.hasEnded) this.#failure = failure;
    });
  }
}

/** A stand that each test starts, and that is closed after it. */
export function useStand(): ProxyStand {
  const stand = new ProxyStand();
  afterEach(() => stand.close());
  return stand;
}
