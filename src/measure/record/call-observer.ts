/**
 * The observers of ended calls, besides the statistics: the access log, spans. Without one a call costs the check of a
 * flag. An observer must not wait. What it throws goes to `onFailure`; neither the call nor other observers notice.
 */

import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { BodyObserver, Ending, Exchange } from '../../proxy/exchange/exchange.ts';
import type { CallKind } from '../classify/classifier.ts';

/** `comet` and `other` are not calls: exchanges with the Comet endpoint or a login form, and all other ones. */
export type EndedKind = CallKind | 'comet' | 'other';

/** `failed`: without a whole answer of the upstream. `denied`: by `rest.deny`. exchange.ts has the words of other parts. */
export type CallOutcome = 'answered' | 'failed' | 'aborted' | 'denied';

/** The session of a call. `id` is its public id; `userName` is null when the traffic does not contain it. */
export interface CallSession {
  readonly id: string;
  readonly userName: string | null;
  /** False when the name is unverified: any client may have stated it. */
  readonly isVerified: boolean;
}

/** An ended call. Its texts may be slices of a head: copy those that you keep. */
export interface EndedCall {
  readonly kind: EndedKind;
  /** E.g. `E.Demo.TestInOut`, `login`; `''` for `comet` and `other`, whose paths may hold secrets. */
  readonly name: string;
  /** As in the configuration, e.g. `smartWeb`; undefined for `comet` and `other`. */
  readonly application: string | undefined;
  /** The call was a Bayeux message, not an exchange of its own. */
  readonly isComet: boolean;
  /** Method of the request, e.g. `POST`; undefined for a Bayeux message. */
  readonly method: string | undefined;
  /** 101 for an upgrade, 0 without an answer. Of a Bayeux message: 200, 500, the code of its error, or an HTTP error. */
  readonly status: number;
  readonly outcome: CallOutcome;
  /** Why there is no answer from the upstream; undefined unless `failed` or `denied`. */
  readonly errorCode: ErrorCode | undefined;
  /** Moments on `Clock.nowNs`. `endedNs` may be some seconds ago; `firstByteNs` is 0 without an answer. */
  readonly beganNs: number;
  readonly endedNs: number;
  readonly firstByteNs: number;
  /** Between the two, less the client wait. */
  readonly durationNs: number;
  readonly clientWaitNs: number;
  /** Payload from and to the client, without heads and chunk framing. Undefined if unwanted and for Bayeux messages. */
  readonly requestBytes: number | undefined;
  readonly responseBytes: number | undefined;
  /** The client's, also behind a trusted proxy, e.g. `10.0.0.7`. */
  readonly remoteAddress: string;
  /** Undefined without an accepted session. */
  readonly session: CallSession | undefined;
  /** The request's `traceparent`, not validated. Undefined without one, and on a WebSocket, which has none per call. */
  readonly traceparent: string | undefined;
  /** The `traceparent` that replaced it for the upstream; undefined if no observer set one. */
  readonly ownTraceparent: string | undefined;
}

/** A longer `traceparent` is not kept. Version 00 has 55 characters; later versions may be longer. */
export const MAX_TRACEPARENT_CHARS = 256;

export interface CallObserver {
  /** Count body bytes: costs some tenths of a microsecond for each exchange that begins from then on. */
  readonly wantsBytes: boolean;
  /** Report exchanges that are not calls as well. */
  readonly wantsOthers: boolean;
  /** The `traceparent` for the upstream; undefined: unchanged. The argument is not validated. Must not throw. */
  traceparentFor?(traceparent: string | undefined): string | undefined;
  /** Called once for each call, after it has been counted. */
  callEnded(call: EndedCall): void;
}

export class CallObservers {
  onFailure: (cause: unknown) => void = () => undefined;
  #list: readonly CallObserver[] = [];
  /** False without observers: then no `EndedCall` need be built. */
  isWanted = false;
  areBytesWanted = false;
  areOthersWanted = false;
  /** Undefined if no observer changes a `traceparent`. */
  tracer: Required<Pick<CallObserver, 'traceparentFor'>> | undefined;

  add(observer: CallObserver): void {
    this.#use([...this.#list, observer]);
  }

  remove(observer: CallObserver): void {
    this.#use(this.#list.filter((other) => other !== observer));
  }

  /** Never throws. Call it only while `isWanted`. */
  tell(call: EndedCall): void {
    for (const observer of this.#list) {
      if (!observer.wantsOthers && (call.kind === 'comet' || call.kind === 'other')) continue;
      try {
        observer.callEnded(call);
      } catch (cause) {
        this.onFailure(cause);
      }
    }
  }

  #use(list: readonly CallObserver[]): void {
    this.#list = list;
    this.isWanted = list.length > 0;
    this.areBytesWanted = list.some(({ wantsBytes }) => wantsBytes);
    this.areOthersWanted = list.some(({ wantsOthers }) => wantsOthers);
    this.tracer = list.find((observer) => observer.traceparentFor !== undefined) as CallObservers['tracer'];
  }
}

/** The same definition as in the statistics: status 500 and above, or no answer. */
export function isError({ outcome, status }: EndedCall): boolean {
  return outcome === 'failed' || (outcome === 'answered' && status >= 500);
}

/** Wall-clock milliseconds of a recent monotonic moment, e.g. of a call's `endedNs`. */
export function toEpochMs(clock: Clock, atNs: number): number {
  return clock.epochMs() - (clock.nowNs() - atNs) / NS_PER_MS;
}

export type EndedCallName = Pick<EndedCall, 'kind' | 'name' | 'application'>;

export const OF_COMET: EndedCallName = { kind: 'comet', name: '', application: undefined };
export const OTHER: EndedCallName = { kind: 'other', name: '', application: undefined };

const OUTCOMES: Readonly<Record<Ending['kind'], CallOutcome>> = {
  completed: 'answered',
  failed: 'failed',
  cancelled: 'aborted',
  denied: 'denied',
};

export function describeEndedExchange(
  { kind, name, application }: EndedCallName,
  traceparent: string | undefined,
  exchange: Exchange,
  ending: Ending,
  session: CallSession | undefined,
): EndedCall {
  const { method, status, beganNs, endedNs, firstByteNs, durationNs, clientWaitNs } = exchange;
  return {
    ...{ kind, name, application, isComet: false, method, status },
    ...{ beganNs, endedNs, firstByteNs, durationNs, clientWaitNs, session, traceparent },
    outcome: OUTCOMES[ending.kind],
    errorCode: errorCodeOf(ending),
    requestBytes: bytesOf(exchange.requestObserver),
    responseBytes: bytesOf(exchange.responseObserver),
    remoteAddress: exchange.client.remoteAddress,
    ownTraceparent: exchange.traceparent,
  };
}

function errorCodeOf(ending: Ending): ErrorCode | undefined {
  if (ending.kind === 'denied') return 'D2S_ERR_DENIED';
  return ending.kind === 'failed' ? ending.failure.code : undefined;
}

/** Counts the payload bytes of a body and passes them on to the existing observer, if any. */
class ByteCount implements BodyObserver {
  bytes = 0;
  readonly #observer: BodyObserver | undefined;

  constructor(observer: BodyObserver | undefined) {
    this.#observer = observer;
  }

  get isQuick(): boolean {
    return this.#observer === undefined;
  }

  onBytes(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.#observer?.onBytes(bytes);
  }

  onEnd(): void {
    this.#observer?.onEnd();
  }
}

/** Call it when the exchange begins, after its body observers are set. */
export function countBytes(exchange: Exchange): void {
  exchange.requestObserver = new ByteCount(exchange.requestObserver);
  exchange.responseObserver = new ByteCount(undefined);
}

/** Call it when the response head has been read, after the response observer is set. */
export function countBytesOfResponse(exchange: Exchange): void {
  const { responseObserver } = exchange;
  if (responseObserver instanceof ByteCount) return;
  exchange.responseObserver = new ByteCount(responseObserver);
}

function bytesOf(observer: BodyObserver | undefined): number | undefined {
  return observer instanceof ByteCount ? observer.bytes : undefined;
}
