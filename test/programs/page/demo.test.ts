/** From a clone to live data with one command: `npm run demo` as typed, and the page at the printed address, in Chromium. */
import { spawn } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../support/deferred.ts';
import { exitOf, stopProcess } from '../../support/sidecar-process.ts';
import { type Chromium, describeInChromium } from './browser.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
/** Files that the build needs; a build in place would remove dist/ from tests that run at the same time. */
const SOURCES = ['package.json', 'rolldown.config.js', 'tsconfig.json', 'src'];

/** Resolves with its output once the guide is complete. */
async function runDemo({ defer }: Chromium): Promise<string> {
  const cwd = temporaryFolder(defer);
  for (const name of SOURCES) cpSync(path.join(ROOT, name), path.join(cwd, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(cwd, 'node_modules'));
  // A process group of its own: npm does not pass every signal on.
  const child = spawn('npm', ['run', 'demo'], { cwd, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = exitOf(child);
  defer(async () => {
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

function hasDrawnChart(): boolean {
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
}

const tests = (chromium: Chromium) => {
  it('leads to a page with live data: calls by name, figures, and charts with points', async () => {
    const [, address = ''] = /^ +The live page is +(\S+)$/m.exec(await runDemo(chromium)) ?? [];
    const live = await chromium.open(address);
    const { page } = live;
    page.setDefaultTimeout(30_000);
    await live.table('RPCs').locator('tbody tr').filter({ hasText: 'E.Boiler.ReadState' }).waitFor();
    await page.waitForFunction(() => {
      const cells = [...document.querySelectorAll('tbody tr td:nth-child(2)')];
      return cells.length >= 5 && cells.every((cell) => Number(cell.textContent) > 0);
    });
    await live
      .figure('Calls /s')
      .filter({ hasText: /^[1-9]/ })
      .waitFor();
    await live
      .figure('RPC p95')
      .filter({ hasText: /\d (?:ms|s|µs)$/ })
      .waitFor();
    expect(Number(await live.figure('Sessions').innerText())).toBeGreaterThan(1);
    // Two points make a line; the chart says them in words, too.
    await page.waitForFunction(() => /RPC: last [1-9]/.test(document.querySelector('figure')?.textContent ?? ''));
    await page.waitForFunction(hasDrawnChart);
  });
};

describeInChromium('`npm run demo`', tests, { timeout: 120_000 });
