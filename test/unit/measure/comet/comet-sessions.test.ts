import { beforeEach, expect, it, vi } from 'vitest';
import { CANCELLED } from '../../../../src/proxy/exchange/exchange.ts';
import { CometTraffic, GONE_MS, IDLE_MS } from '../../../support/measure/comet/comet-traffic.ts';
import { LOGOUT } from '../../../support/measure/record/traffic.ts';
import { testSessions } from '../../../support/wire/test-config.ts';

let traffic: CometTraffic;
beforeEach(() => {
  traffic = new CometTraffic();
});

const OBJECT = '/d2/object/H.Level';
const PUBLISH = { channel: '/chat', id: 'p' };
const NOTHING = { active: 0, monitored: 0, subscriptions: 0 };
const ACK = { channel: '/chat', id: 'p', successful: true };

it('a session begins with the first successful handshake, which is its creation', () => {
  traffic.handshake('a', { from: '10.0.0.9' });
  const shown = { userName: null, connectionType: 'COMET_LONG_POLLING', remoteAddress: '10.0.0.9', requests: 0 };
  expect(traffic.sessions()).toMatchObject([shown]);
  const created = traffic.application().sessions.metrics().timers.get('sessions.created');
  expect(created?.snapshot()).toMatchObject({ count: 1, max: 3_000_000 });
});

it('a session begins with an accepted form login, whose name it bears, and not again with the handshake on its cookie, but with another user', () => {
  traffic.login('Žofia', {}, { setCookie: 'one' });
  traffic.handshake('a', { cookie: 'one' });
  traffic.login('Žofia', { cookie: 'one' });
  expect(traffic.sessions()).toMatchObject([{ userName: 'Žofia', connectionType: 'COMET_LONG_POLLING' }]);
  expect(traffic.created).toBe(1);
  traffic.login('boris', { cookie: 'one' });
  expect(traffic.sessions()).toMatchObject([{ userName: 'boris' }]);
  expect(traffic.created).toBe(2);
});

it('a session does not begin with a refused login, one that leaves no cookie to know it by, or a refused handshake', () => {
  traffic.login('anna', { cookie: 'one' }, { status: 401 });
  traffic.login('anna');
  const asked = { channel: '/meta/handshake', id: '1' };
  traffic.post([asked], [{ channel: '/meta/handshake', id: '1', successful: false, error: '403::denied' }]);
  expect(traffic.sessions()).toEqual([]);
  expect(traffic.numbers.counts).toMatchObject({ accepted: 0, refused: 1, storms: 0 });
});

it('client activity is what the client asks for, and neither heartbeats nor what the server pushes', () => {
  traffic.handshake('a', { cookie: 'one' });
  traffic.subscribe('a', OBJECT, { cookie: 'one' });
  const { lastActivityTime } = traffic.onlySession();
  traffic.clock.advanceMs(60_000);
  traffic.release(traffic.hold('a', { cookie: 'one' }), [{ channel: OBJECT, data: 1 }]);
  expect(traffic.onlySession().lastActivityTime).toBe(lastActivityTime);
  traffic.post([{ ...PUBLISH, clientId: 'a' }], [ACK], { cookie: 'one' });
  expect(traffic.onlySession().lastActivityTime).not.toBe(lastActivityTime);
});

it('client activity that is missing for long ends the session, with its monitorings, although its connection is held', () => {
  traffic.handshake('a');
  traffic.subscribe('a', OBJECT);
  const held = traffic.hold('a');
  traffic.sweepAfter(IDLE_MS);
  expect(traffic.gauges()).toEqual(NOTHING);
  traffic.release(held);
  expect(traffic.sessions()).toEqual([]);
  traffic.post([{ ...PUBLISH, clientId: 'a' }], [ACK]);
  expect(traffic.sessions()).toHaveLength(1);
});

it('a session ends at the logout, however many tabs there are', () => {
  traffic.login('anna', { cookie: 'one' });
  for (const tab of ['a', 'b']) {
    traffic.handshake(tab, { cookie: 'one' });
    traffic.subscribe(tab, OBJECT, { cookie: 'one' });
  }
  const held = traffic.hold('a', { cookie: 'one' });
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 2 });
  traffic.send({ line: LOGOUT, fields: { cookie: 'JSESSIONID=one' } });
  expect(traffic.gauges()).toEqual(NOTHING);
  // The server lets go of the connect, which says nothing of a client that was there before the sidecar.
  traffic.release(held, [], { afterMs: 10 });
  expect(traffic.sessions()).toEqual([]);
  expect(traffic.numbers.counts.adopted).toBe(0);
});

it('a session ends some time after the last /meta/disconnect on its cookie, unless a client is back', () => {
  traffic.handshake('a', { cookie: 'one' });
  traffic.handshake('b', { cookie: 'one' });
  const held = traffic.hold('b', { cookie: 'one' });
  traffic.subscribe('a', OBJECT, { cookie: 'one' });
  traffic.disconnect('a', { cookie: 'one' });
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 0, subscriptions: 0 });
  traffic.release(held);
  traffic.disconnect('b', { cookie: 'one' });
  traffic.clock.advanceMs(GONE_MS - 1);
  expect(traffic.sessions()).toHaveLength(1);
  traffic.handshake('c', { cookie: 'one' });
  const again = traffic.hold('c', { cookie: 'one' });
  traffic.sweepAfter(GONE_MS * 2);
  expect(traffic.sessions()).toHaveLength(1);
  traffic.release(again);
  traffic.disconnect('c', { cookie: 'one' });
  traffic.clock.advanceMs(GONE_MS);
  expect(traffic.sessions()).toEqual([]);
});

it.each([
  ['with', { cookie: 'one' }],
  ['without', {}],
])('a session ends some time after its last WebSocket %s a cookie was closed without a word', (_how, sender) => {
  const tunnel = traffic.webSocket(sender);
  tunnel.handshake('a');
  tunnel.subscribe('a', OBJECT);
  traffic.sweepAfter(GONE_MS * 2);
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 1 });
  tunnel.close();
  traffic.sweepAfter(GONE_MS - 1);
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 1 });
  traffic.sweepAfter(1);
  expect(traffic.gauges()).toEqual(NOTHING);
});

it('a session does not end when its client goes on over WebSocket after long-polling: it is one session with all its counts', () => {
  traffic.handshake('a');
  traffic.subscribe('a', OBJECT);
  const tunnel = traffic.webSocket();
  tunnel.client({ channel: '/meta/connect', id: '3', clientId: 'a', connectionType: 'websocket' });
  tunnel.upstream({ channel: '/meta/connect', id: '3', successful: true }, { channel: OBJECT, data: 1 });
  traffic.sweepAfter(GONE_MS * 2);
  const { connectionType, counts } = traffic.onlySession();
  expect([connectionType, counts['object.newValues']]).toEqual(['COMET_WEBSOCKET', 1]);
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 1 });
});

it('a session ends when the server says 402 to its only client', () => {
  traffic.handshake('a');
  traffic.subscribe('a', OBJECT);
  const unknown = { channel: '/meta/connect', id: 'c', successful: false, error: '402::session_unknown' };
  traffic.endPost(traffic.hold('a'), { messages: [unknown] });
  expect(traffic.gauges()).toEqual(NOTHING);
  expect(traffic.numbers.counts.unknownClients).toBe(1);
});

it('a client that was there before the sidecar is shown with its first answered heartbeat, and not counted as created', () => {
  traffic.release(traffic.hold('a', { cookie: 'one' }));
  expect(traffic.sessions()).toMatchObject([{ userName: null, connectionType: 'COMET_LONG_POLLING' }]);
  expect(traffic.created).toBe(0);
  expect(traffic.numbers.counts.adopted).toBe(1);
  traffic.subscribe('a', OBJECT, { cookie: 'one' });
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 1 });
});

it.each(['known', 'there before'])('the first client of a request, %s, brings no others that it names', (which) => {
  if (which === 'known') traffic.handshake('a', { cookie: 'one' });
  const named = ['a', 'invented-1', 'invented-2'];
  const asked = named.flatMap((clientId, n) => [
    { channel: '/meta/subscribe', id: `s${n}`, clientId, subscription: `${OBJECT}.${n}` },
    { channel: '/chat', id: `p${n}`, clientId, data: {} },
    { channel: '/meta/connect', id: `c${n}`, clientId },
  ]);
  // The server takes the first for all of them, and its answers name none.
  const replies = asked.map(({ channel, id }) => ({ channel, id, successful: true }));
  traffic.post(asked, replies, { cookie: 'one' });
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 1 });
  expect(traffic.numbers.counts.adopted).toBe(which === 'known' ? 0 : 1);
});

it.each([{ cookie: 'one' }, {}])('many clients of one login cost one walk over them for each sweep: %j', (sender) => {
  const CLIENTS = 2_000;
  const walks = vi.spyOn(Set.prototype, Symbol.iterator);
  const count = () => walks.mock.contexts.filter((set) => (set as Set<unknown>).size > CLIENTS / 4).length;
  const each = Array.from({ length: CLIENTS }, (_, n) => `c${n}`);
  const held = each.map((clientId) => {
    traffic.handshake(clientId, sender);
    return traffic.hold(clientId, sender);
  });
  traffic.sweepAfter(1);
  for (const exchange of held) traffic.endPost(exchange, { ending: CANCELLED });
  traffic.sweepAfter(1);
  expect(count()).toBeLessThanOrEqual(2);
  traffic.sweepAfter(GONE_MS);
  expect(count()).toBeLessThanOrEqual(3);
  walks.mockRestore();
  expect(traffic.gauges()).toEqual(NOTHING);
  expect(traffic.sessions()).toEqual([]);
});

it('more clients than there may be are counted, and their monitorings are not', () => {
  traffic = new CometTraffic({ sessions: { ...testSessions, max: 1 } });
  for (let i = 0; i < 6; i += 1) {
    traffic.handshake(`c${i}`);
    traffic.subscribe(`c${i}`, OBJECT);
  }
  expect(traffic.gauges()).toMatchObject({ active: 1, monitored: 1, subscriptions: 4 });
  expect(traffic.numbers.untracked.clients).toBeGreaterThan(0);
});

it('a session ends at once with /meta/disconnect where no cookie ties it to more', () => {
  traffic.handshake('a');
  traffic.subscribe('a', OBJECT);
  traffic.disconnect('a');
  expect(traffic.gauges()).toEqual(NOTHING);
});

it('a session does not end when its client comes back over another WebSocket', () => {
  const first = traffic.webSocket();
  first.handshake('a');
  first.close();
  traffic.clock.advanceMs(GONE_MS - 1);
  const second = traffic.webSocket();
  second.client({ channel: '/meta/connect', id: '3', clientId: 'a', connectionType: 'websocket' });
  traffic.sweepAfter(GONE_MS * 2);
  expect(traffic.sessions()).toHaveLength(1);
});
