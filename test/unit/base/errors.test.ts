import { expect, it } from 'vitest';
import { ERROR_CODES } from '../../../src/base/errors.ts';
import { listSources, readProject } from '../../support/docs/documents.ts';

it('docs/errors.md lists every code, in order, and no other, with a meaning and an advice', () => {
  const rows = [...readProject('docs/errors.md').matchAll(/^\| `(D2S_ERR_\w+)` +\| (.*?) *\| (.*?) *\|$/gm)];
  expect(rows.map(([, code]) => code)).toEqual(Object.keys(ERROR_CODES));
  expect(rows.filter(([, , meaning = '', advice = '']) => meaning.length < 20 || advice.length < 20)).toEqual([]);
});

it('the source names no code that is not listed', () => {
  const named = listSources().flatMap((file) => readProject(`src/${file}`).match(/D2S_ERR_[A-Z_]+[A-Z]\b/g) ?? []);
  expect(new Set(named)).toEqual(new Set(Object.keys(ERROR_CODES)));
});
