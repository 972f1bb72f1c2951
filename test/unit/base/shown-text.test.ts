import { expect, it } from 'vitest';
import { escapeHidden, sanitizeLines, sanitizeText } from '../../../src/base/shown-text.ts';

it.each([
  ['C0', 'a\0\x07\t\n\r\x1b[2J', 'a\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd[2J'],
  ['DEL and C1', 'a\x7f\x85\x9b31m', 'a\ufffd\ufffd\ufffd31m'],
  ['direction marks', '\u202ea\u2066b\u200f', '\ufffda\ufffdb\ufffd'],
  ['invisible characters', 'a\u200b\ufeff\u00adb', 'a\ufffd\ufffd\ufffdb'],
  ['line and paragraph separators', 'a\u2028\u2029', 'a\ufffd\ufffd'],
  ['a pair of surrogates as one', 'a\u{e0041}b', 'a\ufffdb'],
])('a text that is shown replaces %s with U+FFFD', (_what, text, expected) => {
  expect(sanitizeText(text)).toBe(expected);
});

it.each(['', ' ', 'E.Demo.Test', 'Čerpadlo 1 🚰', 'a"b\\c<d>', '\ud83d alone', '\ufffd'])(
  'a text that is shown keeps %j',
  (text) => {
    expect(sanitizeText(text)).toBe(text);
  },
);

it('lines that are shown keep line feeds and tabs only', () => {
  expect(sanitizeLines('a\n\tb\r\x1b[2J\x9b\u202e\u2028')).toBe('a\n\tb\ufffd\ufffd[2J\ufffd\ufffd\ufffd');
});

it('a JSON document keeps its values when hidden characters are escaped', () => {
  const value = { a: 'x\x7f\x9b31m\u202e\u2028\u{e0041}\n', b: ['č "\\'] };
  const json = escapeHidden(JSON.stringify(value, undefined, 2));
  expect(json).not.toMatch(/[\x7f-\x9f\u202e\u2028]/);
  expect(json).toContain('\\udb40\\udc41');
  expect(JSON.parse(json)).toEqual(value);
});
