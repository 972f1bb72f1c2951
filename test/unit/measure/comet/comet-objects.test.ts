import { beforeEach, expect, it } from 'vitest';
import { COMET, CometTraffic } from '../../../support/measure/comet/comet-traffic.ts';
import { testComet } from '../../../support/wire/test-config.ts';

const LEVEL = '/d2/object/H.Level';
const FLOW = '/d2/object/H.Pr%C3%ADtok';
const SERVICE = '/service/d2/object';
const CONNECT = encodeURIComponent(JSON.stringify([{ channel: '/meta/connect', id: 'c', clientId: 'a' }]));

let traffic: CometTraffic;
beforeEach(() => {
  traffic = new CometTraffic();
  traffic.handshake('a');
});

const said = (what: 'subscribeObject' | 'unSubscribeObject') => {
  return { channel: `/service/d2/${what}`, id: '9', clientId: 'a', data: { objectName: 'H.Level' } };
};

function unreadOf({ numbers }: CometTraffic): Record<string, number> {
  return Object.fromEntries(Object.entries(numbers.unread).filter(([, count]) => count > 0));
}

it('monitorings begin and end with what the server has accepted, by channel, several at a time, and are one however often they are asked for', () => {
  for (let times = 0; times < 2; times += 1) traffic.subscribe('a', [LEVEL, FLOW, '/chat']);
  expect(traffic.gauges()).toMatchObject({ monitored: 2, subscriptions: 2 });
  expect(traffic.subscriptionsOf('H.Prítok')).toBe(1);
  traffic.unsubscribe('a', FLOW);
  expect(traffic.gauges()).toMatchObject({ monitored: 1, subscriptions: 1 });
  expect(traffic.subscriptionsOf('H.Prítok')).toBe(0);
});

it('monitorings of two channels whose names are shown alike are two of one object, and end one by one', () => {
  const channels = ['/d2/object/H.%1BLevel', '/d2/object/H.%E2%80%AELevel'];
  traffic.subscribe('a', channels);
  const counts = [traffic.subscriptionsOf('H.\ufffdLevel')];
  for (const subscription of channels) {
    traffic.unsubscribe('a', subscription);
    counts.push(traffic.subscriptionsOf('H.\ufffdLevel'));
  }
  expect(counts).toEqual([2, 1, 0]);
});

it('monitorings are none when the server refuses them, by channel or by message', () => {
  const asked = { channel: '/meta/subscribe', id: 's', clientId: 'a', subscription: LEVEL };
  traffic.ask(asked, {}, { successful: false, error: '403::denied' });
  traffic.ask(said('subscribeObject'), {}, { successful: false });
  expect(traffic.gauges()).toMatchObject({ monitored: 0, subscriptions: 0 });
});

it('monitorings begin and end by message, too, and belong to their session', () => {
  traffic.ask(said('subscribeObject'));
  expect(traffic.subscriptionsOf('H.Level')).toBe(1);
  const session = traffic.application().sessions.find(traffic.onlySession().id);
  expect(session?.statistics.object.metrics().counters.get('object.H.Level.subscriptions')?.count).toBe(1);
  traffic.ask(said('unSubscribeObject'));
  expect(traffic.subscriptionsOf('H.Level')).toBe(0);
});

it('monitorings beyond the bound are counted as untracked', () => {
  traffic = new CometTraffic({ comet: { ...testComet, maxSubscriptions: 2 } });
  traffic.handshake('a');
  traffic.subscribe('a', ['/d2/object/O1', '/d2/object/O2', '/d2/object/O3']);
  expect(traffic.gauges()).toMatchObject({ monitored: 2, subscriptions: 2 });
  expect(traffic.numbers.untracked.subscriptions).toBe(1);
});

it('received values are the deliveries, each of them, with and without compression, and no acknowledgement is one', () => {
  const values = [
    { channel: LEVEL, data: 1 },
    { channel: LEVEL, data: 0, id: '77' },
    { channel: SERVICE, data: { objectName: 'H.Level', value: 3 } },
    { channel: '/chat', data: 'none' },
  ];
  traffic.release(traffic.hold('a'), values, { gzip: true });
  traffic.ask({ channel: LEVEL, id: '5', clientId: 'a', data: 4 });
  expect(traffic.counts()).toEqual({ 'object.newValues': 3, 'object.H.Level.newValues': 3 });
  expect(traffic.onlySession().counts).toEqual({ 'object.newValues': 3, 'object.H.Level.newValues': 3 });
});

it('received values come over callback-polling as well', () => {
  const exchange = traffic.begin({ line: `GET ${COMET}/connect?jsonp=cb&message=${CONNECT}` });
  expect(traffic.numbers.holds.now).toBe(1);
  const reply = JSON.stringify([
    { channel: '/meta/connect', id: 'c', successful: true },
    { channel: LEVEL, data: 1 },
  ]);
  traffic.endPost(exchange, { body: `/**/cb(${reply});` });
  expect(traffic.counts()).toEqual({ 'object.newValues': 1, 'object.H.Level.newValues': 1 });
  expect(traffic.numbers.holds).toMatchObject({ now: 0, ended: { delivery: 1 } });
});

it('what is not read is counted by its reason, and what follows on the same connection is read', () => {
  traffic = new CometTraffic({ comet: { ...testComet, maxBodyBytes: 2_000 } });
  traffic.handshake('a');
  traffic.release(traffic.hold('a'), [{ channel: LEVEL, data: 'x'.repeat(3_000) }]);
  traffic.endPost(traffic.hold('a'), { body: 'rubbish' });
  traffic.endPost(traffic.beginPost('rubbish'), { body: '[]' });
  const tunnel = traffic.webSocket();
  tunnel.upstreamBytes(Buffer.from([0x82, 1, 0]));
  tunnel.upstream({ channel: LEVEL, data: 1 });
  traffic.webSocket({}, ['x-webkit-deflate-frame']).upstream({ channel: LEVEL, data: 1 });
  expect(unreadOf(traffic)).toEqual({ 'body-too-large': 1, 'not-bayeux': 2, binary: 1, extension: 1 });
  expect(traffic.counts()).toEqual({ 'object.newValues': 1, 'object.H.Level.newValues': 1 });
});

it('what is not read is everything where comet.enabled is false', () => {
  traffic = new CometTraffic({ comet: { ...testComet, enabled: false } });
  const exchange = traffic.beginPost([{ channel: '/meta/handshake', id: '1' }]);
  expect(exchange).toMatchObject({ requestObserver: undefined, wantsResponse: false });
  traffic.endPost(exchange, { messages: [{ channel: '/meta/handshake', id: '1', clientId: 'a', successful: true }] });
  expect(traffic.sessions()).toEqual([]);
  expect(traffic.recorder.own).toMatchObject({ counts: { unclassified: 1, cometExchanges: 0 } });
});
