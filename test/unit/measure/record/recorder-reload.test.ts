import { expect, it } from 'vitest';
import { ConfigError } from '../../../../src/base/errors.ts';
import { CometTraffic, rpcCall } from '../../../support/measure/comet/comet-traffic.ts';
import { BASE, METRICS, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
import { testComet, testSessions } from '../../../support/wire/test-config.ts';

const rest = (path: string, name: string) => ({
  ...{ prefix: 'api/rest/v0', defaultRules: true },
  rules: [{ methods: ['POST'], path, kind: 'rpc' as const, name }],
});

it('after a reload, a recorder classifies by the new rules, also paths that it remembers; what has been counted stays', () => {
  const traffic = new Traffic();
  traffic.send({ line: RPC, user: 'ann' });
  const running = traffic.begin({ line: RPC, user: 'ann' });
  traffic.reload({ rest: rest('d2/rpc/{event}/{method}', 'Own.{method}') });
  traffic.end(running);
  traffic.send({ line: RPC, user: 'ann' });
  expect(traffic.counts()).toEqual({ rpc: 3, 'rpc.E.Demo.TestInOut': 2, 'rpc.Own.TestInOut': 1 });
  expect(traffic.onlySession().counts).toEqual({ rpc: 3, 'rpc.E.Demo.TestInOut': 2, 'rpc.Own.TestInOut': 1 });
});

it('after a reload, a recorder changes nothing where a rule cannot be used', () => {
  const traffic = new Traffic();
  const change = { sessions: { ...testSessions, max: 1 }, rest: rest('{a}', '{b}') };
  expect(() => traffic.reload(change)).toThrow(ConfigError);
  for (const user of ['ann', 'bob']) traffic.send({ line: RPC, user });
  expect(traffic.counts()).toEqual({ rpc: 2, 'rpc.E.Demo.TestInOut': 2 });
  expect(traffic.sessions()).toHaveLength(2);
});

it('after a reload, a recorder keeps the names that there are above a lower bound, and takes more below a higher one', () => {
  const traffic = new Traffic();
  const call = (name: string) => traffic.send({ line: `POST ${BASE}/d2/rpc/E/${name}` });
  for (const name of ['A', 'B', 'C']) call(name);
  traffic.reload({ metrics: { ...METRICS, maxNames: { ...METRICS.maxNames, rpc: 2 } } });
  for (const name of ['A', 'C', 'D']) call(name);
  expect(traffic.counts()).toEqual({ rpc: 6, 'rpc.E.A': 2, 'rpc.E.B': 1, 'rpc.E.C': 2, 'rpc.(other)': 1 });
  traffic.reload({ metrics: { ...METRICS, maxNames: { ...METRICS.maxNames, rpc: 4 } } });
  call('E');
  expect(traffic.counts()['rpc.E.E']).toBe(1);
});

it('after a reload, a recorder ends sessions by the new times, keeps more than the new number, and begins no further one', () => {
  const traffic = new Traffic();
  for (const user of ['ann', 'bob', 'cy']) traffic.send({ line: RPC, user });
  traffic.reload({ sessions: { ...testSessions, max: 2 } });
  expect(traffic.sessions()).toHaveLength(3);
  traffic.send({ line: RPC, user: 'dan' });
  expect(traffic.sessions().map(({ userName }) => userName)).toEqual(['ann', 'bob', 'cy']);
  traffic.clock.advanceMs(60_000);
  traffic.send({ line: RPC, user: 'ann' });
  traffic.reload({ sessions: { ...testSessions, idleMs: 30_000 } });
  expect(traffic.sessions().map(({ userName }) => userName)).toEqual(['ann']);
});

it('after a reload, a recorder names the users of other keys; a session that is there keeps its name', () => {
  const traffic = new Traffic();
  traffic.send({ line: RPC, apiKey: 'key-1' });
  const apiKeys = [
    { user: 'somebody', key: 'key-1' },
    { user: 'robot', key: 'key-2' },
  ];
  traffic.reload({ sessions: { ...testSessions, apiKeys } });
  for (const apiKey of ['key-1', 'key-2']) traffic.send({ line: RPC, apiKey });
  expect(traffic.users()).toEqual(['historian 2', 'robot 1']);
});

const OWN = { channel: '/plant/{name}', kind: 'object' as const, action: 'value' as const, name: 'P.{name}' };
const value = (channel: string) => ({ channel, data: { v: 1 } });

it('after a reload, Comet traffic is read by the new rules on a WebSocket that is open, and monitorings stay', () => {
  const traffic = new CometTraffic();
  const tunnel = traffic.webSocket({ cookie: 'a' });
  tunnel.handshake('c1');
  tunnel.subscribe('c1', '/d2/object/H.Level');
  tunnel.upstream(value('/plant/a'), value('/d2/object/H.Level'));
  traffic.reload({ comet: { ...testComet, rules: [OWN], defaultRules: false } });
  tunnel.upstream(value('/plant/a'), value('/d2/object/H.Level'));
  expect(traffic.counts()).toEqual({ 'object.newValues': 2, 'object.H.Level.newValues': 1, 'object.P.a.newValues': 1 });
  expect(traffic.gauges()).toEqual({ active: 1, monitored: 1, subscriptions: 1 });
});

it('after a reload, Comet traffic has its new bounds and times', () => {
  const traffic = new CometTraffic();
  traffic.handshake('c1');
  traffic.reload({ comet: { ...testComet, maxSubscriptions: 1 } });
  traffic.subscribe('c1', ['/d2/object/A', '/d2/object/B']);
  expect(traffic.gauges().subscriptions).toBe(1);
  expect(traffic.numbers.untracked.subscriptions).toBe(1);
  traffic.release(traffic.hold('c1'));
  traffic.reload({ sessions: { ...testSessions, cometGoneMs: 5_000 } });
  traffic.sweepAfter(6_000);
  expect(traffic.gauges()).toEqual({ active: 0, monitored: 0, subscriptions: 0 });
  const tunnel = traffic.webSocket();
  tunnel.handshake('c2');
  tunnel.client(rpcCall('1', 'c2'));
  traffic.reload({ comet: { ...testComet, callTimeoutMs: 1_000 } });
  traffic.sweepAfter(1_000);
  expect(traffic.numbers.counts.timedOut).toBe(1);
});

it('after a reload, Comet traffic is found at its new path, and login forms at theirs', () => {
  const traffic = new CometTraffic();
  const formLogin = { path: 'login', userField: 'name' };
  traffic.reload({ comet: { ...testComet, path: 'bayeux' }, sessions: { ...testSessions, formLogin } });
  const exchange = traffic.beginPost('name=ann&password=x', {}, '/smartWeb/login');
  traffic.endPost(exchange, { status: 303, body: '', setCookie: 'k' });
  expect(traffic.sessions().map(({ userName }) => userName)).toEqual(['ann']);
  const handshake = [{ channel: '/meta/handshake', id: '1', supportedConnectionTypes: ['long-polling'] }];
  const reply = [{ channel: '/meta/handshake', id: '1', clientId: 'c1', successful: true }];
  traffic.endPost(traffic.beginPost(handshake, {}, '/smartWeb/bayeux'), { messages: reply });
  expect(traffic.numbers.counts.accepted).toBe(1);
});
