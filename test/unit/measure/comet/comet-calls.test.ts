import { beforeEach, expect, it } from 'vitest';
import type { CometListener } from '../../../../src/measure/comet/comet-application.ts';
import { UpstreamFailure } from '../../../../src/proxy/exchange/upstream-failure.ts';
import { ManualClock } from '../../../support/clock.ts';
import { CometTraffic, GONE_MS, rpcAnswer, rpcCall } from '../../../support/measure/comet/comet-traffic.ts';
import { CANCELLED, FAILED, RPC } from '../../../support/measure/record/traffic.ts';
import { testComet } from '../../../support/wire/test-config.ts';

const CHANNEL = '/service/d2/rpc';
const NAME = 'rpc.E.Demo.Test';
const FAILED_ONCE = { rpc: 1, [NAME]: 1, 'rpc.errors': 1, [`${NAME}.errors`]: 1 };

const acknowledged = (id: string) => ({ channel: CHANNEL, id, successful: true });
const refused = (id: string, error?: string) => ({ channel: CHANNEL, id, successful: false, error });

function started(change?: ConstructorParameters<typeof CometTraffic>[0]): CometTraffic {
  const traffic = new CometTraffic(change);
  traffic.handshake('a');
  return traffic;
}

/** Reading a message of the slow channel uses up the time for reading. */
function slowTraffic(slow: string): CometTraffic {
  const clock = new ManualClock();
  const listener: CometListener = {
    onClientMessage: ({ channel }) => clock.advanceMs(channel === slow ? 20 : 0),
    onUpstreamMessage: () => undefined,
    onFailure: () => expect.unreachable(),
  };
  return new CometTraffic({}, listener, clock);
}

let traffic: CometTraffic;
beforeEach(() => {
  traffic = started();
});

it('a call takes from its message to the answer with data, on whichever exchange that comes', () => {
  const held = traffic.hold('a');
  traffic.post([rpcCall('7')], [acknowledged('7')], {}, { afterMs: 10 });
  expect(traffic.counts()).toEqual({});
  traffic.release(held, [rpcAnswer('7')], { afterMs: 30 });
  expect(traffic.counts()).toEqual({ rpc: 1, [NAME]: 1 });
  expect(traffic.maxMsOf()).toBe(40);
  expect(traffic.onlySession()).toMatchObject({ requests: 1, counts: { rpc: 1, [NAME]: 1 } });
});

it('a call ends with its plain acknowledgement when no data follow in time', () => {
  traffic.post([rpcCall('7')], [acknowledged('7')], {}, { afterMs: 10 });
  traffic.sweepAfter(testComet.ackWaitMs - 1);
  expect(traffic.counts()).toEqual({});
  traffic.sweepAfter(1);
  expect(traffic.counts()).toEqual({ rpc: 1, [NAME]: 1 });
  expect(traffic.maxMsOf()).toBe(10);
});

it('a call is not ended by its acknowledgement while the answer, come in time, waits to be read', () => {
  traffic = slowTraffic('/slow');
  const { clock } = traffic;
  const tunnel = traffic.webSocket();
  tunnel.handshake('a');
  tunnel.client(rpcCall('7'));
  tunnel.upstream(acknowledged('7'));
  tunnel.client({ channel: '/slow', id: '8', clientId: 'a' });
  clock.advanceMs(testComet.ackWaitMs - 50);
  tunnel.client({ channel: '/slow', id: '9', clientId: 'a' });
  tunnel.upstream(refused('7', '500::failed'));
  clock.advanceMs(testComet.ackWaitMs);
  traffic.recorder.sweep();
  expect(traffic.counts()).toEqual({});
  traffic.recorder.finish();
  expect(traffic.counts()).toEqual(FAILED_ONCE);
  expect(traffic.maxMsOf()).toBe(testComet.ackWaitMs - 10);
});

it('a call whose answer’s data say failure, by a rule, is an error', () => {
  const reply = { channel: '/answers', id: '/data/call', error: '/data/error' };
  const rules = [{ channel: '/calls', kind: 'rpc', action: 'call', name: '{/rpc}', reply }] as const;
  traffic = started({ comet: { ...testComet, rules } });
  const ask = (id: number) => ({ channel: '/calls', clientId: 'a', data: { rpc: 'P', call: id } });
  traffic.post([ask(1), ask(2)], []);
  traffic.release(traffic.hold('a'), [
    { channel: '/answers', data: { call: 2, error: 'no' } },
    { channel: '/answers', data: { call: 1, error: null } },
  ]);
  expect(traffic.counts()).toEqual({ rpc: 2, 'rpc.P': 2, 'rpc.errors': 1, 'rpc.P.errors': 1 });
});

it('a call of a client that leaves is neither answered nor an error', () => {
  traffic.endPost(traffic.beginPost([rpcCall('7')]), { ending: CANCELLED });
  traffic.sweepAfter(GONE_MS);
  expect(traffic.counts()).toEqual({});
  expect(traffic.numbers.counts).toMatchObject({ timedOut: 0, abandoned: 1 });
  expect(traffic.sessions()).toEqual([]);
});

it('a call whose answer its client did not take is aborted', () => {
  traffic.endPost(traffic.beginPost([rpcCall('7')]), { messages: [rpcAnswer('7')], ending: CANCELLED });
  expect(traffic.counts()).toEqual({});
  expect(traffic.application().totals.counts).toMatchObject({ ok: 0, aborted: 1, unanswered: 0 });
});

it('calls that the sidecar refuses are counted apart from those that the server did not answer', () => {
  const failing = (code: 'D2S_ERR_UPSTREAM_BUSY' | 'D2S_ERR_UPSTREAM_RESOURCES' | 'D2S_ERR_UPSTREAM_REFUSED') => {
    const ending = { kind: 'failed', failure: new UpstreamFailure(code) } as const;
    traffic.send({ line: RPC }, { ending });
    traffic.endPost(traffic.beginPost([rpcCall(code)]), { ending });
  };
  failing('D2S_ERR_UPSTREAM_BUSY');
  failing('D2S_ERR_UPSTREAM_RESOURCES');
  failing('D2S_ERR_UPSTREAM_REFUSED');
  expect(traffic.application().totals.counts).toMatchObject({ unanswered: 6, refusedHere: 4 });
});

it('a call of a WebSocket that is closed before the answer is aborted', () => {
  const tunnel = traffic.webSocket();
  tunnel.client({ channel: '/meta/connect', id: 'c', clientId: 'a' }, rpcCall('7'));
  tunnel.close();
  traffic.sweepAfter(testComet.callTimeoutMs);
  expect(traffic.application().totals.counts).toMatchObject({ ok: 0, aborted: 1, unanswered: 0 });
});

it('a call without any answer for long has failed', () => {
  const tunnel = traffic.webSocket();
  tunnel.client(rpcCall('7'));
  traffic.sweepAfter(testComet.callTimeoutMs);
  expect(traffic.counts()).toEqual({ 'rpc.errors': 1 });
  expect(traffic.numbers.counts).toMatchObject({ timedOut: 1, abandoned: 0 });
  tunnel.upstream(rpcAnswer('7'));
  expect(traffic.counts()).toEqual({ 'rpc.errors': 1 });
});

it('a call that is refused, also with a stranger’s clientId, makes no name and no session', () => {
  traffic.post([{ ...rpcCall('7'), clientId: 'guess' }], [refused('7', '402::unknown')]);
  expect(traffic.counts()).toEqual({ rpc: 1, 'rpc.errors': 1 });
  expect(traffic.sessions()).toHaveLength(1);
  traffic.post([rpcCall('8')], [rpcAnswer('8')]);
  traffic.post([rpcCall('9')], [refused('9', '404::unknown')]);
  expect(traffic.counts()).toEqual({ rpc: 3, [NAME]: 2, 'rpc.errors': 2, [`${NAME}.errors`]: 1 });
});

it('a call that HTTP answers with an error has that status, and one that gets no answer is an error without a duration', () => {
  traffic.endPost(traffic.beginPost([rpcCall('7')]), { status: 503, body: '<html>' });
  traffic.endPost(traffic.beginPost([rpcCall('8')]), { status: 403, body: '<html>' });
  expect(traffic.counts()).toEqual({ ...FAILED_ONCE, rpc: 2, [NAME]: 2 });
  traffic.endPost(traffic.beginPost([rpcCall('9')]), { ending: FAILED });
  const errors = { 'rpc.errors': 2, [`${NAME}.errors`]: 2 };
  expect(traffic.counts()).toEqual({ rpc: 2, [NAME]: 2, ...errors });
});

it('a call beyond the bound is counted as untracked, and the others go on', () => {
  traffic = started({ comet: { ...testComet, maxPendingCalls: 2 } });
  const tunnel = traffic.webSocket();
  tunnel.client(rpcCall('1'), rpcCall('2'), rpcCall('3'));
  tunnel.upstream(rpcAnswer('1'), rpcAnswer('2'), rpcAnswer('3'));
  expect(traffic.counts()).toEqual({ rpc: 2, [NAME]: 2 });
  expect(traffic.numbers.untracked.calls).toBe(1);
});

it('a /meta/connect is never a call, and its hold ends with a delivery or without', () => {
  const first = traffic.hold('a');
  expect(traffic.numbers.holds.now).toBe(1);
  traffic.release(first, [{ channel: '/d2/object/H.A', data: 1 }], { afterMs: 400 });
  traffic.release(traffic.hold('a'), [], { afterMs: 30_000 });
  traffic.endPost(traffic.hold('a'), { ending: CANCELLED });
  expect(traffic.numbers.holds).toMatchObject({ now: 0, ended: { delivery: 1, empty: 1, broken: 1 } });
  expect(traffic.numbers.holds.duration.snapshot()).toMatchObject({ count: 3, max: 30_000_000_000 });
  expect(traffic.counts()).toEqual({ 'object.newValues': 1, 'object.H.A.newValues': 1 });
  expect(traffic.onlySession().requests).toBe(0);
});

it('a /meta/connect beside publishes in one request is still a hold, and they are still calls', () => {
  const connect = { channel: '/meta/connect', id: 'c', clientId: 'a' };
  const exchange = traffic.beginPost([rpcCall('1'), connect]);
  expect(traffic.numbers.holds.now).toBe(1);
  traffic.release(exchange, [rpcAnswer('1')], { afterMs: 20 });
  expect(traffic.counts()).toEqual({ rpc: 1, [NAME]: 1 });
  expect(traffic.numbers.holds).toMatchObject({ now: 0, ended: { delivery: 1 } });
});

it('a connect later than the advised interval is counted', () => {
  const connect = (afterMs: number) => {
    traffic.clock.advanceMs(afterMs);
    const reply = { channel: '/meta/connect', id: 'c', successful: true, advice: { interval: 2_000 } };
    traffic.endPost(traffic.hold('a'), { messages: [reply] });
  };
  for (const afterMs of [0, 2_900, 3_100, 500]) connect(afterMs);
  expect(traffic.numbers.counts.connectGaps).toBe(1);
});

it('a fall back from WebSocket is counted once for each client', () => {
  traffic = new CometTraffic();
  const tunnel = traffic.webSocket();
  tunnel.handshake('a');
  tunnel.close();
  traffic.release(traffic.hold('a'));
  traffic.release(traffic.hold('a'));
  expect(traffic.numbers.counts.fallbacks).toBe(1);
  expect(traffic.sessions()).toMatchObject([{ connectionType: 'COMET_LONG_POLLING' }]);
});

it('a storm of handshakes is counted', () => {
  traffic = new CometTraffic();
  for (let i = 0; i < 49; i += 1) traffic.handshake(`slow${i}`, {}, { afterMs: 1_000 });
  expect(traffic.numbers.counts.storms).toBe(0);
  for (let i = 0; i < 120; i += 1) traffic.handshake(`quick${i}`, {}, { afterMs: 1 });
  expect(traffic.numbers.counts).toMatchObject({ accepted: 169, refused: 0, storms: 1 });
});
