import { expect, it } from 'vitest';
import { MAX_POINTER_TOKENS, parsePointer, resolvePointer } from '../../../../src/config/rules/json-pointer.ts';

/** The document and the answers of RFC 6901 §5, without the pointer to the whole. */
const DOCUMENT = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  '~1': 2,
  'm~n': 8,
};

const find = (value: unknown, text: string) => {
  const pointer = parsePointer(text);
  if (pointer === undefined) throw new Error(`no pointer: ${text}`);
  return resolvePointer(value, pointer);
};

const toNothing = (text: string): [string, undefined] => [text, undefined];

it.each<[string, unknown]>([
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/~01', 2],
  ['/m~0n', 8],
  ...['/bar', '/foo/2', '/foo/-', '/foo/00', '/foo/+0', '/foo/length', '/foo/0/0', '/a~1b/x'].map(toNothing),
])('a JSON pointer %s finds what RFC 6901 says', (text, value) => {
  expect(find(DOCUMENT, text)).toEqual(value);
});

it('a JSON pointer finds only properties of the JSON value', () => {
  for (const text of ['/constructor', '/__proto__', '/toString', '/constructor/name', '/__proto__/constructor']) {
    expect(find(JSON.parse('{"a":[]}'), text), text).toBeUndefined();
    for (const value of [[], 'text', undefined, null]) expect(find(value, text), text).toBeUndefined();
  }
  expect(find(JSON.parse('{"__proto__":{"a":1}}'), '/__proto__/a')).toBe(1);
});

it.each(['', 'a', 'a/b', '/~', '/~2', '/a~', '#/a'])('a JSON pointer does not accept %j', (text) => {
  expect(parsePointer(text)).toBeUndefined();
});

it('a JSON pointer has at most 32 tokens', () => {
  expect(parsePointer('/a'.repeat(MAX_POINTER_TOKENS))).toHaveLength(MAX_POINTER_TOKENS);
  expect(parsePointer('/a'.repeat(MAX_POINTER_TOKENS + 1))).toBeUndefined();
});
