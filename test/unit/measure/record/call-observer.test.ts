import { expect, it } from 'vitest';
import type { CallObserver, EndedCall } from '../../../../src/measure/record/call-observer.ts';
import { CometTraffic, rpcCall } from '../../../support/measure/comet/comet-traffic.ts';
import { CANCELLED, FAILED, LOGOUT, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
import { testComet } from '../../../support/wire/test-config.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Takes what it is told at once: afterwards it is not valid. */
class Noting implements CallObserver {
  readonly calls: Partial<EndedCall>[] = [];
  wantsBytes = false;
  wantsOthers = false;

  callEnded(call: EndedCall): void {
    const { id, userName, isVerified } = call.session ?? {};
    this.calls.push({ ...call, session: call.session && { id, userName, isVerified } } as EndedCall);
  }
}

function observed<T extends Traffic>(traffic: T, wants: Partial<Noting> = {}) {
  const observer = Object.assign(new Noting(), wants);
  traffic.recorder.observers.add(observer);
  return { traffic, observer, calls: observer.calls };
}

it('an observer of calls is told how calls ended, as they are counted, and whose they are if the server accepted them', () => {
  const { traffic, calls } = observed(new Traffic());
  traffic.send({ line: RPC, user: 'anna', password: 'wrong' }, { status: 401 });
  traffic.send({ line: RPC, user: 'anna', fields: { traceparent: TRACEPARENT } }, { afterMs: 25, status: 201 });
  const session = { id: traffic.onlySession().id, userName: 'anna', isVerified: true };
  traffic.send({ line: RPC }, { ending: FAILED });
  traffic.send({ line: RPC }, { ending: CANCELLED, status: 200 });
  traffic.send({ line: LOGOUT, user: 'anna' });
  expect(calls).toMatchObject([
    { status: 401, session: undefined },
    {
      ...{ kind: 'rpc', name: 'E.Demo.TestInOut', application: 'smartWeb', isComet: false, method: 'POST', session },
      ...{
        status: 201,
        outcome: 'answered',
        errorCode: undefined,
        remoteAddress: '10.0.0.7',
        traceparent: TRACEPARENT,
      },
    },
    { outcome: 'failed', status: 0, errorCode: 'D2S_ERR_UPSTREAM_TERMINATED', session: undefined },
    { outcome: 'aborted', status: 200, errorCode: undefined },
    { kind: 'session', name: 'logout', session },
  ]);
  expect((calls[1]?.endedNs ?? 0) - (calls[1]?.beganNs ?? 0)).toBe(25e6);
});

it('an observer of calls is told of what is no call only when it wants that', () => {
  const { traffic, calls } = observed(new Traffic());
  const others = Object.assign(new Noting(), { wantsOthers: true });
  traffic.recorder.observers.add(others);
  traffic.send({ line: 'GET /smartWeb/index.html?token=s3cr3t' });
  traffic.send({ line: RPC });
  expect(calls.map(({ kind }) => kind)).toEqual(['rpc']);
  expect(others.calls).toMatchObject([
    { kind: 'other', name: '', application: undefined, method: 'GET', status: 200 },
    { kind: 'rpc' },
  ]);
});

it('an observer of calls is told the bytes of bodies where it wants them, of exchanges that began since', () => {
  const { traffic, calls } = observed(new Traffic());
  const pass = (exchange: ReturnType<Traffic['begin']>) => {
    for (const size of [5, 7]) traffic.reporter.requestBytes(exchange, Buffer.alloc(size));
    traffic.reporter.responseBytes(exchange, Buffer.alloc(100));
    traffic.end(exchange);
  };
  const early = traffic.begin({ line: RPC });
  observed(traffic, { wantsBytes: true });
  pass(early);
  pass(traffic.begin({ line: RPC }));
  const bytes = calls.map(({ requestBytes, responseBytes }) => `${requestBytes} ${responseBytes}`);
  expect(bytes).toEqual(['undefined undefined', '12 100']);
});

it('an observer of calls that throws is reported, and harms neither the call nor other observers', () => {
  const traffic = new Traffic();
  const failures: unknown[] = [];
  traffic.recorder.observers.onFailure = (cause) => failures.push(cause);
  const broken = new Error('broken');
  traffic.recorder.observers.add({
    ...{ wantsBytes: false, wantsOthers: false },
    callEnded: () => {
      throw broken;
    },
  });
  const { calls } = observed(traffic);
  traffic.send({ line: RPC });
  expect(failures).toEqual([broken]);
  expect(calls).toHaveLength(1);
  expect(traffic.counts()).toMatchObject({ rpc: 1 });
});

const CHANNEL = '/service/d2/rpc';
const started = () => {
  const stand = observed(new CometTraffic());
  stand.traffic.handshake('a', { user: 'anna' });
  return stand;
};

it('of Comet, an observer is told the session and traceparent of a body, and none of a WebSocket', () => {
  const { traffic, calls } = started();
  const exchange = traffic.begin({
    line: 'POST /smartWeb/api/cometd',
    fields: { 'content-type': 'application/json', traceparent: TRACEPARENT },
  });
  traffic.reporter.requestBytes(exchange, Buffer.from(JSON.stringify([rpcCall('1')])));
  traffic.reporter.requestEnd(exchange);
  traffic.endPost(exchange, { messages: [{ channel: CHANNEL, id: '1', data: {} }] });
  const socket = traffic.webSocket({ from: '10.0.0.10' });
  socket.client(rpcCall('2'));
  socket.upstream({ channel: CHANNEL, id: '2', data: {} });
  const session = { id: traffic.onlySession().id, userName: 'anna', isVerified: true };
  expect(calls).toMatchObject([
    { traceparent: TRACEPARENT, name: 'E.Demo.Test', isComet: true, method: undefined, session },
    { traceparent: undefined, remoteAddress: '10.0.0.10' },
  ]);
});

it('of Comet, an observer is told how calls ended: refused, failed, timed out, acknowledged, left behind', () => {
  const { traffic, calls } = started();
  const refused = { channel: CHANNEL, id: '1', successful: false, error: '403:a:denied' };
  traffic.post([rpcCall('1')], [refused]);
  traffic.endPost(traffic.beginPost([rpcCall('2')]), { ending: FAILED });
  traffic.post([rpcCall('3')], []);
  traffic.clock.advanceMs(testComet.callTimeoutMs);
  traffic.recorder.sweep();
  traffic.handshake('b');
  traffic.post([rpcCall('4', 'b')], [{ channel: CHANNEL, id: '4', successful: true }], {}, { afterMs: 7 });
  traffic.clock.advanceMs(testComet.ackWaitMs);
  traffic.recorder.sweep();
  traffic.post([rpcCall('5', 'b')], []);
  traffic.disconnect('b');
  expect(calls).toMatchObject([
    { outcome: 'answered', status: 403 },
    { outcome: 'failed', status: 0, errorCode: 'D2S_ERR_UPSTREAM_TERMINATED' },
    { outcome: 'failed', status: 0, errorCode: 'D2S_ERR_UPSTREAM_TIMEOUT' },
    { outcome: 'answered', status: 200 },
    { outcome: 'aborted', status: 0, errorCode: undefined },
  ]);
  // The acknowledgement was the answer, though it took the time of waiting to know that.
  expect((calls[3]?.endedNs ?? 0) - (calls[3]?.beganNs ?? 0)).toBe(7e6);
});
