import type { Socket } from 'node:net';
import type { RequestMemory } from '../../limits/request-memory.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { ForwardedMode } from '../../protocol/http1/forwarded.ts';
import type { Irregularity } from '../../protocol/http1/request-head.ts';
import type { ClientConnection } from '../exchange/exchange.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { ReadBuffers } from '../upstream/read-buffer.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { SilenceWatch } from './silence-watch.ts';
import type { WriteBatch } from './write-batch.ts';

export interface RelayOptions {
  readonly forwarded: ForwardedMode;
  readonly headBytes: number;
  readonly maxFields: number;
  readonly headTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly halfClosedTimeoutMs: number;
  /** 0: no limit. */
  readonly responseTimeoutMs: number;
}

/** Shared by all relay connections. */
export interface RelayServices {
  /** A reload replaces this object. */
  options: RelayOptions;
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

export interface Relayed {
  readonly client: ClientConnection;
  readonly isIdle: boolean;
  readonly bytesRead: number;
  closeIfIdle(): void;
  destroy(): void;
}

/** The owner of relay connections: the dispatcher. */
export interface RelayContext {
  readonly services: RelayServices;
  /** True while the sidecar drains: responses then announce the end of their connection. */
  readonly isDraining: boolean;
  /** The relay cannot serve the next request on this socket. `unread` begins with its first byte. */
  onIrregular(connection: Relayed, socket: Socket, unread: Buffer, irregularity: Irregularity): void;
  onRelayClosed(connection: Relayed): void;
}
