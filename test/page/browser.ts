/**
 * Debian's Chromium without a head, and pages in it that tell what went wrong in them. Tests in it are described by
 * `describeInChromium`: without Chromium they are left out, which is said once, or fail with D2S_REQUIRE_CHROMIUM=1.
 */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { describe, expect, it, type TestOptions } from 'vitest';

const EXECUTABLE = '/usr/bin/chromium';

/** The variable of the path is for trying out what becomes of the tests without one. */
const executable = process.env.D2S_CHROMIUM ?? EXECUTABLE;
const isInstalled = existsSync(executable);
const isRequired = process.env.D2S_REQUIRE_CHROMIUM === '1';

/** What takes the whole of a small machine: axe-core alone takes seconds on a busy one. */
const TIMEOUT_MS = 45_000;

/** As `describe`, for tests that need Chromium. */
export function describeInChromium(name: string, tests: () => void, options: TestOptions = {}): void {
  if (!isInstalled && isRequired) {
    describe(name, () => {
      it('has the Chromium that D2S_REQUIRE_CHROMIUM=1 demands', () => {
        expect.fail(`${executable} is missing`);
      });
    });
    return;
  }
  if (!isInstalled) console.warn(`SKIPPED: ${name}; it needs ${executable}`);
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

/** In a profile of its own, which is gone with it. */
export async function launchBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: executable, headless: true, args: ARGS });
}

export interface WatchedPage {
  readonly page: Page;
  /** Violations of the Content-Security-Policy, exceptions, and errors in the console other than of requests that failed. */
  readonly faults: readonly string[];
  close(): Promise<void>;
}

/** Chromium says that in its console for every answer that is none, which tests here cause on purpose. */
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
