/**
 * From a clone to live data with one command: `npm run demo` as typed, and the page at the printed address, in
 * Chromium.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { exitOf, stopProcess } from '../../support/sidecar-process.ts';
import { describeInChromium, launchBrowser, openPage } from './browser.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
/** Files that the build needs; a build in place would remove dist/ from tests that run at the same time. */
const SOURCES = ['package.json', 'rolldown.config.js', 'tsconfig.json', 'src'];

const cleanups: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function copyOfSources(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-demo-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of SOURCES) cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  return folder;
}

/** Resolves with its output once the guide is complete. */
async function runDemo(cwd: string): Promise<string> {
  // A process group of its own: npm does not pass every signal on.
  const child = spawn('npm', ['run', 'demo'], { cwd, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = exitOf(child);
  cleanups.push(async () => {
    process.kill(-(child.pid as number), 'SIGINT');
    await stopProcess(child, exited, 'SIGTERM');
  });
  let output = '';
  return await new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('/d2/rpc/E.Boiler/ReadState')) resolve(output);
    });
    exited.then((code) => reject(new Error(`the demo ended with ${code}: ${output}`)), reject);
  });
}

describeInChromium(
  '`npm run demo`',
  () => {
    it('leads to a page with live data: calls by name, figures, and charts with points', async () => {
      const output = await runDemo(copyOfSources());
      const [, address = ''] = /^ +The live page is +(\S+)$/m.exec(output) ?? [];
      expect(address).not.toBe('');
      const browser = await launchBrowser();
      cleanups.push(() => browser.close());
      const { page, faults } = await openPage(browser, address, { viewport: { width: 1440, height: 1000 } });
      page.setDefaultTimeout(30_000);
      const rows = page.getByRole('table', { name: 'RPCs' }).locator('tbody tr');
      await rows.filter({ hasText: 'E.Boiler.ReadState' }).waitFor();
      await page.waitForFunction(() => {
        const counts = [...document.querySelectorAll('tbody tr td:nth-child(2)')].map((cell) =>
          Number(cell.textContent),
        );
        return counts.length >= 5 && counts.every((count) => count > 0);
      });
      const figure = (label: string) => page.locator('.figure', { hasText: label }).locator('dd');
      await figure('Calls /s')
        .filter({ hasText: /^[1-9]/ })
        .waitFor();
      await figure('RPC p95')
        .filter({ hasText: /\d (?:ms|s|µs)$/ })
        .waitFor();
      expect(Number(await figure('Sessions').innerText())).toBeGreaterThan(1);
      // Two points make a line; the chart says them in words, too.
      await page.waitForFunction(() => /RPC: last [1-9]/.test(document.querySelector('figure')?.textContent ?? ''));
      await page.waitForFunction(() => {
        const canvas = document.querySelector<HTMLCanvasElement>('figure canvas');
        const colour = getComputedStyle(document.documentElement).getPropertyValue('--series-a').trim();
        const probe = document.createElement('canvas').getContext('2d');
        const drawn = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
        if (!probe || !drawn || colour === '') return false;
        probe.fillStyle = colour;
        probe.fillRect(0, 0, 1, 1);
        const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
        let pixels = 0;
        for (let at = 0; at < drawn.length; at += 4) {
          if (drawn[at] === red && drawn[at + 1] === green && drawn[at + 2] === blue) pixels += 1;
        }
        return pixels > 10;
      });
      expect(faults).toEqual([]);
    });
  },
  { timeout: 120_000 },
);
