/** SECURITY.md: each promise names existing tests. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** The numbered paragraphs below "What is promised". */
function readPromises(): readonly string[] {
  const [, promised = ''] = readFileSync(path.join(ROOT, 'SECURITY.md'), 'utf8').split('## What is promised\n');
  const [list = ''] = promised.split('\n## ');
  return list.split(/^(?=\d+\. \*\*)/m).slice(1);
}

it('every promise names an existing test', () => {
  const promises = readPromises();
  expect(promises.length).toBeGreaterThan(10);
  const without = promises.filter((promise) => {
    const tests = [...promise.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
    return tests.length === 0 || !tests.every((file) => existsSync(path.join(ROOT, file)));
  });
  expect(without).toEqual([]);
});

it('the promises are numbered without gaps', () => {
  const numbers = readPromises().map((promise) => Number.parseInt(promise, 10));
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});
