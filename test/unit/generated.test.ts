import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { toContents } from '../../scripts/generated.ts';

const ROOT = path.join(import.meta.dirname, '../..');

it('generated files are what `npm run generate` writes', async () => {
  const contents = await toContents(ROOT);
  const stale = [...contents].filter(([file, content]) => readFileSync(path.join(ROOT, file), 'utf8') !== content);
  expect(
    stale.map(([file]) => file),
    'run npm run generate',
  ).toEqual([]);
});
