/** What observers see of an exchange that has ended; for that, its bytes are counted while it runs. */
import type { ErrorCode } from '../../base/errors.ts';
import type { BodyObserver, Ending, Exchange } from '../../proxy/exchange/exchange.ts';
import type { CallOutcome, CallSession, EndedCall } from './call-observer.ts';

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
