/**
 * Who is told of each call that has ended, beside the statistics: the access log, spans. There is nobody unless an option asks
 * for it; then a call costs one look at an empty place.
 *
 * An observer is called in the middle of traffic, so it may not wait, and takes what it needs at once: what it is given reads
 * the exchange, which is let go afterwards. What it throws goes to `onFailure` and touches neither the call nor other observers.
 */

import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { DataPath } from '../../proxy/exchange/exchange.ts';
import type { CallKind } from '../classify/classifier.ts';

/** `comet` and `other` are no calls: an exchange with the Comet endpoint or a login form, and everything else that is proxied. */
export type EndedKind = CallKind | 'comet' | 'other';

/**
 * `answered`: by the upstream, whatever the status. `failed`: it gave no answer, or not all of it. `aborted`: the client left
 * before. `denied`: `rest.deny` kept the client from it. The same as /metrics counts.
 */
export type CallOutcome = 'answered' | 'failed' | 'aborted' | 'denied';

/** Whose a call is. `id` is the session's public one; `userName` null where the wire does not tell it. */
export interface CallSession {
  readonly id: string;
  readonly userName: string | null;
  /** False where nothing has proven the name: anybody may have stated it. */
  readonly isVerified: boolean;
}

/**
 * A call that has ended. Properties may be read from the head when they are asked for, and strings may keep that head alive:
 * copy what is kept.
 */
export interface EndedCall {
  readonly kind: EndedKind;
  /** E.g. `E.Demo.TestInOut`, `login`; `''` for `comet` and `other`, whose paths nobody knows to be free of secrets. */
  readonly name: string;
  /** As in the configuration, e.g. `smartWeb`; undefined for `comet` and `other`. */
  readonly application: string | undefined;
  /** Came as a Bayeux message, and was not an exchange of its own. */
  readonly isComet: boolean;
  /** Of the request, e.g. `POST`; undefined for a Bayeux message. */
  readonly method: string | undefined;
  /** 200 to 999, 101 for an upgrade, 0 without an answer. A Bayeux message's: 200, 500, or the code of its error. */
  readonly status: number;
  readonly outcome: CallOutcome;
  /** Why the upstream gave no answer; undefined unless `failed` or `denied`. */
  readonly errorCode: ErrorCode | undefined;
  /** Moments on `Clock.nowNs`, the ones that its duration is counted by. `endedNs` may be some seconds ago. */
  readonly beganNs: number;
  readonly endedNs: number;
  /** Payload from and to the client, without heads and chunk framing; undefined where no observer wants it, and for a Bayeux message. */
  readonly requestBytes: number | undefined;
  readonly responseBytes: number | undefined;
  readonly path: DataPath;
  /** The socket's, e.g. `10.0.0.7`, `::ffff:10.0.0.7`. */
  readonly remoteAddress: string;
  /** Undefined where the call is nobody's, or nobody's that was accepted. */
  readonly session: CallSession | undefined;
  /** Value of the request's `traceparent`, unread; undefined without one, and on a WebSocket, where there is none for each call. */
  readonly traceparent: string | undefined;
}

export interface CallObserver {
  /** Bodies are to be counted: some tenths of a microsecond for each exchange that begins from then on. */
  readonly wantsBytes: boolean;
  /** Exchanges that are no calls are to be told as well. */
  readonly wantsOthers: boolean;
  /** Once for each call, after it has been counted. `call` is valid until this returns. */
  callEnded(call: EndedCall): void;
}

/** The observers of one recorder, as all of its parts see them. Those may change at any time. */
export class CallObservers {
  /** What an observer has thrown. */
  onFailure: (cause: unknown) => void = () => undefined;
  #list: readonly CallObserver[] = [];
  /** False while there is nobody: then nothing is to be made to be told. */
  isWanted = false;
  areBytesWanted = false;
  areOthersWanted = false;

  add(observer: CallObserver): void {
    this.#use([...this.#list, observer]);
  }

  /** Whoever is not there is not missed. */
  remove(observer: CallObserver): void {
    this.#use(this.#list.filter((other) => other !== observer));
  }

  /** Never throws. To be called only while `isWanted`. */
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
  }
}

/** The wall clock's milliseconds at a moment of the recent past, e.g. at a call's `endedNs`. */
export function toEpochMs(clock: Clock, atNs: number): number {
  return clock.epochMs() - (clock.nowNs() - atNs) / NS_PER_MS;
}
