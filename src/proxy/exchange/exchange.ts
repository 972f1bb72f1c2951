/**
 * This folder is the vocabulary between the data plane (`relay/`, `websocket/`), which creates exchanges and reports
 * moments, and `measure/record/`, which observes them. It must not know sockets or metrics/. An observer that throws
 * never affects the traffic.
 */
import type { Fields } from '../../protocol/http1/certificate-fields.ts';
import type { Http1RequestHead } from '../../protocol/http1/request-head.ts';
import type { ResponseHeadFields } from '../../protocol/http1/response-reader.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** The client's side of a connection, e.g. `{ remoteAddress: '10.0.0.7', remotePort: 50412, secure: false }`. */
export interface ClientConnection {
  /** IPv4 where the client has it, also on `::`. For an exchange from a trusted proxy: the address that it stated. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /**
   * The peer is a trusted proxy, which names clients in a field of each request, or in a PROXY header. Where it named
   * none that could be read, `remoteAddress` is the proxy's own.
   */
  readonly viaProxy?: 'field' | 'header';
  readonly secure: boolean;
  /** Common name in the subject of the client's verified certificate: the user of all requests on the connection. */
  readonly certificateUser?: string;
  /** Issuer and subject of that certificate: they distinguish it from others with the same common name. */
  readonly certificateSubject?: string;
  readonly certificateFields?: Fields;
}

/**
 * A request's head as observers read it, in `onBegin` only: a running request keeps no head of up to 64 KiB. `target`
 * is as sent, e.g. `/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test?x=1`.
 *
 * Strings are latin1, as on the wire. They may be slices that keep the whole head, with its credentials, alive: copy
 * what you keep (`detached` in protocol/http1/text.ts).
 */
export type RequestHead = Pick<Http1RequestHead, 'method' | 'target' | 'field' | 'fields'>;

/**
 * How an exchange ended. Other parts of the program use other words:
 *
 * | `Ending` | `CallOutcome`: access log, spans | `CallResult`: Comet | `outcome` of `d2_calls_total` |
 * |---|---|---|---|
 * | completed | answered | answered | by status: ok, client_error from 400, error from 500 |
 * | – (a Bayeux error of 400 to 499) | answered | refused | error |
 * | failed | failed | failed | error |
 * | cancelled | aborted | aborted | not counted |
 * | denied | denied | – | not counted |
 */
export type Ending =
  /** The upstream has sent the last byte of the response. */
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly failure: UpstreamFailure }
  /** The client left before the response was complete. */
  | { readonly kind: 'cancelled' }
  /** `rest.deny` denies this path to the client: nothing was sent to the upstream. */
  | { readonly kind: 'denied' };

export const COMPLETED: Ending = { kind: 'completed' };
export const CANCELLED: Ending = { kind: 'cancelled' };
export const DENIED: Ending = { kind: 'denied' };

/** `status`: 200 to 999, or 101. The rules of `RequestHead` hold for strings. */
export type ResponseHeadView = Pick<ResponseHeadFields, 'status' | 'field' | 'fields'>;

export interface BodyObserver {
  /** Negligibly fast: the data plane need not flush before telling it. */
  readonly isQuick?: boolean;
  /**
   * Payload in order, in pieces of any size, never empty, without chunk framing but with content codings such as gzip.
   * Valid only during the call, and belongs to the data plane: copy what you keep, change nothing.
   */
  onBytes(bytes: Buffer): void;
  /** The last byte of the body has arrived, trailers included; at once without a body. Never for a truncated body. */
  onEnd(): void;
}

/** Reads both directions of a tunnel after an accepted upgrade, from the first byte after the heads. */
export interface TunnelObserver {
  /** Raw bytes from the client, in order. The rules of `BodyObserver` hold for `bytes`. */
  onClientBytes(bytes: Buffer): void;
  onUpstreamBytes(bytes: Buffer): void;
  /** Called exactly once, and last: both connections are closed, for whatever reason. */
  onClosed(): void;
}

/**
 * The order is `onBegin`, the request's bytes and end, `onResponse`, the response's bytes and end, and exactly once
 * `onEnd`. After an early response, bytes of the request also follow `onResponse`. Nothing after `onEnd` is observed. A
 * tunnel begins after the `onEnd` of its upgrade.
 */
export interface ExchangeObserver<Observation = unknown> {
  /** The only place to read `request`, and to set `requestObserver` and `wantsResponse`, which are not read later. */
  onBegin(exchange: Exchange<Observation>, request: RequestHead): void;
  onEnd(exchange: Exchange<Observation>, ending: Ending): void;
  /**
   * Called only if the exchange's `wantsResponse` is set, and never for an answer of the sidecar itself. The place to
   * set `responseObserver` (any status but 101) or `tunnelObserver` (101), which are not read later. If this throws,
   * they are removed.
   */
  onResponse?(exchange: Exchange<Observation>, response: ResponseHeadView): void;
  /** How long the sidecar kept a request or response before writing it on. A sample. */
  onAdded?(direction: Direction, addedNs: number): void;
}

/** `request` runs to the upstream, `response` back to the client. */
export type Direction = 'request' | 'response';

/** `Observation`: what the observer keeps about this exchange. */
export class Exchange<Observation = unknown> {
  readonly method: string;
  readonly client: ClientConnection;
  /** Monotonic moment when the request's head had been read. */
  readonly beganNs: number;
  /** Status of the final response (never 1xx, except 101 for an upgrade); 0 until the upstream has sent its head. */
  status = 0;
  /** The final response had no content. Set before a completed ending. */
  isEmpty = false;
  /** Monotonic moment of the ending: of the response's last byte from the upstream. 0 before. */
  endedNs = 0;
  /** Monotonic moment at which the head of the final response had come; 0 before. */
  firstByteNs = 0;
  /** Time spent waiting only for the client; without a wait that still runs. docs/statistics.md */
  clientWaitNs = 0;
  /** Since when it waits for its client; 0: it does not. */
  #waitsSinceNs = 0;
  /** Set by the observer; the data plane never reads it. */
  observation: Observation | undefined = undefined;
  /** Reads the request's body; undefined costs nothing. When an observer fails, this and the three below are unset. */
  requestObserver: BodyObserver | undefined = undefined;
  /** Asks for `onResponse`. */
  wantsResponse = false;
  responseObserver: BodyObserver | undefined = undefined;
  tunnelObserver: TunnelObserver | undefined = undefined;
  /** Set by the observer: the `traceparent` that replaces the client's; undefined: unchanged. */
  traceparent: string | undefined = undefined;
  isDenied = false;
  /** It counts among the requests in flight to the upstream (`limits.inFlight`). */
  isAdmitted = false;
  hasEnded = false;

  constructor(method: string, client: ClientConnection, beganNs: number) {
    this.method = method;
    this.client = client;
    this.beganNs = beganNs;
  }

  /** The client holds the exchange up from now on: it sends no body, or takes no response. */
  waitForClient(nowNs: number): void {
    if (this.#waitsSinceNs === 0) this.#waitsSinceNs = nowNs;
  }

  get isWaitingForClient(): boolean {
    return this.#waitsSinceNs > 0;
  }

  clientWaitEnded(nowNs: number): void {
    if (this.#waitsSinceNs > 0) this.clientWaitNs += Math.max(0, nowNs - this.#waitsSinceNs);
    this.#waitsSinceNs = 0;
  }

  /** The client wait up to `nowNs`. */
  clientWaitAt(nowNs: number): number {
    return this.clientWaitNs + (this.#waitsSinceNs === 0 ? 0 : Math.max(0, nowNs - this.#waitsSinceNs));
  }

  /** From the head to the ending, less the client wait. Only after the ending. */
  get durationNs(): number {
    return this.endedNs - this.beganNs - this.clientWaitNs;
  }

  get isObserved(): boolean {
    return this.requestObserver !== undefined || this.responseObserver !== undefined || this.wantsResponse;
  }

  unobserve(): void {
    this.requestObserver = undefined;
    this.wantsResponse = false;
    this.responseObserver = undefined;
    this.tunnelObserver = undefined;
  }

  markEnded(endedNs: number): boolean {
    if (this.hasEnded) return false;
    this.hasEnded = true;
    this.endedNs = endedNs;
    this.clientWaitEnded(endedNs);
    return true;
  }
}
