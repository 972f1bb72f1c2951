import type { UpstreamFailureCode } from '../../proxy/exchange/upstream-failure.ts';
import type { CallSession, EndedCall } from '../record/call-observer.ts';
import type { PendingCall } from './pending-calls.ts';

/** How a call ended, as `CallStatistics` counts it. */
export type CallResult =
  | { readonly kind: 'answered'; readonly status: number }
  /** Answered with an error that any client can provoke, so it creates no name. `status`: 400 to 499. */
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'failed'; readonly code: UpstreamFailureCode }
  | { readonly kind: 'aborted' };

/** What observers see of a call that came as a Bayeux message. */
export function describeEndedMessage(
  { call, beganNs, source }: PendingCall,
  result: CallResult,
  endedNs: number,
  session: CallSession | undefined,
): EndedCall {
  const status = 'status' in result ? result.status : 0;
  return {
    kind: call.kind,
    name: call.name,
    application: source.application,
    isComet: true,
    method: undefined,
    status,
    outcome: result.kind === 'refused' ? 'answered' : result.kind,
    errorCode: result.kind === 'failed' ? result.code : undefined,
    beganNs,
    endedNs,
    // The answer is one message.
    firstByteNs: status === 0 ? 0 : endedNs,
    durationNs: endedNs - beganNs,
    clientWaitNs: 0,
    requestBytes: undefined,
    responseBytes: undefined,
    remoteAddress: source.remoteAddress,
    session,
    traceparent: source.traceparent,
    ownTraceparent: undefined,
  };
}
