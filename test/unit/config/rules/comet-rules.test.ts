import { expect, it } from 'vitest';
import { type CometRule, cometRuleSchema, compileCometRule } from '../../../../src/config/rules/comet-rules.ts';
import { RuleMistake } from '../../../../src/config/rules/pattern.ts';
import { DEFAULT_COMET_RULES } from '../../../../src/measure/classify/default-comet-rules.ts';
import { wrongKeys } from './wrong-keys.ts';

const GOOD: CometRule = { channel: '/service/{event}', kind: 'rpc', name: '{event}.{/rpcName}' };
const VALUE: CometRule = { channel: '/o/{name}', kind: 'object', action: 'value', name: '{name}' };
const NONE: CometRule = { channel: '/x', kind: 'none', name: '' };

it('the configuration accepts every built-in rule, and one of kind none without a name', () => {
  for (const rule of DEFAULT_COMET_RULES) expect(cometRuleSchema.parse(rule)).toEqual(rule);
  expect(cometRuleSchema.parse({ channel: '/x', kind: 'none' })).toEqual(NONE);
});

it.each<[string, CometRule]>([
  ['the only action of a kind', { ...GOOD, action: 'call', when: 'publish' }],
  ['a name without captures', { ...GOOD, name: 'all' }],
  ['an optional part of a name', { ...GOOD, name: '{event}[.{/a/b~1c/0}x].{/rpcName}' }],
  ['an empty reply', { ...GOOD, reply: {} }],
  ['a message that subscribes', { ...VALUE, action: 'subscribe', when: 'publish', name: '{/n}' }],
  ['a rule of kind none for one event only', { ...NONE, when: 'delivery' }],
  ['wildcards as literal texts', { ...NONE, channel: '/d2/**' }],
])('the configuration accepts %s', (_, rule) => {
  expect(wrongKeys(cometRuleSchema, rule)).toEqual([]);
});

it.each<[string, object, string]>([
  ['an unknown key', { ...GOOD, path: '/x' }, ''],
  ['a name of more than 256 characters', { ...GOOD, name: 'x'.repeat(257) }, 'name'],
  ['a channel of more than 256 characters', { ...GOOD, channel: `/${'x'.repeat(256)}`, name: 'x' }, 'channel'],
  ['a call that the server begins', { ...GOOD, when: 'delivery' }, 'when'],
  ['a value that a client sends', { ...VALUE, when: 'publish' }, 'when'],
  ['an unsubscription at a subscription', { ...VALUE, action: 'unsubscribe', when: 'subscribe' }, 'when'],
  ['an object without an action', { ...VALUE, action: undefined }, 'action'],
  ['a subscription to an RPC', { ...GOOD, action: 'subscribe' }, 'action'],
  ['a name for kind none', { ...NONE, name: 'x' }, 'name'],
  ['an empty name', { ...GOOD, name: '' }, 'name'],
  ['an unknown capture', { ...GOOD, name: '{method}' }, 'name'],
  ['an open bracket', { ...GOOD, name: '[{/a}' }, 'name'],
  ['brackets in brackets', { ...GOOD, name: '[a[{/a}]]' }, 'name'],
  ['a bad escape in a pointer', { ...GOOD, name: '{/a~2}' }, 'name'],
  ['an optional part without a pointer', { ...GOOD, name: '{event}[x]' }, 'name'],
  ['a pointer into the data of a subscription', { ...VALUE, action: 'subscribe', name: '{/n}' }, 'name'],
  ['a reply for an object', { ...VALUE, reply: {} }, 'reply'],
  ['a capture in the channel of a reply', { ...GOOD, reply: { channel: '/{a}' } }, 'reply.channel'],
  ['a pointer to a field that is not kept', { ...GOOD, reply: { id: '/timestamp' } }, 'reply.id'],
  ['an id that points to all data', { ...GOOD, reply: { id: '/data' } }, 'reply.id'],
  ['an error that points to the success', { ...GOOD, reply: { error: '/successful' } }, 'reply.error'],
])('the configuration refuses %s', (_, rule, key) => {
  expect(wrongKeys(cometRuleSchema, rule)).toEqual([key]);
});

it.each([
  ...['', 'd2/object', '/', '/a/', '/a//b', '/a b', '/a\u0000', '/x{a}', '/{a', '/{}', '/{1a}', '/{a}/{a}'],
  ...['/meta/connect'],
])('the configuration refuses the channel %j', (channel) => {
  expect(wrongKeys(cometRuleSchema, { ...NONE, channel })).toEqual(['channel']);
  expect(() => compileCometRule({ ...NONE, channel })).toThrow(RuleMistake);
});

it('the configuration reports a wrong reply together with a wrong name', () => {
  const rule = { ...GOOD, name: '{x}', reply: { channel: 'x', id: 'x', error: 'x' } };
  expect(wrongKeys(cometRuleSchema, rule).sort()).toEqual(['name', 'reply.channel', 'reply.error', 'reply.id']);
});

it('a compiled rule has all parts of a name, and the defaults of a reply', () => {
  expect(compileCometRule({ ...GOOD, name: '{event}[.{/a~1b}]!' })).toEqual({
    whens: ['publish'],
    pattern: { segments: ['service', null], captures: ['event'] },
    target: { kind: 'rpc', action: 'call' },
    name: [0, { optional: ['.', { pointer: ['a/b'] }] }, '!'],
    reply: { channel: undefined, id: ['id'], error: undefined },
  });
});
