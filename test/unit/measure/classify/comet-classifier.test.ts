import { expect, it } from 'vitest';
import type { CometRule, ReplyRule } from '../../../../src/config/rules/comet-rules.ts';
import {
  CometClassifier,
  CometRoutes,
  isFailedReply,
  readReplyId,
} from '../../../../src/measure/classify/comet-classifier.ts';

const byDefault = new CometClassifier({ rules: [], defaultRules: true });

const only = (...rules: CometRule[]): CometClassifier => new CometClassifier({ rules, defaultRules: false });

/** E.g. `object value H.Demo`; undefined without a meaning. */
function classify(classifier: CometClassifier, ...[when, channel, data]: Parameters<CometClassifier['classify']>) {
  const meaning = classifier.classify(when, channel, data);
  return meaning && `${meaning.kind} ${meaning.action} ${meaning.name}`;
}

it.each([
  ['subscribe', '/d2/object/H.Demo', undefined, 'object subscribe H.Demo'],
  ['unsubscribe', '/d2/object/H.Demo', undefined, 'object unsubscribe H.Demo'],
  ['delivery', '/d2/object/H.Demo', { value: 1 }, 'object value H.Demo'],
  ['delivery', '/d2/object/%C4%8Cerpadlo%201', null, 'object value Čerpadlo 1'],
  ['publish', '/service/d2/subscribeObject', { objectName: 'H.Demo' }, 'object subscribe H.Demo'],
  ['publish', '/service/d2/unSubscribeObject', { objectName: 'H.Demo' }, 'object unsubscribe H.Demo'],
  ['delivery', '/service/d2/object', { objectName: 'H.Demo', value: 1 }, 'object value H.Demo'],
  ['publish', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: 'Test' }, 'rpc call E.Demo.Test'],
  ['publish', '/service/d2/rpc', { eventName: 'E', interfaceName: 'I', rpcName: 'Test' }, 'rpc call E.I.Test'],
  ['publish', '/service/d2/rpcSBA', { eventName: 'E.Demo', rpcName: 'Get' }, 'sba call E.Demo.Get'],
  ['publish', '/service/d2/rpc', { eventName: 'E.\u2028', rpcName: 'Te\u0085st' }, 'rpc call E.\ufffd.Te\ufffdst'],
  ['delivery', '/d2/object/H.%1B%E2%80%AEDemo', null, 'object value H.\ufffd\ufffdDemo'],
  ['publish', '/d2/object/H.Demo', { value: 1 }, undefined],
  ['subscribe', '/d2/**', undefined, undefined],
  ['subscribe', '/service/d2/rpc', undefined, undefined],
  ['delivery', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: 'Test' }, undefined],
  ['delivery', '/chat/room', { text: 'x' }, undefined],
  ['publish', '/service/d2/rpc', undefined, undefined],
  ['publish', '/service/d2/rpc', { eventName: 'E.Demo' }, undefined],
  ['publish', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: null }, undefined],
  ['publish', '/service/d2/rpc', { eventName: { a: 1 }, rpcName: ['Test'] }, undefined],
] as const)('the built-in rules classify %s on %s with %j as %s', (when, channel, data, expected) => {
  expect(classify(byDefault, when, channel, data)).toBe(expected);
});

it('the built-in rules omit an optional part that is missing, null, empty or not a text, and accept a number', () => {
  for (const interfaceName of [null, '', {}, [], false]) {
    const data = { eventName: 'E.Demo', interfaceName, rpcName: 'Test' };
    expect(classify(byDefault, 'publish', '/service/d2/rpc', data)).toBe('rpc call E.Demo.Test');
  }
  const data = { eventName: 7, interfaceName: 0, rpcName: 1.5 };
  expect(classify(byDefault, 'publish', '/service/d2/rpc', data)).toBe('rpc call 7.0.1.5');
});

it('rules find no name in properties that every JavaScript object has, and do not match when the name is empty', () => {
  const rule: CometRule = { channel: '/x', kind: 'rpc', name: '{/constructor/name}' };
  for (const data of [[], {}]) expect(only(rule).classify('publish', '/x', data)).toBeUndefined();
  expect(only({ channel: '/x', kind: 'rpc', name: '[{/a}]' }).classify('publish', '/x', {})).toBeUndefined();
});

it('configured rules precede the built-in rules: those of kind none exclude messages from later rules, for all events or for one', () => {
  const none: CometRule = { channel: '/d2/object/secret', kind: 'none', name: '' };
  const forAll = new CometClassifier({ rules: [none], defaultRules: true });
  const forDelivery = new CometClassifier({ rules: [{ ...none, when: 'delivery' }], defaultRules: true });
  expect(classify(forAll, 'delivery', '/d2/object/secret', {})).toBeUndefined();
  expect(classify(forAll, 'subscribe', '/d2/object/secret', {})).toBeUndefined();
  expect(classify(forAll, 'delivery', '/d2/object/a', {})).toBe('object value a');
  expect(classify(forDelivery, 'delivery', '/d2/object/secret', {})).toBeUndefined();
  expect(classify(forDelivery, 'subscribe', '/d2/object/secret', {})).toBe('object subscribe secret');
});

it('configured rules may name calls by the channel alone, or by the channel and data', () => {
  const classifier = only(
    { channel: '/service/call/{event}/{method}', kind: 'rpc', name: '{event}.{method}' },
    { channel: '/service/sba/{event}', kind: 'sba', name: '{event}[:{/a/0}].{/b~1c}' },
  );
  expect(classify(classifier, 'publish', '/service/call/E.Demo/Test', undefined)).toBe('rpc call E.Demo.Test');
  expect(classify(classifier, 'publish', '/service/sba/E', { a: ['x'], 'b/c': 'y' })).toBe('sba call E:x.y');
  expect(classify(classifier, 'publish', '/service/sba/E', { 'b/c': 'y' })).toBe('sba call E.y');
});

it('configured rules that find no name leave the message to the next rule', () => {
  const classifier = only(
    { channel: '/service/call', kind: 'sba', name: '{/sba}' },
    { channel: '/service/call', kind: 'rpc', name: '{/rpc}' },
    { channel: '/service/{any}', kind: 'rpc', name: 'other' },
  );
  expect(classify(classifier, 'publish', '/service/call', { rpc: 'a' })).toBe('rpc call a');
  expect(classify(classifier, 'publish', '/service/call', {})).toBe('rpc call other');
  expect(classify(classifier, 'publish', '/service/call', { sba: 'b', rpc: 'a' })).toBe('sba call b');
});

it('configured rules say how the answer is found, with one object for all calls of a rule', () => {
  const reply = { channel: '/service/answer', id: '/data/requestId', error: '/data/error' };
  const classifier = only({ channel: '/service/{event}', kind: 'rpc', name: '{event}', reply });
  const first = classifier.classify('publish', '/service/a', {})?.reply;
  expect(first).toEqual({ channel: '/service/answer', id: ['data', 'requestId'], error: ['data', 'error'] });
  expect(classifier.classify('publish', '/service/b', {})?.reply).toBe(first);
  const data = { eventName: 'E', rpcName: 'R' };
  const byItsId = { channel: undefined, id: ['id'], error: undefined };
  expect(byDefault.classify('publish', '/service/d2/rpc', data)?.reply).toEqual(byItsId);
});

const match = (channel: string, published: string) => {
  const names = [...channel.matchAll(/\{\w+\}/g)].map(([name]) => name);
  return only({ channel, kind: 'rpc', name: `:${names.join(',')}` }).classify('publish', published, {})?.name;
};

it.each([
  ['/service/d2/rpc', '/service/d2/rpc', ':'],
  ['/service/d2/rpc', '/service/d2/rpcJava', undefined],
  ['/service/d2/rpc', '/service/d2/rpc/', undefined],
  ['/a', '/%61', undefined],
  // All segments after a capture count.
  ['/d2/{name}/value', '/d2/a/value', ':a'],
  ...['/d2/a/values', '/d2/a/valu', '/d2/a', '/d2/a/value/x'].map((other) => ['/d2/{name}/value', other, undefined]),
  // Captures are decoded once and not normalized.
  ['/o/{name}', '/o/%C4%8Cerpadlo%20%2F1', ':Čerpadlo /1'],
  ['/o/{name}', '/o/%2541', ':%41'],
  ...['100%', '%FF', 'Č', 'C\u030c'].map((same) => ['/o/{name}', `/o/${same}`, `:${same}`]),
  // The wildcards of the protocol are literal texts.
  ['/d2/object/{name}', '/d2/object/*', ':*'],
  ['/d2/object/{name}', '/d2/object/**', ':**'],
  ['/d2/object/{name}', '/d2/**', undefined],
  ['/d2/*', '/d2/*', ':'],
  ['/d2/*', '/d2/a', undefined],
  // A capture is exactly one segment.
  ...['', '/', '//', '/a/b', '/a/', '//a', `/a${'/'.repeat(100_000)}`].map((rest) => [
    ...['/d2/object/{name}', `/d2/object${rest}`, undefined],
  ]),
  ...['/d2/objects/a', '//d2/object/a', 'd2/object/a', '/D2/object/a', ''].map((other) => [
    ...['/d2/object/{name}', other, undefined],
  ]),
] as [string, string, string | undefined][])(
  'the pattern %s of a rule, for %s, captures %s',
  (channel, published, name) => {
    expect(match(channel, published)).toBe(name);
  },
);

it('an answer has the id of its call as a text or a number, and means failure without success or with an error that is not empty', () => {
  const rule: ReplyRule = { channel: undefined, id: ['data', 'n'], error: ['data', 'error'] };
  const ids = ['7', 7, {}, undefined].map((n) => readReplyId(rule, { channel: '/a', data: { n } }));
  expect(ids).toEqual(['7', '7', undefined, undefined]);
  const isFailed = (error: unknown) => isFailedReply(rule, { channel: '/a', successful: true, data: { error } });
  expect(['Timeout', 1, 0, true, {}, []].map(isFailed)).not.toContain(false);
  expect([null, false, '', undefined].map(isFailed)).not.toContain(true);
  const withoutError = { ...rule, error: undefined };
  const answers = [true, false].map((successful) => ({ channel: '/a', successful, data: { error: 'Timeout' } }));
  expect(answers.map((answer) => isFailedReply(withoutError, answer))).toEqual([false, true]);
});

const routes = new CometRoutes(['plant', 'plant/north', 'Čistička'], 'api/cometd', 'j_security_check');

const cases: [string, string, string | undefined][] = [
  ['POST', '/plant/api/cometd', 'plant comet'],
  ['POST', '/plant/api/cometd/connect', 'plant comet'],
  ['GET', '/plant/api/cometd?jsonp=cb&message=[]', 'plant comet'],
  ['POST', '/plant//api/./%63ometd/handshake', 'plant comet'],
  ['POST', '/plant/api/cometd;jsessionid=1/connect', 'plant comet'],
  ['POST', '/plant/north/api/cometd', 'plant/north comet'],
  ['POST', '/%C4%8Cisti%C4%8Dka/api/cometd', 'Čistička comet'],
  ['POST', '/plant/api/cometd2', undefined],
  ['POST', '/api/cometd', undefined],
  ['OPTIONS', '*', undefined],
  ['POST', '/plant/j_security_check', 'plant login'],
  ['POST', '/plant/pages/deep/j_security_check;jsessionid=7', 'plant login'],
  ['GET', '/plant/j_security_check', undefined],
  ['POST', '/plant/my_j_security_check', undefined],
  ['POST', '/other/j_security_check', undefined],
];
it.each(cases)('the Comet routes map %s %s to %s', (method, target, expected) => {
  const route = routes.find(method, target);
  expect(route && `${route.application} ${route.kind}`).toBe(expected);
});

it('a context with an escaped slash wins over the shorter one that its text begins with; the root is one as well', () => {
  const routes = new CometRoutes(['a', 'a%2Fb'], 'api/cometd', 'j_security_check');
  expect(routes.find('POST', '/a%2Fb/api/cometd')).toEqual({ application: 'a%2Fb', kind: 'comet' });
  const root = new CometRoutes([''], 'api/cometd', 'auth/login');
  expect(root.find('POST', '/api/cometd/connect')).toEqual({ application: '', kind: 'comet' });
  expect(root.find('POST', '/x/auth/login')).toEqual({ application: '', kind: 'login' });
});
