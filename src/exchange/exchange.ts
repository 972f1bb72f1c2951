/**
 * The vocabulary between the data plane and measuring: one request with its response, who sent it, and how it ended.
 *
 * The data plane (`relay/`, `gateway/`) creates exchanges and reports moments; `record/` observes them. This room knows
 * neither sockets nor metrics. An observer that throws never touches the traffic: the exchange goes on unobserved.
 */
import type { UpstreamFailure } from './upstream-failure.ts';

/** The client's side of a connection, e.g. `{ remoteAddress: '10.0.0.7', remotePort: 50412, secure: false }`. */
export interface ClientConnection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** True when the client speaks TLS to the sidecar. */
  readonly secure: boolean;
}

/**
 * A request's head as observers read it. Strings are latin1, byte for byte as on the wire, and may be slices that keep
 * the whole head (with its credentials) alive: copy what you keep (`detached` in http1/text.ts).
 */
export interface RequestHead {
  readonly method: string;
  /** The request-target as sent, e.g. `/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1`. */
  readonly target: string;
  /** Value of the first field of that lower-case name, without surrounding blanks. */
  field(name: string): string | undefined;
}

export type Ending =
  /** The last byte of the response has come from the upstream. */
  | { readonly kind: 'completed' }
  /** The upstream did not answer, or not to the end. */
  | { readonly kind: 'failed'; readonly failure: UpstreamFailure }
  /** The client left before the response was complete. */
  | { readonly kind: 'cancelled' };

export const COMPLETED: Ending = { kind: 'completed' };
export const CANCELLED: Ending = { kind: 'cancelled' };

export type DataPath = 'relay' | 'gateway';

/** Told of each exchange that begins, and exactly once how it ended. */
export interface ExchangeObserver {
  onBegin(exchange: Exchange): void;
  onEnd(exchange: Exchange, ending: Ending): void;
}

export class Exchange {
  readonly request: RequestHead;
  readonly client: ClientConnection;
  readonly path: DataPath;
  /** Monotonic moment at which the request's head had been read. */
  readonly beganNs: number;
  /** Status of the final response (never 1xx, but 101 for an upgrade); 0 until its head has come from the upstream. */
  status = 0;
  /** Monotonic moment of the ending; 0 until then. */
  endedNs = 0;
  /** The observer's own note on this exchange; the data plane never looks at it. */
  note: unknown = undefined;
  #ended = false;

  constructor(request: RequestHead, client: ClientConnection, path: DataPath, beganNs: number) {
    this.request = request;
    this.client = client;
    this.path = path;
    this.beganNs = beganNs;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Marks the ending; false if there was one already: the first stays. */
  markEnded(endedNs: number): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.endedNs = endedNs;
    return true;
  }
}
