/**
 * The vocabulary between the data plane and measuring: one request with its response, who sent it, and how it ended.
 *
 * The data plane (`relay/`, `gateway/`) creates exchanges and reports moments; `record/` observes them. This room knows
 * neither sockets nor metrics. An observer that throws never touches the traffic: the exchange goes on unobserved.
 */
import type { Direction } from './added-time.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** The client's side of a connection, e.g. `{ remoteAddress: '10.0.0.7', remotePort: 50412, secure: false }`. */
export interface ClientConnection {
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** True when the client speaks TLS to the sidecar. */
  readonly secure: boolean;
  /** Common name in the subject of the client's certificate, which has been verified: who all of the connection's requests are of. */
  readonly certificateUser?: string;
  /** Issuer and subject of that certificate: what tells it from others with that common name. */
  readonly certificateSubject?: string;
}

/**
 * A request's head as observers read it. Strings are latin1, byte for byte as on the wire, and may be slices that keep
 * the whole head (with its credentials) alive: copy what you keep (`detached` in protocol/http1/text.ts).
 */
export interface RequestHead {
  readonly method: string;
  /** The request-target as sent, e.g. `/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1`. */
  readonly target: string;
  /** Value of the first field of that lower-case name, without surrounding blanks. */
  field(name: string): string | undefined;
  /** Values of all fields of that lower-case name in order, e.g. of `cookie`. */
  fields(name: string): readonly string[];
}

export type Ending =
  /** The last byte of the response has come from the upstream. */
  | { readonly kind: 'completed' }
  /** The upstream did not answer, or not to the end. */
  | { readonly kind: 'failed'; readonly failure: UpstreamFailure }
  /** The client left before the response was complete. */
  | { readonly kind: 'cancelled' }
  /** `rest.deny` keeps the client from the path: the upstream was not asked. */
  | { readonly kind: 'denied' };

export const COMPLETED: Ending = { kind: 'completed' };
export const CANCELLED: Ending = { kind: 'cancelled' };
export const DENIED: Ending = { kind: 'denied' };

export type DataPath = 'relay' | 'gateway';

/**
 * A final response's head (or a 101's) as observers read it. Strings are latin1, and may be slices that keep the whole head
 * alive, like a request's.
 */
export interface ResponseHeadView {
  /** 200 to 999, or 101. */
  readonly status: number;
  /** Value of the first field of that lower-case name, without surrounding blanks. */
  field(name: string): string | undefined;
  /** Values of all fields of that lower-case name in order, e.g. of `set-cookie`. */
  fields(name: string): readonly string[];
}

/** Reads one direction's body as it passes. */
export interface BodyObserver {
  /** It takes no time worth speaking of: bytes that wait to be passed on need not be written before it is told. */
  readonly isQuick?: boolean;
  /**
   * Payload in order and in pieces of any size, never empty, without its transfer coding (chunk framing is taken away; content
   * codings such as gzip are not). `bytes` is valid during the call only and belongs to the data plane: copy what is kept,
   * change nothing.
   */
  onBytes(bytes: Buffer): void;
  /** The last byte of the body has come, trailers included; at once for a message without a body. Never for one broken off. */
  onEnd(): void;
}

/** Reads both directions behind an accepted upgrade, from the first byte behind the heads. */
export interface TunnelObserver {
  /** From the client, raw, in order; for `bytes` the same holds as in `BodyObserver`. */
  onClientBytes(bytes: Buffer): void;
  /** From the upstream, likewise. */
  onUpstreamBytes(bytes: Buffer): void;
  /** Exactly once, and last: both connections are gone, however that came. */
  onClosed(): void;
}

/**
 * Told of each exchange that begins, and exactly once how it ended. In order: `onBegin`, the request's bytes and end,
 * `onResponse`, the response's bytes and end, `onEnd`. A response may be early: then bytes of the request come also after
 * `onResponse`, and none of what comes after `onEnd` is observed. A tunnel begins after the `onEnd` of its upgrade.
 */
export interface ExchangeObserver {
  /** The place to set `requestObserver` and `wantsResponse`: what is unset afterwards is not looked at again. */
  onBegin(exchange: Exchange): void;
  onEnd(exchange: Exchange, ending: Ending): void;
  /**
   * The final response's head, or a 101, has come: only for an exchange whose `wantsResponse` is set, and not for an answer of
   * the sidecar's own. The place to set `responseObserver` (any status but 101) or `tunnelObserver` (101); what is unset
   * afterwards is not looked at again. What was set by one that then throws is dropped and told nothing.
   */
  onResponse?(exchange: Exchange, response: ResponseHeadView): void;
  /** A request, or a response, has been kept for so long before it was written on: of one in some only, and by the relay. */
  onAdded?(direction: Direction, addedNs: number): void;
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
  /** What reads the request's body; undefined costs nothing. This and the three below become unset when an observer fails. */
  requestObserver: BodyObserver | undefined = undefined;
  /** `onResponse` is to be called for this exchange. */
  wantsResponse = false;
  responseObserver: BodyObserver | undefined = undefined;
  tunnelObserver: TunnelObserver | undefined = undefined;
  /** It has a place among the requests that may be with the upstream at a time. */
  isAdmitted = false;
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

  /** Unsets all of this exchange's own observers. */
  unobserve(): void {
    this.requestObserver = undefined;
    this.wantsResponse = false;
    this.responseObserver = undefined;
    this.tunnelObserver = undefined;
  }

  /** Marks the ending; false if there was one already: the first stays. */
  markEnded(endedNs: number): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.endedNs = endedNs;
    return true;
  }
}
