import type { Socket } from 'node:net';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { EvictableBodies } from '../../limits/unfinished-bodies.ts';
import type { CertificateMode } from '../../protocol/http1/certificate-fields.ts';
import type { ForwardOptions } from '../../protocol/http1/forwarded.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { Upstream } from './upstream.ts';
import type { UpstreamConnection } from './upstream-connection.ts';

/** Options of the relay and of WebSockets. A reload can change them. */
export interface TrafficOptions extends ForwardOptions {
  readonly clientCertificate: CertificateMode;
  readonly headBytes: number;
  readonly maxFields: number;
  readonly headTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How long a client that has closed its sending side may still wait for its answer. */
  readonly halfClosedTimeoutMs: number;
  /** From the end of the request to the first byte of the response; 0: no limit, so that long polls may be held. */
  readonly responseTimeoutMs: number;
}

export interface TrafficServices {
  /** A reload replaces this object. */
  options: TrafficOptions;
  readonly upstream: Upstream;
  readonly reporter: ExchangeReporter;
  readonly memory: MemoryBudget;
  /** The budget's memory for heads, and for what clients send ahead of an answer. */
  readonly requests: EvictableBodies;
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
