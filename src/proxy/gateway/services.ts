import type { RequestMemory } from '../../limits/request-memory.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { DataPathOptions } from '../exchange/data-path-options.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { SharedLookup } from '../upstream/shared-lookup.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { UpstreamTls } from '../upstream/upstream-tls.ts';
import type { ProxyServer } from './proxy.ts';

/** Options that a reload can change. */
export interface LiveGatewayOptions extends DataPathOptions {
  readonly connectTimeoutMs: number;
}

export interface GatewayOptions extends LiveGatewayOptions {
  readonly upstreamHost: string;
  readonly upstreamPort: number;
  /** Charged for queued requests, and for what clients send ahead of an upgrade's answer. */
  readonly memory: RequestMemory;
  /** Charged for bytes that the peers do not read. */
  readonly stalled: StalledWrites;
  /** Undefined: plain TCP to the upstream. */
  readonly upstreamTls?: UpstreamTls | undefined;
  /** Told of each established upstream connection, and of each failed attempt to open one. */
  readonly reachability?: UpstreamReachability | undefined;
}

export type UpstreamReachability = Pick<Upstream, 'noteReachable' | 'noteUnreachable'>;

/** Shared by all connections and exchanges of the gateway. A reload replaces this object. */
export interface GatewayServices {
  readonly options: GatewayOptions;
  readonly proxy: ProxyServer;
  readonly reporter: ExchangeReporter;
  readonly names: SharedLookup;
  /** Host for an HTTP/1.0 request that has none, e.g. `127.0.0.1:8080`. */
  readonly authority: string;
}
