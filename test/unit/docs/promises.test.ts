/** SECURITY.md: each promise names existing tests. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, readDocument } from '../../support/docs/documents.ts';

it('every promise names an existing test', () => {
  const [, promised = ''] = readDocument('SECURITY.md').text.split('## What is promised\n');
  const promises = (promised.split('\n## ')[0] ?? '').split(/^(?=\d+\. \*\*)/m).slice(1);
  expect(promises.length).toBeGreaterThan(10);
  const without = promises.filter((promise) => {
    const tests = [...promise.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file);
    return tests.length === 0 || !tests.every((file) => existsSync(path.join(ROOT, file)));
  });
  expect(without).toEqual([]);
});
