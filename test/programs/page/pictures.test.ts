/** `npm run pictures` takes the pictures in docs/images of the demo; here of its first seconds, into a folder of the test. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/deferred.ts';
import { ROOT, succeed } from '../../support/install/run.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';
import { hasProgram } from '../../support/programs.ts';

const IMAGES = path.join(ROOT, 'docs/images');
const SIZES = {
  'live-page-call.png': '1440x1100',
  'live-page-dark.png': '1440x860',
  'live-page-phone.png': '360x1280',
  'live-page.png': '1440x860',
};
const DIGEST = 'page.sha256';
const MAX_BYTES = 250_000;

/** Width and height from the first chunk (PNG, section 11.2.2). */
function sizesOf(folder: string): Record<string, string> {
  const pictures = readdirSync(folder).filter((name) => name !== DIGEST);
  const sizes = pictures.map((name) => {
    const bytes = readFileSync(path.join(folder, name));
    expect(bytes.subarray(1, 4).toString('latin1')).toBe('PNG');
    return [name, `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`] as const;
  });
  return Object.fromEntries(sizes);
}

it('the pictures in docs/images have the sizes that the script sets, and are small', () => {
  expect(sizesOf(IMAGES)).toEqual(SIZES);
  expect(readdirSync(IMAGES).filter((name) => statSync(path.join(IMAGES, name)).size > MAX_BYTES)).toEqual([]);
});

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
    expect(sizesOf(folder)).toEqual(SIZES);
  });
};

describeInChromium('the script of the pictures', tests, 120_000);
