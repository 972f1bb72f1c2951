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
  /** Most fields in a request's head. */
  readonly maxFields: number;
  readonly headTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly halfClosedTimeoutMs: number;
  /** 0: none. */
  readonly responseTimeoutMs: number;
}

/** What all relay connections share. */
export interface RelayServices {
  /** Another object when the configuration is reloaded. */
  options: RelayOptions;
  readonly upstream: Upstream;
  readonly reporter: ExchangeReporter;
  readonly writes: WriteBatch;
  readonly silence: SilenceWatch;
  /** For reads of clients' connections. */
  readonly buffers: ReadBuffers;
  /** For bytes that wait for their turn, or for the rest of their head. */
  readonly memory: RequestMemory;
  /** For bytes that peers do not read. */
  readonly stalled: StalledWrites;
}

/** A connection of the relay, as its context knows it. */
export interface Relayed {
  readonly client: ClientConnection;
  readonly isIdle: boolean;
  /** Bytes that the client has sent. */
  readonly bytesRead: number;
  closeIfIdle(): void;
  destroy(): void;
}

/** Who runs relay connections: the dispatcher. */
export interface RelayContext {
  readonly services: RelayServices;
  /** True once the server drains: responses announce the end of their connection. */
  readonly isDraining: boolean;
  /** The next request on this socket is not the relay's. `unread` begins with its first byte. */
  onIrregular(connection: Relayed, socket: Socket, unread: Buffer, irregularity: Irregularity): void;
  /** Socket and upstream connection are gone. */
  onRelayClosed(connection: Relayed): void;
}
