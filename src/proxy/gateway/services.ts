import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { ForwardedMode } from '../../protocol/http1/forwarded.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { ProxyServer } from './proxy.ts';
import type { UpstreamLimits, UpstreamReachability } from './upstream-watch.ts';

/** Shared by all exchanges of the gateway. */
export interface GatewayServices {
  readonly proxy: ProxyServer;
  readonly reporter: ExchangeReporter;
  /** Charged for what clients send ahead of an upgrade's answer (`ReadAhead`). */
  readonly memory: MemoryBudget;
  readonly limits: UpstreamLimits;
  readonly reachability: UpstreamReachability | undefined;
  readonly headBytes: number;
  /** Interval at which a paused end of a tunnel is probed; 0: never. */
  readonly idleTimeoutMs: number;
  readonly forwarded: ForwardedMode;
  /** Host for an HTTP/1.0 request that has none, e.g. `127.0.0.1:8080`. */
  readonly authority: string;
}
