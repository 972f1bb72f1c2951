import type { UpstreamFailureCode } from '../../proxy/exchange/upstream-failure.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { CallOutcome, CallSession, EndedCall } from '../record/call-observer.ts';
import type { PendingCall } from './pending-calls.ts';

/** How a call ended, as `CallStatistics` counts it. */
export type CallResult =
  | { readonly kind: 'answered'; readonly status: number }
  /** Answered with an error that any client can provoke, so it creates no name. `status`: 400 to 499. */
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'failed'; readonly code: UpstreamFailureCode }
  | { readonly kind: 'aborted' };

/** What observers see of a call that came as a Bayeux message. */
export class EndedMessage implements EndedCall {
  readonly isComet = true;
  readonly method = undefined;
  readonly requestBytes = undefined;
  readonly responseBytes = undefined;
  readonly clientWaitNs = 0;
  readonly endedNs: number;
  readonly session: CallSession | undefined;
  readonly #pending: PendingCall;
  readonly #result: CallResult;

  constructor(pending: PendingCall, result: CallResult, endedNs: number, session: CallSession | undefined) {
    this.#pending = pending;
    this.#result = result;
    this.endedNs = endedNs;
    this.session = session;
  }

  get kind(): CallKind {
    return this.#pending.call.kind;
  }

  get name(): string {
    return this.#pending.call.name;
  }

  get application(): string {
    return this.#pending.source.application;
  }

  get durationNs(): number {
    return this.endedNs - this.beganNs;
  }

  /** The answer is one message. */
  get firstByteNs(): number {
    return this.status === 0 ? 0 : this.endedNs;
  }

  get status(): number {
    return this.#result.kind === 'answered' || this.#result.kind === 'refused' ? this.#result.status : 0;
  }

  get outcome(): CallOutcome {
    return this.#result.kind === 'refused' ? 'answered' : this.#result.kind;
  }

  get errorCode(): UpstreamFailureCode | undefined {
    return this.#result.kind === 'failed' ? this.#result.code : undefined;
  }

  get beganNs(): number {
    return this.#pending.beganNs;
  }

  get remoteAddress(): string {
    return this.#pending.source.remoteAddress;
  }

  readonly ownTraceparent = undefined;

  get traceparent(): string | undefined {
    return this.#pending.source.traceparent;
  }
}
