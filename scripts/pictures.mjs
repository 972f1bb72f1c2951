#!/usr/bin/env node
/**
 * `npm run pictures [-- FOLDER] [--seconds N]` updates the pictures of the live page in docs/images: it starts the demo, waits until the
 * charts are full (330 s), and opens the page in Chromium: on a desktop, in dark colours, on a phone, and the view of a call.
 *
 * Exit code 1 if the page lacks an item of the demo.
 * D2S_CHROMIUM is the path of Chromium, by default /usr/bin/chromium. Needs a build, and java for the charts of the JVM.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';

const ROOT = path.resolve(import.meta.dirname, '..');
const PICTURES = [
  { name: 'live-page', width: 1440, height: 940, colorScheme: 'light' },
  { name: 'live-page-dark', width: 1440, height: 940, colorScheme: 'dark' },
  { name: 'live-page-phone', width: 360, height: 1280, colorScheme: 'light' },
  { name: 'live-page-call', width: 1440, height: 1180, colorScheme: 'light', call: 'P.Balance.Year.Close' },
];
const FULL_CHARTS_S = '330';
const TIMEOUT_MS = 60_000;

const { values, positionals } = parseArgs({
  options: { seconds: { type: 'string', default: FULL_CHARTS_S } },
  allowPositionals: true,
});
const folder = path.resolve(ROOT, positionals[0] ?? 'docs/images');
const demo = spawn(process.execPath, [path.join(ROOT, 'dist/main.js'), 'demo'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const exited = once(demo, 'exit');
try {
  const address = await addressOf(demo);
  await wait(Number(values.seconds) * 1_000);
  await takePictures(address);
} finally {
  demo.kill('SIGINT');
  await exited;
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
  const browser = await chromium.launch({
    executablePath: process.env.D2S_CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
  try {
    await withPage(browser, address, PICTURES[0], untilFull);
    mkdirSync(folder, { recursive: true });
    for (const picture of PICTURES) {
      await withPage(browser, address, picture, async (page) => {
        await rowsOf(page, 'RPCs').nth(5).waitFor();
        if (picture.call !== undefined) {
          await page.getByRole('link', { name: picture.call, exact: true }).first().click();
          await rowsOf(page, 'Who calls it').first().waitFor();
        }
        await page.screenshot({ path: path.join(folder, `${picture.name}.png`) });
      });
    }
  } finally {
    await browser.close();
  }
}

/** Also rejects for an exception in the page. */
async function withPage(browser, address, { width, height, colorScheme }, work) {
  const viewport = { width, height };
  const context = await browser.newContext({ locale: 'en-GB', viewport, colorScheme, reducedMotion: 'reduce' });
  context.setDefaultTimeout(TIMEOUT_MS);
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (fault) => faults.push(fault));
  await page.goto(address);
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
