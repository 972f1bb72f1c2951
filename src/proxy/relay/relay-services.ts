import type { Socket } from 'node:net';
import type { RequestMemory } from '../../limits/request-memory.ts';
import type { StalledWrites } from '../../limits/stalled-writes.ts';
import type { DataPathOptions } from '../exchange/data-path-options.ts';
import type { ExchangeReporter } from '../exchange/exchange-reporter.ts';
import type { ReadBuffers } from '../upstream/read-buffer.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { SilenceWatch } from './silence-watch.ts';
import type { WriteBatch } from './write-batch.ts';

/** Shared by all relay connections. */
export interface RelayServices {
  /** A reload replaces this object. */
  options: DataPathOptions;
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

/** What the gateway needs to continue a relayed connection. */
export interface HandedOver {
  readonly socket: Socket;
  /** Begins with the first byte of the next request. */
  readonly unread: Buffer;
  /** The connection to the upstream that served the requests before, if it can serve another. */
  readonly upstream: Socket | undefined;
}
