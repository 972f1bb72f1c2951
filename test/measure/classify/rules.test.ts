import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/base/errors.ts';
import type { RestRule } from '../../../src/config/config.ts';
import { checkRestRules } from '../../../src/measure/classify/classifier.ts';
import { DEFAULT_REST_RULES } from '../../../src/measure/classify/rules.ts';

const GOOD: RestRule = { methods: ['POST'], path: 'd2/rpc/{event}/{method}', kind: 'rpc', name: '{event}.{method}' };

it('the built-in rules can be used', () => {
  expect(() => checkRestRules(DEFAULT_REST_RULES)).not.toThrow();
});

it('rules without a capture in the name can be used', () => {
  expect(() => checkRestRules([{ ...GOOD, name: 'all' }])).not.toThrow();
});

describe('a rule is refused, by its key, with its value', () => {
  const cases: [string, Partial<RestRule>, string, string][] = [
    ['an unknown capture in the name', { name: '{event}.{function}' }, 'name', '{event}.{function}'],
    ['an unfinished capture in the name', { name: '{event}.{method' }, 'name', '{event}.{method'],
    ['an empty name', { name: '' }, 'name', ''],
    ['a session that is neither login nor logout', { kind: 'session', name: 'refresh' }, 'name', 'refresh'],
    ['a session named by a capture', { kind: 'session', name: '{event}' }, 'name', '{event}'],
    ['a name for what is not counted', { kind: 'none', name: 'x' }, 'name', 'x'],
    ['an unknown kind', { kind: 'soap' as RestRule['kind'] }, 'kind', 'soap'],
    ['no method', { methods: [] }, 'methods', ''],
    ['a method in lower case', { methods: ['post'] }, 'methods', 'post'],
    ['a capture twice', { path: '{event}/{event}' }, 'path', '{event}/{event}'],
    ['a capture within a segment', { path: 'd2/x-{event}/{method}' }, 'path', 'd2/x-{event}/{method}'],
    ['a capture without a name', { path: 'd2/{}/x', name: 'x' }, 'path', 'd2/{}/x'],
    ['a slash at the front', { path: '/d2/{event}/{method}' }, 'path', '/d2/{event}/{method}'],
    ['a slash at the end', { path: 'd2/{event}/{method}/' }, 'path', 'd2/{event}/{method}/'],
    ['an empty path', { path: '', name: 'x' }, 'path', ''],
    ['a dot segment', { path: 'd2/../{event}/{method}' }, 'path', 'd2/../{event}/{method}'],
    ['an escaped dot segment', { path: 'd2/%2e/{event}/{method}' }, 'path', 'd2/%2e/{event}/{method}'],
    ['a query', { path: '{event}/{method}/get?x=1' }, 'path', '{event}/{method}/get?x=1'],
  ];
  for (const [what, change, key, value] of cases) {
    it(what, () => {
      const rules = [GOOD, { ...GOOD, ...change }];
      expect(() => checkRestRules(rules)).toThrow(ConfigError);
      expect(() => checkRestRules(rules)).toThrow(`rest.rules[1].${key}: ${JSON.stringify(value)}`);
    });
  }
});
