import type { ErrorCode } from '../../base/errors.ts';
import type { Ending, Exchange } from '../../proxy/exchange/exchange.ts';
import { bytesOf } from './byte-count.ts';
import type { CallOutcome, CallSession, EndedCall, EndedKind } from './call-observer.ts';

export type EndedCallName = Pick<EndedCall, 'kind' | 'name' | 'application'>;

export const OF_COMET: EndedCallName = { kind: 'comet', name: '', application: undefined };
export const OTHER: EndedCallName = { kind: 'other', name: '', application: undefined };

const OUTCOMES: Readonly<Record<Ending['kind'], CallOutcome>> = {
  completed: 'answered',
  failed: 'failed',
  cancelled: 'aborted',
  denied: 'denied',
};

export class EndedExchange implements EndedCall {
  readonly isComet = false;
  readonly session: CallSession | undefined;
  readonly traceparent: string | undefined;
  readonly #call: EndedCallName;
  readonly #exchange: Exchange;
  readonly #ending: Ending;

  constructor(
    call: EndedCallName,
    { traceparent }: { readonly traceparent: string | undefined },
    exchange: Exchange,
    ending: Ending,
    session: CallSession | undefined,
  ) {
    this.traceparent = traceparent;
    this.#call = call;
    this.#exchange = exchange;
    this.#ending = ending;
    this.session = session;
  }

  get kind(): EndedKind {
    return this.#call.kind;
  }

  get name(): string {
    return this.#call.name;
  }

  get application(): string | undefined {
    return this.#call.application;
  }

  get method(): string {
    return this.#exchange.method;
  }

  get status(): number {
    return this.#exchange.status;
  }

  get outcome(): CallOutcome {
    return OUTCOMES[this.#ending.kind];
  }

  get errorCode(): ErrorCode | undefined {
    if (this.#ending.kind === 'denied') return 'D2S_ERR_DENIED';
    return this.#ending.kind === 'failed' ? this.#ending.failure.code : undefined;
  }

  get beganNs(): number {
    return this.#exchange.beganNs;
  }

  get endedNs(): number {
    return this.#exchange.endedNs;
  }

  get requestBytes(): number | undefined {
    return bytesOf(this.#exchange.requestObserver);
  }

  get responseBytes(): number | undefined {
    return bytesOf(this.#exchange.responseObserver);
  }

  get remoteAddress(): string {
    return this.#exchange.client.remoteAddress;
  }

  get ownTraceparent(): string | undefined {
    return this.#exchange.traceparent;
  }
}
