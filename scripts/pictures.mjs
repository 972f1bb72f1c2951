#!/usr/bin/env node
/**
 * `npm run pictures [-- FOLDER] [--seconds N]` updates the pictures of the live page in docs/images: it runs the demo for an hour, which
 * takes five minutes by a faster clock (time-lapse.mjs), and opens the page in Chromium: on a desktop, in dark colours, on a phone, and
 * the view of a call. Beside them it writes the digest of the page's source, by which a test knows whether they are of this version.
 *
 * Exit code 1 if the page lacks an item of the demo.
 * D2S_CHROMIUM is the path of Chromium, by default /usr/bin/chromium. Needs a build, and java for the charts of the JVM. Debian's optipng
 * makes the pictures smaller, if it is installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { digestPage } from './page-digest.mjs';

const ROOT = path.resolve(import.meta.dirname, '..');
const PICTURES = [
  { name: 'live-page', width: 1440, height: 860, colorScheme: 'light' },
  { name: 'live-page-dark', width: 1440, height: 860, colorScheme: 'dark' },
  { name: 'live-page-phone', width: 360, height: 1280, colorScheme: 'light' },
  { name: 'live-page-call', width: 1440, height: 1100, colorScheme: 'light', call: 'P.Balance.Year.Close' },
];
const TIME_LAPSE = 12;
/** Of the demo, and of the charts. */
const HOUR_S = 3_600;
const TIMEOUT_MS = 60_000;

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: String(HOUR_S / TIME_LAPSE) } },
  allowPositionals: true,
});
const folder = path.resolve(ROOT, positionals[0] ?? 'docs/images');
const seconds = Number(values.seconds);
const lapse = pathToFileURL(path.join(ROOT, 'scripts/time-lapse.mjs')).href;
const demo = spawn(process.execPath, ['--import', lapse, path.join(ROOT, 'dist/main.js'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
  // It ends about now.
  env: { ...process.env, D2S_TIME_LAPSE: String(TIME_LAPSE), D2S_TIME_BACK_S: String(seconds * (TIME_LAPSE - 1)) },
});
const exited = once(demo, 'exit');
// Its start would slow down the last calls.
const browser = await chromium.launch({
  executablePath: process.env.D2S_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});
try {
  const address = await addressOf(demo);
  await showProgress(seconds);
  await takePictures(address);
} finally {
  await browser.close();
  demo.kill('SIGINT');
  await exited;
}

async function showProgress(seconds) {
  for (let left = seconds; left > 0; left -= 1) {
    process.stderr.write(`\r${left} s until the charts are full  `);
    await wait(1_000);
  }
  process.stderr.write('\n');
}

/** The address of the page, as soon as the demo has printed it. */
async function addressOf({ stdout }) {
  let output = '';
  for await (const text of stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text;
    const [, address] = /^ +The live page is +(\S+)\n/m.exec(output) ?? [];
    if (address === undefined) continue;
    // Later output is unused, but must not fill the pipe.
    stdout.resume();
    return address;
  }
  throw new Error(`the demo ended at its start: ${output}`);
}

async function takePictures(address) {
  await withPage(address, PICTURES[0], untilFull);
  mkdirSync(folder, { recursive: true });
  for (const picture of PICTURES) {
    await withPage(address, picture, async (page) => {
      await rowsOf(page, 'RPCs').nth(5).waitFor();
      if (picture.call !== undefined) {
        await page.getByRole('link', { name: picture.call, exact: true }).first().click();
        await rowsOf(page, 'Who calls it').first().waitFor();
      }
      const file = path.join(folder, `${picture.name}.png`);
      await page.screenshot({ path: file });
      spawnSync('optipng', ['-quiet', file]);
    });
  }
  writeFileSync(path.join(folder, 'page.sha256'), `${digestPage()}\n`);
}

/** Also rejects for an exception in the page. */
async function withPage(address, { width, height, colorScheme }, work) {
  const viewport = { width, height };
  const context = await browser.newContext({ locale: 'en-GB', viewport, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (fault) => faults.push(fault));
  await page.goto(`${address}#/?range=${HOUR_S}`);
  await work(page);
  await context.close();
  if (faults.length > 0) throw new Error('the page threw an exception', { cause: faults[0] });
}

function rowsOf(page, table) {
  return page.getByRole('table', { name: table, exact: true }).locator('tbody tr');
}

/** Waits for all items of the demo. */
async function untilFull(page) {
  await page
    .locator('figure', { hasText: 'Java heap' })
    .filter({ hasText: /used\s*[1-9]/ })
    .waitFor();
  for (const [title, expected] of [
    ['RPCs', 'E.Reports.Daily'],
    ['SBAs', 'E.Reports.Print'],
    ['Objects', 'H.Tank.Level'],
    ['Sessions', 'wall-screen'],
  ]) {
    await page.getByRole('link', { name: title, exact: true }).click();
    await rowsOf(page, title).filter({ hasText: expected }).waitFor();
  }
}
