/** The built page in Chromium, with answers of the port that a test provides, without a sidecar. */
import type { Browser, Page, Route } from 'playwright-core';
import type { CallRow, Live } from '../../../src/page/live-data.ts';
import { openPage, type WatchedPage } from './browser.ts';

/** An answer to `/live`; `lost`: no connection; `held`: none yet. */
export type Told =
  | Live
  | { readonly status: number; readonly detail: string; readonly retryAfterS?: number }
  | 'lost'
  | 'held';

export class ToldPage {
  readonly page: Page;
  told: Told = 'held';
  rows: readonly CallRow[] = [];
  readonly #watched: WatchedPage;
  readonly #url: string;

  /** Times on it are those of UTC. */
  static async open(browser: Browser, url: string): Promise<ToldPage> {
    const watched = await openPage(browser, url, { viewport: { width: 1440, height: 1000 }, timezoneId: 'UTC' });
    const told = new ToldPage(watched, url);
    await watched.page.route('**/live**', (route) => told.#answer(route));
    return told;
  }

  private constructor(watched: WatchedPage, url: string) {
    this.#watched = watched;
    this.#url = url;
    this.page = watched.page;
    this.page.setDefaultTimeout(12_000);
  }

  get faults(): readonly string[] {
    return this.#watched.faults;
  }

  /** Reloads the page, at that address after `#`. */
  async load(told: Told, hash = ''): Promise<void> {
    this.told = told;
    await this.page.goto('about:blank');
    await this.page.goto(this.#url + hash);
  }

  close(): Promise<void> {
    return this.#watched.close();
  }

  async #answer(route: Route): Promise<void> {
    const { told } = this;
    if (told === 'held') return;
    if (told === 'lost') return await route.abort();
    if ('status' in told) {
      const { status, detail, retryAfterS = 0 } = told;
      return await route.fulfill({ status, headers: { 'retry-after': String(retryAfterS) }, json: { detail } });
    }
    const isTable = !/\/live(?:\?|$)/.test(route.request().url());
    await route.fulfill({ json: isTable ? { rows: this.rows } : told });
  }
}
