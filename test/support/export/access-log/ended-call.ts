import type { EndedCall } from '../../../../src/measure/record/call-observer.ts';

export function endedCall(change: Partial<EndedCall> = {}): EndedCall {
  const { beganNs = 1_000, endedNs = 25_002_000 } = change;
  return {
    ...{ kind: 'rpc', name: 'E.Demo.TestInOut', application: 'smartWeb', isComet: false, method: 'POST', status: 200 },
    ...{ outcome: 'answered', errorCode: undefined, beganNs, endedNs, durationNs: endedNs - beganNs },
    ...{ clientWaitNs: 0, firstByteNs: endedNs },
    ...{ requestBytes: 12, responseBytes: 3_400, remoteAddress: '10.0.0.7' },
    ...{
      session: { id: 'b7c1', userName: 'anna', isVerified: true },
      traceparent: undefined,
      ownTraceparent: undefined,
    },
    ...change,
  };
}
