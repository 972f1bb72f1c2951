/** Debian's headless Chromium, the pages that tests open in it, and what a reader finds in them. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, describe, expect } from 'vitest';
import { type Defer, deferTo } from '../deferred.ts';
import { isAvailable } from '../programs.ts';
import { type Harness, type HarnessOptions, startHarness } from './stand.ts';

const EXECUTABLE = process.env.D2S_CHROMIUM ?? '/usr/bin/chromium';
const isInstalled = isAvailable('Chromium', existsSync(EXECUTABLE));
/** For tests that use a small machine fully: axe-core alone takes seconds on a busy one. */
const TIMEOUT_MS = 45_000;

const NO_BACKGROUND = ['no-first-run', 'disable-background-networking', 'disable-component-update', 'disable-sync'];
const ARGS = ['no-sandbox', 'disable-gpu', 'disable-quic', ...NO_BACKGROUND].map((name) => `--${name}`);

/** Chromium logs that for every error status, which tests here cause on purpose. */
const FAILED_REQUEST = 'Failed to load resource';

/** As `describe`, for tests that need Chromium. A fault of a page fails them. */
export function describeInChromium(name: string, tests: (chromium: Chromium) => void, timeout = TIMEOUT_MS): void {
  describe.runIf(isInstalled)(name, { timeout }, () => tests(new Chromium(deferTo(afterAll))));
}

export class Chromium {
  readonly defer: Defer;
  #browser: Promise<Browser> | undefined;

  constructor(defer: Defer) {
    this.defer = defer;
  }

  startHarness(options: HarnessOptions = {}): Promise<Harness> {
    return startHarness(this.defer, options);
  }

  async open(url: string, options: BrowserContextOptions = {}): Promise<LivePage> {
    this.#browser ??= this.#launch();
    const viewport = { width: 1440, height: 1000 };
    const context = await (await this.#browser).newContext({ locale: 'en-GB', viewport, ...options });
    const page = await context.newPage();
    const faults = await watch(page, url);
    this.defer(async () => {
      await context.close();
      expect(faults).toEqual([]);
    });
    page.setDefaultTimeout(12_000);
    await page.goto(url);
    return new LivePage(page);
  }

  async #launch(): Promise<Browser> {
    const browser = await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: ARGS });
    this.defer(() => browser.close());
    return browser;
  }
}

/** Violations of the Content-Security-Policy, exceptions, console errors except those of failed requests, and requests to other hosts. */
async function watch(page: Page, url: string): Promise<readonly string[]> {
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
  return faults;
}

export class LivePage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  see(text: string | RegExp): Promise<void> {
    return this.page.getByText(text).first().waitFor();
  }

  seeHeading(name: string): Promise<void> {
    return this.page.getByRole('heading', { name }).waitFor();
  }

  seeAlert(hasText: string | RegExp): Promise<void> {
    return this.page.getByRole('alert').filter({ hasText }).waitFor();
  }

  figure(label: string): Locator {
    return this.page.locator('.figure', { hasText: label }).locator('dd');
  }

  follow(name: string): Promise<void> {
    return this.page.getByRole('link', { name, exact: true }).click();
  }

  table(name: string): Locator {
    return this.page.getByRole('table', { name });
  }

  namesIn(name: string): Promise<string[]> {
    return this.table(name).locator('tbody th').allInnerTexts();
  }

  events(): Promise<string[]> {
    return this.page.locator('.events b').allInnerTexts();
  }

  async signIn(user: string, password: string): Promise<void> {
    await this.page.getByLabel('User').fill(user);
    await this.page.getByLabel('Password').fill(password);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
  }

  async useToken(token: string): Promise<void> {
    await this.page.getByLabel('Token').fill(token);
    await this.page.getByRole('button', { name: 'Use this token' }).click();
  }

  excessWidth(): Promise<number> {
    return this.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  }
}

export const SIGN_IN = 'Sign in to the monitoring port';
