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
  ['an optional part of a name', { ...GOOD, name: '{event}[.{/a/b~1c/0}x].{/rpcName}' }],
  ['wildcards as literal texts', { ...NONE, channel: '/d2/**' }],
])('the configuration accepts %s', (_, rule) => {
  expect(wrongKeys(cometRuleSchema, rule)).toEqual([]);
});

it.each<[string, object, string]>([
  ['an unknown key', { ...GOOD, path: '/x' }, ''],
  ['a name of more than 256 characters', { ...GOOD, name: 'x'.repeat(257) }, 'name'],
  ['a call that the server begins', { ...GOOD, when: 'delivery' }, 'when'],
  ['a value that a client sends', { ...VALUE, when: 'publish' }, 'when'],
  ['an object without an action', { ...VALUE, action: undefined }, 'action'],
  ['a subscription to an RPC', { ...GOOD, action: 'subscribe' }, 'action'],
  ['a name for kind none', { ...NONE, name: 'x' }, 'name'],
  ['an empty name', { ...GOOD, name: '' }, 'name'],
  ['an unknown capture', { ...GOOD, name: '{method}' }, 'name'],
  ['an optional part without a pointer', { ...GOOD, name: '{event}[x]' }, 'name'],
  ['a pointer into the data of a subscription', { ...VALUE, action: 'subscribe', name: '{/n}' }, 'name'],
  ['a reply for an object', { ...VALUE, reply: {} }, 'reply'],
  ['a capture in the channel of a reply', { ...GOOD, reply: { channel: '/{a}' } }, 'reply.channel'],
  ['a pointer to a field that is not kept', { ...GOOD, reply: { id: '/timestamp' } }, 'reply.id'],
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

it('a compiled rule has all parts of a name, and the defaults of a reply', () => {
  expect(compileCometRule({ ...GOOD, name: '{event}[.{/a~1b}]!' })).toEqual({
    whens: ['publish'],
    pattern: { segments: ['service', null], captures: ['event'] },
    target: { kind: 'rpc', action: 'call' },
    name: [0, { optional: ['.', { pointer: ['a/b'] }] }, '!'],
    reply: { channel: undefined, id: ['id'], error: undefined },
  });
});
