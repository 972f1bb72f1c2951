import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/base/errors.ts';
import { cometRuleSchema } from '../../../src/config/comet-rules.ts';
import type { CometRule } from '../../../src/config/config.ts';
import { checkCometRules } from '../../../src/measure/classify/comet-classifier.ts';
import { DEFAULT_COMET_RULES } from '../../../src/measure/classify/comet-rules.ts';
import { Random } from '../../fuzz/random.ts';

const GOOD: CometRule = { channel: '/service/{event}', kind: 'rpc', name: '{event}.{/rpcName}' };
const VALUE: CometRule = { channel: '/o/{name}', kind: 'object', action: 'value', name: '{name}' };
const NONE: CometRule = { channel: '/x', kind: 'none', name: '' };

it('the built-in rules can be used, and could be written in a file', () => {
  expect(() => checkCometRules(DEFAULT_COMET_RULES)).not.toThrow();
  for (const rule of DEFAULT_COMET_RULES) expect(cometRuleSchema.parse(rule)).toEqual(rule);
});

describe('a rule can be used', () => {
  const cases: [string, CometRule][] = [
    ['with the action that its kind has anyway', { ...GOOD, action: 'call', when: 'publish' }],
    ['with a name that is always the same', { ...GOOD, name: 'all' }],
    ['with an optional part', { ...GOOD, name: '{event}[.{/a/b~1c/0}x].{/rpcName}' }],
    ['with all of a reply', { ...GOOD, reply: { channel: '/answer', id: '/data/id', error: '/data' } }],
    ['with nothing in its reply', { ...GOOD, reply: {} }],
    ['that subscribes by a message', { ...VALUE, action: 'subscribe', when: 'publish', name: '{/n}' }],
    ['that counts nothing, at one time only', { ...NONE, when: 'delivery' }],
    ['with wild cards as texts', { ...NONE, channel: '/d2/**' }],
  ];
  it.each(cases)('%s', (_, rule) => {
    expect(() => checkCometRules([rule])).not.toThrow();
    expect(cometRuleSchema.safeParse(rule).success).toBe(true);
  });
});

describe('a rule is refused, by its key, with its value', () => {
  const cases: [string, CometRule, string, string][] = [
    ['a channel without a slash', { ...GOOD, channel: 'service/{event}' }, 'channel', 'service/{event}'],
    ['a slash at the end', { ...NONE, channel: '/x/' }, 'channel', '/x/'],
    ['a capture twice', { ...GOOD, channel: '/{event}/{event}' }, 'channel', '/{event}/{event}'],
    ['a capture within a segment', { ...GOOD, channel: '/x-{event}' }, 'channel', '/x-{event}'],
    ['a channel of the protocol', { ...NONE, channel: '/meta/connect' }, 'channel', '/meta/connect'],
    ['an unknown kind', { ...GOOD, kind: 'soap' as CometRule['kind'] }, 'kind', 'soap'],
    ['an unknown time', { ...GOOD, when: 'always' as NonNullable<CometRule['when']> }, 'when', 'always'],
    ['a call that the server begins', { ...GOOD, when: 'delivery' }, 'when', 'delivery'],
    ['a value that a client sends', { ...VALUE, when: 'publish' }, 'when', 'publish'],
    ['an end at a beginning', { ...VALUE, action: 'unsubscribe', when: 'subscribe' }, 'when', 'subscribe'],
    ['an object without an action', { ...VALUE, action: undefined }, 'action', ''],
    ['an object that is called', { ...VALUE, action: 'call' }, 'action', 'call'],
    ['a call that is subscribed', { ...GOOD, action: 'subscribe' }, 'action', 'subscribe'],
    ['an action without a kind', { ...NONE, action: 'value' }, 'action', 'value'],
    ['a name for what is not counted', { ...NONE, name: 'x' }, 'name', 'x'],
    ['an empty name', { ...GOOD, name: '' }, 'name', ''],
    ['an unknown capture', { ...GOOD, name: '{method}' }, 'name', '{method}'],
    ['an empty capture', { ...GOOD, name: '{}' }, 'name', '{}'],
    ['an open brace', { ...GOOD, name: '{event' }, 'name', '{event'],
    ['an open bracket', { ...GOOD, name: '[{/a}' }, 'name', '[{/a}'],
    ['brackets in brackets', { ...GOOD, name: '[a[{/a}]]' }, 'name', '[a[{/a}]]'],
    ['brackets in braces', { ...GOOD, name: '{/a[0]}' }, 'name', '{/a[0]}'],
    ['a bad escape in a pointer', { ...GOOD, name: '{/a~2}' }, 'name', '{/a~2}'],
    ['an optional part that is always there', { ...GOOD, name: '{event}[x]' }, 'name', '{event}[x]'],
    ['data of a subscription', { ...VALUE, action: 'subscribe', name: '{/n}' }, 'name', '{/n}'],
    ['a reply of no call', { ...VALUE, reply: {} }, 'reply', ''],
    ['a reply of nothing', { ...NONE, reply: {} }, 'reply', ''],
    ['a capture in a reply’s channel', { ...GOOD, reply: { channel: '/{a}' } }, 'reply.channel', '/{a}'],
    ['no pointer for a reply’s id', { ...GOOD, reply: { id: 'id' } }, 'reply.id', 'id'],
    ['a pointer to what is not kept of a message', { ...GOOD, reply: { id: '/timestamp' } }, 'reply.id', '/timestamp'],
    ['a pointer to all of data for an id', { ...GOOD, reply: { id: '/data' } }, 'reply.id', '/data'],
    [
      'a pointer to the success for an error',
      { ...GOOD, reply: { error: '/successful' } },
      'reply.error',
      '/successful',
    ],
  ];
  it.each(cases)('%s', (_, rule, key, value) => {
    expect(() => checkCometRules([GOOD, rule])).toThrow(ConfigError);
    expect(() => checkCometRules([GOOD, rule])).toThrow(
      `comet.rules[1].${key}: ${JSON.stringify(value)} cannot be used`,
    );
    const result = cometRuleSchema.safeParse(rule);
    expect(result.error?.issues.map(({ path }) => path.join('.'))).toEqual([key]);
  });
});

describe('the schema of a rule', () => {
  it('knows no other keys, and no long ones', () => {
    expect(cometRuleSchema.safeParse({ ...GOOD, path: '/x' }).success).toBe(false);
    expect(cometRuleSchema.safeParse({ ...GOOD, name: 'x'.repeat(257) }).success).toBe(false);
    expect(cometRuleSchema.safeParse({ ...GOOD, channel: `/${'x'.repeat(256)}` }).success).toBe(false);
    expect(cometRuleSchema.safeParse({ channel: '/x', kind: 'none' }).data).toEqual({ ...NONE });
  });

  it('and the classifier agree about rules of all sorts', () => {
    const random = new Random(20_270);
    const channels = '/{event} /{name}/{event} /a /a/{a} /{a}/{a} /meta/x a /* /{a /a} /['.split(' ');
    const pieces = 'x {a} {event} {name} {/p} {/p/0} {p} {/~} { } [ ] [{/q}] [{event}] [.{/q}{name}]'.split(' ');
    const pointers = [undefined, '/id', '/data', '/data/x', '/error', '/ext/a', 'id', '/~3', '/x', ''];
    const cases = 5_000;
    let accepted = 0;
    for (let i = 0; i < cases; i += 1) {
      const rule: CometRule = {
        ...random.pick([GOOD, VALUE, NONE, { ...VALUE, action: 'subscribe' }]),
        ...(random.chance(0.2) && { channel: random.pick(channels) }),
        ...(random.chance(0.2) && { kind: random.pick(['rpc', 'sba', 'object', 'none'] as const) }),
        ...(random.chance(0.3) && { when: random.pick(['subscribe', 'unsubscribe', 'publish', 'delivery'] as const) }),
        ...(random.chance(0.2) && { action: random.pick(['call', 'subscribe', 'unsubscribe', 'value'] as const) }),
        ...(random.chance(0.4) && {
          name: Array.from({ length: random.below(4) }, () => random.pick(pieces)).join(''),
        }),
        ...(random.chance(0.2) && {
          reply: {
            channel: random.pick([undefined, ...channels]),
            id: random.pick(pointers),
            error: random.pick(pointers),
          },
        }),
      };
      const { success } = cometRuleSchema.safeParse(rule);
      let isCompiled = true;
      try {
        checkCometRules([rule]);
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        isCompiled = false;
      }
      expect(success, JSON.stringify(rule)).toBe(isCompiled);
      accepted += success ? 1 : 0;
    }
    // Both ways have to be met often for this to mean something.
    expect(accepted / cases).toBeGreaterThan(0.1);
    expect(accepted / cases).toBeLessThan(0.9);
  });
});
