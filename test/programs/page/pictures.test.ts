/** `npm run pictures` takes the pictures in docs/images of the demo. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/docs/documents.ts';

it('the pictures are of this version of the page', async () => {
  const script = pathToFileURL(path.join(ROOT, 'scripts/page-digest.mjs')).href;
  const { digestPage } = (await import(script)) as { digestPage(): string };
  const taken = readFileSync(path.join(ROOT, 'docs/images/page.sha256'), 'utf8');
  expect(taken, 'npm run pictures takes them again').toBe(`${digestPage()}\n`);
});
