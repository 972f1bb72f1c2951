import type { Socket } from 'node:net';
import type { RequestMemory } from '../../limits/request-memory.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { TrafficOptions } from '../exchange/traffic-options.ts';
import type { ReadBuffers } from '../upstream/read-buffer.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { UpstreamConnection } from '../upstream/upstream-connection.ts';
import type { SilenceWatch } from './silence-watch.ts';
import type { WriteBatch } from './write-batch.ts';

/** Shared by all relay connections. */
export interface RelayServices {
  /** A reload replaces this object. */
  options: TrafficOptions;
  readonly upstream: Upstream;
  readonly reporter: ExchangeReporter;
  readonly writes: WriteBatch;
  readonly silence: SilenceWatch;
  /** For reads from clients. */
  readonly buffers: ReadBuffers;
  /** For pipelined requests and unfinished heads. */
  readonly memory: RequestMemory;
  /** For writes that peers do not read. */
  readonly stalled: StalledWrites;
}

/** The owner of relay connections: the dispatcher. */
export interface RelayContext<Connection> {
  readonly services: RelayServices;
  /** True while the sidecar drains: responses then announce the end of their connection. */
  readonly isDraining: boolean;
  /** The connection asks for a WebSocket, and its exchange has been admitted: the relay leaves both sockets. */
  onWebSocket(connection: Connection, request: LeavingWebSocket): void;
  onRelayClosed(connection: Connection): void;
}

/** A WebSocket's request, and what goes on with it. */
export interface LeavingWebSocket {
  readonly socket: Socket;
  readonly exchange: Exchange;
  /** The request's head as it goes to the upstream; latin1. */
  readonly headText: string;
  /** The client's bytes after the head. */
  readonly leftover: Buffer;
  /** The connection that has served the requests before, if it can serve another. */
  readonly upstream: UpstreamConnection | undefined;
}
