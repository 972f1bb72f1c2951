/** `npm run pictures` takes the pictures in docs/images of the demo; here of its first seconds, into a folder of the test. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/deferred.ts';
import { ROOT, succeed } from '../../support/install/run.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';
import { hasProgram } from '../../support/programs.ts';

const IMAGES = path.join(ROOT, 'docs/images');
const DIGEST = 'page.sha256';

it('the pictures are of this version of the page', async () => {
  const script = pathToFileURL(path.join(ROOT, 'scripts/page-digest.mjs')).href;
  const { digestPage } = (await import(script)) as { digestPage(): string };
  const taken = readFileSync(path.join(IMAGES, DIGEST), 'utf8');
  expect(taken, 'npm run pictures takes them again').toBe(`${digestPage()}\n`);
});

const tests = ({ defer }: Chromium) => {
  it.runIf(hasProgram('java'))('takes them of a page with all that the demo has', async () => {
    const folder = temporaryFolder(defer);
    const script = path.join(ROOT, 'scripts/pictures.mjs');
    await succeed(process.execPath, [script, folder, '--seconds', '15']);
    expect(readdirSync(folder)).toEqual(readdirSync(IMAGES));
  });
};

describeInChromium('the script of the pictures', tests, 120_000);
