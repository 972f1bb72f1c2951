import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { ForwardedMode } from '../../protocol/http1/forwarded.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { ProxyServer } from './proxy.ts';
import type { UpstreamLimits, UpstreamReachability } from './upstream-watch.ts';

/** What all exchanges of the gateway share. */
export interface GatewayServices {
  readonly proxy: ProxyServer;
  readonly reporter: ExchangeReporter;
  /** For what waits for its turn. */
  readonly memory: MemoryBudget;
  readonly limits: UpstreamLimits;
  readonly reachability: UpstreamReachability | undefined;
  readonly headBytes: number;
  /** How often the end of a tunnel that is not read is asked for; 0 for never. */
  readonly idleTimeoutMs: number;
  readonly forwarded: ForwardedMode;
  /** Host for a request of HTTP/1.0 that has none, e.g. `127.0.0.1:8080`. */
  readonly authority: string;
}
