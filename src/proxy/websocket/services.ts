import type { RequestMemory } from '../../limits/request-memory.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { TrafficOptions } from '../exchange/traffic-options.ts';
import type { Upstream } from '../upstream/upstream.ts';

/** Shared by all WebSockets. */
export interface WebSocketServices {
  /** A reload replaces this object. */
  readonly options: TrafficOptions;
  readonly upstream: Upstream;
  readonly reporter: ExchangeReporter;
  /** For heads of handshakes, and for what clients send ahead of the answer. */
  readonly memory: RequestMemory;
  /** For writes that peers do not read. */
  readonly stalled: StalledWrites;
}
