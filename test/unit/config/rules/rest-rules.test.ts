import { expect, it } from 'vitest';
import { compileRestRule, type RestRule, restRuleSchema } from '../../../../src/config/rules/rest-rules.ts';
import { DEFAULT_REST_RULES } from '../../../../src/measure/classify/default-rest-rules.ts';
import { wrongKeys } from './wrong-keys.ts';

const GOOD: RestRule = { methods: ['POST'], path: 'd2/rpc/{event}/{method}', kind: 'rpc', name: '{event}.{method}' };

it('the configuration accepts every built-in rule, and removes the slash at the end of a path, but not one at its beginning', () => {
  for (const rule of DEFAULT_REST_RULES) expect(restRuleSchema.parse(rule)).toEqual(rule);
  expect(restRuleSchema.parse({ ...GOOD, path: '/d2/{event}/{method}/' }).path).toBe('/d2/{event}/{method}');
  expect(restRuleSchema.parse({ ...GOOD, path: 'd2/{event}/{method}/' }).path).toBe('d2/{event}/{method}');
});

it.each<[string, Partial<RestRule>]>([
  ['a rule of kind none without a name', { kind: 'none', name: '' }],
  ['an escaped text in a path', { path: 'd2/%20x/{event}/{method}' }],
])('the configuration accepts %s', (_, change) => {
  expect(wrongKeys(restRuleSchema, { ...GOOD, ...change })).toEqual([]);
});

it.each<[string, object, string]>([
  ['an unknown capture in a name', { name: '{event}.{function}' }, 'name'],
  ['an empty name', { name: '' }, 'name'],
  ['a session that is neither login nor logout', { kind: 'session', name: 'refresh' }, 'name'],
  ['a lower-case method', { methods: ['post'] }, 'methods.0'],
  ['the same capture twice', { path: '{event}/{event}' }, 'path'],
  ['a capture inside a segment', { path: 'd2/x-{event}/{method}' }, 'path'],
  ['a dot segment', { path: 'd2/../{event}/{method}' }, 'path'],
  ['a query', { path: '{event}/{method}/get?x=1' }, 'path'],
])('the configuration refuses %s', (_, change, key) => {
  expect(wrongKeys(restRuleSchema, { ...GOOD, ...change })).toEqual([key]);
});

it('a compiled rule compares decoded texts and inserts captures into the name', () => {
  expect(compileRestRule({ ...GOOD, path: 'd2/a%20b/{event}/{method}', name: 'x:{method}.{event}' })).toEqual({
    methods: ['POST'],
    isBelowPrefix: true,
    kind: 'rpc',
    pattern: { segments: ['d2', 'a b', null, null], captures: ['event', 'method'] },
    name: ['x:', 1, '.', 0],
  });
});
