import type { Socket } from 'node:net';
import type { RequestMemory } from '../../limits/request-memory.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { TrafficOptions } from '../exchange/traffic-options.ts';
import type { Upstream } from './upstream.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

export interface TrafficServices {
  /** A reload replaces this object. */
  options: TrafficOptions;
  readonly upstream: Upstream;
  readonly reporter: ExchangeReporter;
  /** For heads, and for what clients send ahead of an answer. */
  readonly memory: RequestMemory;
  readonly stalled: StalledWrites;
}

/** A request for a WebSocket whose exchange has been admitted, and the sockets that the relay has left. */
export interface WebSocketRequest {
  readonly socket: Socket;
  readonly exchange: Exchange;
  /** The request's head as it goes to the upstream; latin1. */
  readonly headText: string;
  readonly leftover: Buffer;
  /** The connection that has served the requests before, if it can serve another. */
  readonly upstream: UpstreamConnection | undefined;
}
