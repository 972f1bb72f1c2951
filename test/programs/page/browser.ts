/**
 * Debian's headless Chromium, and pages in it that report their errors. Tests in it are described by
 * `describeInChromium`: without Chromium they are skipped.
 */

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { describe, type TestOptions } from 'vitest';
import { isAvailable } from '../../support/programs.ts';

const EXECUTABLE = '/usr/bin/chromium';

/** The variable of the path allows trying the tests without Chromium. */
const executable = process.env.D2S_CHROMIUM ?? EXECUTABLE;
const isInstalled = isAvailable('Chromium', existsSync(executable));

/** For tests that use a small machine fully: axe-core alone takes seconds on a busy one. */
const TIMEOUT_MS = 45_000;

/** As `describe`, for tests that need Chromium. */
export function describeInChromium(name: string, tests: () => void, options: TestOptions = {}): void {
  describe.runIf(isInstalled)(name, { timeout: TIMEOUT_MS, ...options }, tests);
}

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** In a temporary profile. */
export async function launchBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: executable, headless: true, args: ARGS });
}

export interface WatchedPage {
  readonly page: Page;
  /** Violations of the Content-Security-Policy, exceptions, and console errors except those of failed requests. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/** Chromium logs that for every error status, which tests here cause on purpose. */
const FAILED_REQUEST = 'Failed to load resource';

export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes(FAILED_REQUEST)) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) faults.push(`asked ${request.url()}`);
  });
  await page.exposeFunction('reportFault', (text: string) => faults.push(text));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const report = (globalThis as unknown as { reportFault: (text: string) => void }).reportFault;
      report(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  await page.goto(url);
  return { page, faults, close: () => context.close() };
}
