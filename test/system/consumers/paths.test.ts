import { describe, expect, it } from 'vitest';
import { byGjson, byJsonPath } from './paths.ts';
import { parseTelegrafConfiguration } from './telegraf-configuration.ts';

const DOCUMENT = { a: { 'b.c': { d: 1 }, b: { c: { d: 2 } }, "e'f": 3, 'g"h': 4 } };

describe('a path of GJSON', () => {
  it.each([
    ['a.b.c.d', 2],
    ['a.b\\.c.d', 1],
    ['a.b.c.x', undefined],
    ['a.b.c.d.toString', undefined],
  ])('%s', (path, expected) => {
    expect(byGjson(DOCUMENT, path)).toBe(expected);
  });

  it('is refused where more than names would be needed', () => {
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
  ])('%s', (path, expected) => {
    expect(byJsonPath(DOCUMENT, path)).toBe(expected);
  });

  it('is refused where more than names would be needed', () => {
    for (const path of ['$..a', '$.a[0]', 'a', '$.a-b']) expect(() => byJsonPath(DOCUMENT, path)).toThrow();
  });
});

describe('a configuration of Telegraf', () => {
  it('has tables within the newest of the one before', () => {
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

  it.each(['x', '[a]', 'x = 1\nx = 2', 'x = y'])('is refused: %s', (text) => {
    expect(() => parseTelegrafConfiguration(text)).toThrow();
  });
});
