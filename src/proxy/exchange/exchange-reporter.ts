import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { LimitHits } from '../../limits/limit-hits.ts';
import { AddedTime, type Direction } from './added-time.ts';
import {
  type BodyObserver,
  type ClientConnection,
  type DataPath,
  type Ending,
  Exchange,
  type ExchangeObserver,
  type RequestHead,
  type ResponseHeadView,
  type TunnelObserver,
} from './exchange.ts';
import { FailureRecord } from './failure-record.ts';
import { busyRefusal, deniedRefusal, type Refusal } from './refusal.ts';
import { TunnelGuard } from './tunnel-guard.ts';

/** The paths of `rest.deny`. */
export interface PathDenial {
  /** Whether a client of that address may not ask for that target. */
  denies(target: string, remoteAddress: string): boolean;
}

/** What requests are passed on. */
export interface Admission {
  /** Requests that may be with the upstream at a time, held long polls among them; 0: any number. */
  readonly maxInFlight: number;
  /** Undefined: every path is passed on. */
  readonly denial: PathDenial | undefined;
}

export interface ReporterOptions extends Partial<Admission> {
  /** Where limits are counted; absent: for this reporter alone. */
  readonly hits?: LimitHits | undefined;
}

/** More than there can be connections, and small enough to be compared as an integer. */
const ANY_NUMBER = 2 ** 30 - 1;

function toMaxInFlight(configured: number): number {
  return configured === 0 ? ANY_NUMBER : configured;
}

/**
 * What `relay/` and `gateway/` report exchanges to. Guards the traffic from the observer: an exception in it is counted,
 * logged once, and ends the observation of that exchange, not the exchange: its ending is still reported.
 */
export class ExchangeReporter {
  readonly #clock: Clock;
  readonly #observer: ExchangeObserver;
  readonly #logger: Logger;
  #maxInFlight: number;
  #denial: PathDenial | undefined;
  /** Where both paths count what they refuse, or end, for a limit. */
  readonly hits: LimitHits;
  /** What the upstream did not answer. */
  readonly failures: FailureRecord;
  /** What measures how long passing on takes. */
  readonly added: Readonly<Record<Direction, AddedTime>>;
  #observerErrors = 0;
  #open = 0;
  #inFlight = 0;

  constructor(clock: Clock, observer: ExchangeObserver, logger: Logger, options: ReporterOptions = {}) {
    const { hits = new LimitHits(clock, logger), maxInFlight = 0, denial } = options;
    this.#clock = clock;
    this.#observer = observer;
    this.#logger = logger;
    this.#maxInFlight = toMaxInFlight(maxInFlight);
    this.#denial = denial;
    this.hits = hits;
    this.failures = new FailureRecord(clock, logger);
    const addedTo = (direction: Direction) =>
      new AddedTime(clock, (addedNs) => this.guard(() => observer.onAdded?.(direction, addedNs)));
    this.added = { request: addedTo('request'), response: addedTo('response') };
  }

  /** Exchanges begun and not yet ended. */
  get open(): number {
    return this.#open;
  }

  /** Of these, the ones that are with the upstream: not those that wait for their turn on their connection. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get observerErrors(): number {
    return this.#observerErrors;
  }

  /** Another limit and other denied paths from now on; what is with the upstream stays there. */
  reconfigure({ maxInFlight, denial }: Admission): void {
    this.#maxInFlight = toMaxInFlight(maxInFlight);
    this.#denial = denial;
  }

  /** To be called at the moment the request's head has been read. */
  begin(request: RequestHead, client: ClientConnection, path: DataPath): Exchange {
    const exchange = new Exchange(request, client, path, this.#clock.nowNs());
    this.#open += 1;
    try {
      this.#observer.onBegin(exchange);
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
    return exchange;
  }

  /**
   * Why the exchange may not go to the upstream now; to be asked once, and before a connection is opened for it. Undefined: it may,
   * and its place is free again with its ending.
   */
  admit(exchange: Exchange): Refusal | undefined {
    if (this.#denial?.denies(exchange.request.target, exchange.client.remoteAddress) === true) {
      this.hits.hit('rest.deny');
      return deniedRefusal();
    }
    if (this.#inFlight >= this.#maxInFlight) {
      this.hits.hit('limits.inFlight');
      return busyRefusal();
    }
    this.#inFlight += 1;
    exchange.isAdmitted = true;
    return undefined;
  }

  /** The head of the final response, or of a 101, has come. Nothing is to be made of it unless `exchange.wantsResponse`. */
  response(exchange: Exchange, response: ResponseHeadView): void {
    if (!exchange.wantsResponse) return;
    try {
      this.#observer.onResponse?.(exchange, response);
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
  }

  requestBytes(exchange: Exchange, payload: Buffer): void {
    this.#bytes(exchange, exchange.requestObserver, payload);
  }

  requestEnd(exchange: Exchange): void {
    this.#end(exchange, exchange.requestObserver);
  }

  responseBytes(exchange: Exchange, payload: Buffer): void {
    this.#bytes(exchange, exchange.responseObserver, payload);
  }

  responseEnd(exchange: Exchange): void {
    this.#end(exchange, exchange.responseObserver);
  }

  /** Who is to be told of the tunnel behind an accepted upgrade: never throws, and passes one closing on. */
  tunnelOf(exchange: Exchange): TunnelObserver | undefined {
    const observer = exchange.tunnelObserver;
    return observer && new TunnelGuard(observer, (cause) => this.observerFailed(cause));
  }

  /** Now, as `end` takes it. */
  nowNs(): number {
    return this.#clock.nowNs();
  }

  /**
   * Reports the ending; a second one is ignored, so callers may report from every event that could be the last. `endedNs`:
   * when it came, where something was done before it is reported.
   */
  end(exchange: Exchange, ending: Ending, endedNs: number = this.#clock.nowNs()): void {
    if (!exchange.markEnded(endedNs)) return;
    this.#open -= 1;
    if (exchange.isAdmitted) this.#inFlight -= 1;
    if (ending.kind === 'failed') this.failures.record(ending.failure, exchange.path);
    try {
      this.#observer.onEnd(exchange, ending);
    } catch (cause) {
      this.observerFailed(cause);
    }
    // A request's body may go on behind an early response: nobody is left who could be told.
    exchange.requestObserver = undefined;
    exchange.responseObserver = undefined;
  }

  /** Runs what measures beside exchanges, e.g. on a timer: an exception in it is one in an observer. */
  guard(measure: () => void): void {
    try {
      measure();
    } catch (cause) {
      this.observerFailed(cause);
    }
  }

  #bytes(exchange: Exchange, observer: BodyObserver | undefined, payload: Buffer): void {
    if (observer === undefined) return;
    try {
      observer.onBytes(payload);
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
  }

  #end(exchange: Exchange, observer: BodyObserver | undefined): void {
    if (observer === undefined) return;
    try {
      observer.onEnd();
    } catch (cause) {
      this.#observationFailed(exchange, cause);
    }
  }

  #observationFailed(exchange: Exchange, cause: unknown): void {
    exchange.unobserve();
    this.observerFailed(cause);
  }

  /** Counts an exception of whoever is told of exchanges or calls, and logs the first. */
  observerFailed(cause: unknown): void {
    this.#observerErrors += 1;
    // Once: a broken observer would otherwise write a line for each request. The name only, since a message could hold input.
    if (this.#observerErrors > 1) return;
    const name = cause instanceof Error ? cause.name : typeof cause;
    this.#logger.error({ error: name }, 'an observer failed; traffic goes on unobserved');
  }
}
