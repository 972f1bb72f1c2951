import type { HeavyWork } from '../../limits/heavy-work.ts';
import type { ReadBuffers } from '../upstream/read-buffer.ts';
import type { TrafficServices, WebSocketRequest } from '../upstream/traffic-services.ts';
import type { SilenceWatch } from './silence-watch.ts';
import type { WriteBatch } from './write-batch.ts';

export interface RelayServices extends TrafficServices {
  readonly writes: WriteBatch;
  readonly silence: SilenceWatch;
  readonly heavy: HeavyWork;
  /** For reads from clients. */
  readonly buffers: ReadBuffers;
}

/** The owner of relay connections: the dispatcher. */
export interface RelayContext<Connection> {
  readonly services: RelayServices;
  /** True while the sidecar drains: responses then announce the end of their connection. */
  readonly isDraining: boolean;
  /** The connection asks for a WebSocket: the relay leaves both sockets. */
  onWebSocket(connection: Connection, request: WebSocketRequest): void;
  onRelayClosed(connection: Connection): void;
}
