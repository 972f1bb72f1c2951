import type { ErrorCode } from '../../base/errors.ts';
import type { Ending, Exchange } from '../../proxy/exchange/exchange.ts';
import { bytesOf } from './byte-count.ts';
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

/** What observers see of an exchange. */
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
