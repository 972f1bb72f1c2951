import { expect, it } from 'vitest';
import { toContents } from '../../scripts/generated.ts';
import { ROOT, readProject } from '../support/docs/documents.ts';

it('generated files are what `npm run generate` writes', async () => {
  const contents = await toContents(ROOT);
  const stale = [...contents].filter(([file, content]) => readProject(file) !== content);
  expect(
    stale.map(([file]) => file),
    'run npm run generate',
  ).toEqual([]);
});
