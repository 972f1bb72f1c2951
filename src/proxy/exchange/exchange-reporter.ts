import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import { isLoopback } from '../../config/host-port.ts';
import { LimitHits } from '../../limits/limit-hits.ts';
import { REQUEST_FAULTS, type RequestFault } from '../../protocol/http1/request-head.ts';
import type { ClientFinder, ProxyHint } from './client-finder.ts';
import {
  type ClientConnection,
  type Direction,
  type Ending,
  Exchange,
  type ExchangeObserver,
  type RequestHead,
  type ResponseHeadView,
  type TunnelObserver,
} from './exchange.ts';
import { busyRefusal, deniedRefusal, type Refusal } from './problem.ts';
import { FailureRecord } from './upstream-failure.ts';

const UNNAMED =
  'rest.deny: a trusted proxy on this machine named no client of another machine: answering 403, since the client may be on one; ask without the proxy';

export interface Admission {
  /** Maximum requests in flight to the upstream, including held long polls; 0: any number. */
  readonly maxInFlight: number;
  readonly denial: { denies(target: string, client: ClientConnection): boolean } | undefined;
  /** Finds the client behind a trusted proxy. Undefined: the proxy counts as the client. */
  readonly clientFinder: ClientFinder | undefined;
}

/**
 * Receives the reports of `relay/` and `websocket/`. An observer's exception is counted and logged once. It ends the
 * observation of that exchange, not the exchange, and the ending is still reported.
 */
export class ExchangeReporter {
  readonly #clock: Clock;
  readonly #observer: ExchangeObserver;
  readonly #logger: Logger;
  #admission: Partial<Admission>;
  #hint: ProxyHint | undefined;
  readonly hits: LimitHits;
  readonly failures: FailureRecord;
  /** All faults exist from the start, so that a first refusal is a step and not a new series. */
  readonly refused = new Map<string, number>(Object.keys(REQUEST_FAULTS).map((fault) => [fault, 0]));
  readonly added: Readonly<Record<Direction, AddedTime>>;
  observerErrors = 0;
  open = 0;
  /** Open exchanges that were admitted; not those that wait for an earlier one on their connection. */
  inFlight = 0;
  #hasLoggedUnnamed = false;

  /**
   * `hits` counts the limits that were reached; the default is a counter of this reporter's own. `hint` detects an
   * unlisted proxy; undefined: proxies are configured.
   */
  constructor(
    clock: Clock,
    observer: ExchangeObserver,
    logger: Logger,
    options: Partial<Admission & { readonly hits: LimitHits; readonly hint: ProxyHint | undefined }> = {},
  ) {
    const { hits = new LimitHits(clock, logger), hint, ...admission } = options;
    this.#clock = clock;
    this.#observer = observer;
    this.#logger = logger;
    this.#admission = admission;
    this.#hint = hint;
    this.hits = hits;
    this.failures = new FailureRecord(clock, logger);
    const addedTo = (direction: Direction) =>
      new AddedTime(clock, (addedNs) => this.shield(() => observer.onAdded?.(direction, addedNs)));
    this.added = { request: addedTo('request'), response: addedTo('response') };
  }

  /** Requests already sent to the upstream are not affected. */
  reconfigure(admission: Admission): void {
    this.#admission = admission;
    // The proxy is listed now.
    if (admission.clientFinder !== undefined) this.#hint = undefined;
  }

  /** Call when the request's head has been read. The exchange does not keep `request`. */
  begin(request: RequestHead, connection: ClientConnection): Exchange {
    const { clientFinder, denial } = this.#admission;
    const client = connection.viaProxy === 'field' ? clientFinder?.(request, connection) : undefined;
    const exchange = new Exchange(request.method, client ?? connection, this.#clock.nowNs());
    exchange.isDenied = denial?.denies(request.target, exchange.client) === true;
    this.open += 1;
    if (this.#hint?.(exchange, request) === false) this.#hint = undefined;
    try {
      this.#observer.onBegin(exchange, request);
    } catch (cause) {
      this.observerFailed(cause);
      exchange.unobserve();
    }
    return exchange;
  }

  /** Returns the refusal if the exchange must not go to the upstream now. Call once, before opening its connection. */
  admit(exchange: Exchange): Refusal | undefined {
    if (exchange.isDenied) {
      this.hits.hit('rest.deny');
      const { viaProxy, remoteAddress } = exchange.client;
      // An operator who asks through the proxy expects to be let in, as the proxy is on loopback.
      if (!this.#hasLoggedUnnamed && viaProxy !== undefined && isLoopback(remoteAddress)) {
        this.#hasLoggedUnnamed = true;
        this.#logger.warn({ address: remoteAddress }, UNNAMED);
      }
      return deniedRefusal();
    }
    const { maxInFlight = 0 } = this.#admission;
    if (maxInFlight > 0 && this.inFlight >= maxInFlight) {
      this.hits.hit('limits.inFlight');
      return busyRefusal();
    }
    this.inFlight += 1;
    exchange.isAdmitted = true;
    return undefined;
  }

  /** Call once for each request that is refused for its `fault`. */
  noteRefused(fault: RequestFault): void {
    this.refused.set(fault, (this.refused.get(fault) ?? 0) + 1);
    if (fault === 'too-large') this.hits.hit('limits.headBytes');
  }

  /** The head of the final response, or of a 101, has arrived. Not needed unless `exchange.wantsResponse`. */
  response(exchange: Exchange, response: ResponseHeadView): void {
    if (exchange.wantsResponse) this.#observe(exchange, () => this.#observer.onResponse?.(exchange, response));
  }

  requestBytes(exchange: Exchange, payload: Buffer): void {
    this.#observe(exchange, () => exchange.requestObserver?.onBytes(payload));
  }

  requestEnd(exchange: Exchange): void {
    this.#observe(exchange, () => exchange.requestObserver?.onEnd());
  }

  responseBytes(exchange: Exchange, payload: Buffer): void {
    this.#observe(exchange, () => exchange.responseObserver?.onBytes(payload));
  }

  responseEnd(exchange: Exchange): void {
    this.#observe(exchange, () => exchange.responseObserver?.onEnd());
  }

  /** The observer of the tunnel after an accepted upgrade. It never throws, and ignores a second close. */
  tunnelOf(exchange: Exchange): TunnelObserver | undefined {
    let observer = exchange.tunnelObserver;
    if (observer === undefined) return undefined;
    // After an exception, the observer only gets the close of the tunnel.
    let reading: TunnelObserver | undefined = observer;
    const read = (onBytes: () => void) => {
      if (!this.shield(onBytes)) reading = undefined;
    };
    return {
      onClientBytes: (bytes) => read(() => reading?.onClientBytes(bytes)),
      onUpstreamBytes: (bytes) => read(() => reading?.onUpstreamBytes(bytes)),
      onClosed: () => {
        const closed = observer;
        observer = undefined;
        reading = undefined;
        this.shield(() => closed?.onClosed());
      },
    };
  }

  nowNs(): number {
    return this.#clock.nowNs();
  }

  /** The upstream has answered: the exchange is no longer in flight, although its ending may not be known. */
  freePlace(exchange: Exchange): void {
    if (!exchange.isAdmitted) return;
    exchange.isAdmitted = false;
    this.inFlight -= 1;
  }

  /** Later calls are ignored. `endedNs` is the moment of the ending if other work came before the report. */
  end(exchange: Exchange, ending: Ending, endedNs: number = this.#clock.nowNs()): void {
    if (!exchange.markEnded(endedNs)) return;
    this.open -= 1;
    this.freePlace(exchange);
    if (ending.kind === 'failed') this.failures.record(ending.failure);
    try {
      this.#observer.onEnd(exchange, ending);
    } catch (cause) {
      this.observerFailed(cause);
    }
    // A request's body may continue after an early response; it is no longer observed.
    exchange.requestObserver = undefined;
    exchange.responseObserver = undefined;
  }

  /** Runs a measurement outside exchanges, e.g. on a timer. Its exception counts as one of an observer; false then. */
  shield(measure: () => void): boolean {
    try {
      measure();
      return true;
    } catch (cause) {
      this.observerFailed(cause);
      return false;
    }
  }

  #observe(exchange: Exchange, observe: () => void): void {
    if (!this.shield(observe)) exchange.unobserve();
  }

  observerFailed(cause: unknown): void {
    this.observerErrors += 1;
    // Once: a broken observer would otherwise log a line per request. Only the name, since a message could hold input.
    if (this.observerErrors > 1) return;
    const name = cause instanceof Error ? cause.name : typeof cause;
    this.#logger.error({ error: name }, 'an observer failed; traffic continues unobserved');
  }
}

/**
 * One in this many is measured. A prime, since up to 64 texts are written together, and the first waits longest: a
 * power of two would always sample the same positions.
 */
const MEASURED_OF = 17;

/**
 * Measures how long the sidecar keeps bytes of one direction: from a moment that is known anyway until they are
 * written. The caller passes the result of `sample` to `written`, so only one in 17 reads the clock.
 */
export class AddedTime {
  readonly #clock: Clock;
  readonly #onMeasured: (addedNs: number) => void;
  #untilMeasured = 1;

  /** `onMeasured` must not throw. */
  constructor(clock: Clock, onMeasured: (addedNs: number) => void) {
    this.#clock = clock;
    this.#onMeasured = onMeasured;
  }

  /** Returns `sinceNs`, a moment of `Clock.nowNs`, if this one is to be measured; otherwise 0. */
  sample(sinceNs: number): number {
    this.#untilMeasured -= 1;
    if (this.#untilMeasured > 0) return 0;
    this.#untilMeasured = MEASURED_OF;
    return sinceNs;
  }

  /** Call right after the write, with the result of `sample`; 0 does nothing. */
  written(sinceNs: number): void {
    if (sinceNs > 0) this.#onMeasured(this.#clock.nowNs() - sinceNs);
  }
}

export const REPORTER_METRICS: readonly MetricDescription<ExchangeReporter>[] = [
  counter(
    'd2_sidecar_upstream_failures_total',
    'Failed exchanges, by code (docs/errors.md).',
    ({ failures }) => failures.counts,
    'code',
  ),
  counter(
    'd2_sidecar_requests_refused_total',
    'Refused requests, by fault (docs/troubleshooting.md).',
    'refused',
    'fault',
  ),
  gauge('d2_sidecar_exchanges_open', 'Exchanges begun and not yet ended.', 'open'),
  gauge('d2_sidecar_requests_in_flight', 'Requests with the upstream, held long polls included.', 'inFlight'),
  counter('d2_sidecar_observer_errors_total', 'Failures of measuring; traffic was not affected.', 'observerErrors'),
];
