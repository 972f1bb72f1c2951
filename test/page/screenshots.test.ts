/**
 * The pictures in docs/images. D2S_SCREENSHOTS=1 takes them anew, of the sample control system and its users after five minutes;
 * without it they only have to be there.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SampleControlSystem } from '../../src/demo/control-system.ts';
import { SampleUsers } from '../../src/demo/users.ts';
import { describeInChromium, launchBrowser, openPage } from './browser.ts';
import { Stand } from './stand.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../docs/images');
const TRAFFIC_MS = 330_000;

const PICTURES = [
  { name: 'live-page', width: 1440, height: 1010, scheme: 'light' },
  { name: 'live-page-dark', width: 1440, height: 1010, scheme: 'dark' },
  { name: 'live-page-phone', width: 360, height: 1280, scheme: 'light' },
] as const;

/** Of the first chunk (PNG, section 11.2.2). */
function widthOf(file: string): number {
  const bytes = readFileSync(file);
  expect(bytes.subarray(1, 4).toString('latin1')).toBe('PNG');
  return bytes.readUInt32BE(16);
}

const isWanted = process.env.D2S_SCREENSHOTS === '1';

function describeTaking(): void {
  it('are taken', { timeout: TRAFFIC_MS + 60_000 }, async () => {
    const system = new SampleControlSystem();
    const stand = await Stand.start({ hasJvm: true, upstreamPort: await system.start(0) });
    const browser = await launchBrowser();
    const leaving = new AbortController();
    const users = new SampleUsers({ baseUrl: stand.clientUrl, pauseMs: 250 });
    const working = users.run(leaving.signal);
    mkdirSync(FOLDER, { recursive: true });
    try {
      await delay(TRAFFIC_MS);
      for (const { name, width, height, scheme } of PICTURES) {
        const { page, faults, close } = await openPage(browser, stand.url, {
          viewport: { width, height },
          colorScheme: scheme,
          reducedMotion: 'reduce',
        });
        await page.getByRole('table', { name: 'RPCs' }).getByRole('row').nth(5).waitFor();
        await page.screenshot({ path: path.join(FOLDER, `${name}.png`) });
        expect(faults).toEqual([]);
        await close();
      }
    } finally {
      leaving.abort();
      await working;
      await browser.close();
      await stand.stop();
      await system.stop();
    }
  });
}

if (isWanted) describeInChromium('pictures of the live page', describeTaking);

describe('pictures of the live page', () => {
  it.each(PICTURES)('are in docs/images: $name', ({ name, width }) => {
    expect(widthOf(path.join(FOLDER, `${name}.png`))).toBe(width);
  });
});
