import { describe, expect, it } from 'vitest';
import { byGjson, byJsonPath } from '../../support/consumers/paths.ts';
import { parseTelegrafConfiguration } from '../../support/consumers/telegraf-configuration.ts';

const DOCUMENT = { a: { 'b.c': { d: 1 }, b: { c: { d: 2 } }, "e'f": 3, 'g"h': 4 } };

describe('a GJSON path', () => {
  it.each([
    ['a.b.c.d', 2],
    ['a.b\\.c.d', 1],
    ['a.b.c.x', undefined],
    ['a.b.c.d.toString', undefined],
  ])('selects a value: %s', (path, expected) => {
    expect(byGjson(DOCUMENT, path)).toBe(expected);
  });

  it('is refused when it has more than names', () => {
    expect(() => byGjson(DOCUMENT, 'a.*')).toThrow('more than names');
  });
});

describe('a JSONPath', () => {
  it.each([
    ['$.a.b.c.d', 2],
    [`$.a['b.c'].d`, 1],
    [`$.a.["b.c"].d`, 1],
    [`$['a']['e\\'f']`, 3],
    [`$.a["g\\"h"]`, 4],
    ['$.a.x', undefined],
  ])('selects a value: %s', (path, expected) => {
    expect(byJsonPath(DOCUMENT, path)).toBe(expected);
  });

  it('is refused when it has more than names', () => {
    for (const path of ['$..a', '$.a[0]', 'a', '$.a-b']) expect(() => byJsonPath(DOCUMENT, path)).toThrow();
  });
});

describe('a Telegraf configuration', () => {
  it('nests a table in the newest element of its parent', () => {
    const text = `[[a.b]]\nx = 'c\\.d'\n[[a.b.c]]\ny = 1\n[[a.b.c]]\ny = 2\n# no\n[[a.b]]\nx = ["e"]\nz = true`;
    expect(parseTelegrafConfiguration(text)).toEqual({
      a: [
        {
          b: [
            { x: 'c\\.d', c: [{ y: 1 }, { y: 2 }] },
            { x: ['e'], z: true },
          ],
        },
      ],
    });
  });

  it.each(['x', '[a]', 'x = 1\nx = 2', 'x = y'])('is refused when malformed: %s', (text) => {
    expect(() => parseTelegrafConfiguration(text)).toThrow();
  });
});
