/** The readers of paths and configurations of other monitoring tools, which other tests read documents with. */
import { expect, it } from 'vitest';
import { byGjson, byJsonPath } from '../../support/consumers/paths.ts';
import { parseTelegrafConfiguration } from '../../support/consumers/telegraf-configuration.ts';

const DOCUMENT = { a: { 'b.c': { d: 1 }, b: { c: { d: 2 } }, "e'f": 3, 'g"h': 4 } };

it.each([
  ['a.b.c.d', 2],
  ['a.b\\.c.d', 1],
  ['a.b.c.x', undefined],
  ['a.b.c.d.toString', undefined],
])('a GJSON path selects a value: %s', (path, expected) => {
  expect(byGjson(DOCUMENT, path)).toBe(expected);
});

it.each([
  ['$.a.b.c.d', 2],
  [`$.a['b.c'].d`, 1],
  [`$.a.["b.c"].d`, 1],
  [`$['a']['e\\'f']`, 3],
  [`$.a["g\\"h"]`, 4],
  ['$.a.x', undefined],
])('a JSONPath selects a value: %s', (path, expected) => {
  expect(byJsonPath(DOCUMENT, path)).toBe(expected);
});

it('a path that has more than names, or a malformed configuration, is refused', () => {
  expect(() => byGjson(DOCUMENT, 'a.*')).toThrow('more than names');
  for (const path of ['$..a', '$.a[0]', 'a', '$.a-b']) expect(() => byJsonPath(DOCUMENT, path)).toThrow();
  for (const text of ['x', '[a]', 'x = 1\nx = 2', 'x = y']) expect(() => parseTelegrafConfiguration(text)).toThrow();
});

it('a table of a Telegraf configuration is nested in the newest element of its parent', () => {
  const text = `[[a.b]]\nx = 'c\\.d'\n[[a.b.c]]\ny = 1\n[[a.b.c]]\ny = 2\n# no\n[[a.b]]\nx = ["e"]\nz = true`;
  const first = { x: 'c\\.d', c: [{ y: 1 }, { y: 2 }] };
  expect(parseTelegrafConfiguration(text)).toEqual({ a: [{ b: [first, { x: ['e'], z: true }] }] });
});
