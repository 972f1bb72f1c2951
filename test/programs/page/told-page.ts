/** The built page in Chromium, with answers of the port that a test provides, without a sidecar. */
import type { Route } from 'playwright-core';
import type { Live } from '../../../src/page/live-data.ts';
import { type Chromium, LivePage } from '../../support/page/browser.ts';

export type Told =
  | Live
  | { readonly status: number; readonly detail: string; readonly retryAfterS?: number }
  | 'lost'
  | 'held';

export class ToldPage extends LivePage {
  told: Told = 'held';
  /** Of each table that `rowsOf` does not name. */
  rows: readonly object[] = [];
  /** By the last part of the path, e.g. `sessions`, `calls` or `slowest`. */
  rowsOf: Readonly<Record<string, readonly object[]>> = {};
  readonly #url: string;

  /** Its times are in UTC. */
  static async open(chromium: Chromium): Promise<ToldPage> {
    const { url } = await chromium.startHarness();
    const { page } = await chromium.open(url, { timezoneId: 'UTC' });
    const told = new ToldPage(page, url);
    await page.route('**/live**', (route) => told.#answer(route));
    await page.route(/\/d2\/calls(\/slowest)?$/, (route) => route.fulfill({ json: told.#rowsFor(route) }));
    return told;
  }

  private constructor(page: LivePage['page'], url: string) {
    super(page);
    this.#url = url;
  }

  async load(told: Told, hash = ''): Promise<void> {
    this.told = told;
    await this.page.goto('about:blank');
    await this.page.goto(this.#url + hash);
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
    const rows = this.#rowsFor(route);
    const columns = Object.keys(rows[0] ?? {});
    await route.fulfill({ json: isTable ? { columns, rows: rows.map((row) => Object.values(row)) } : told });
  }

  #rowsFor(route: Route): readonly object[] {
    return this.rowsOf[new URL(route.request().url()).pathname.split('/').at(-1) ?? ''] ?? this.rows;
  }
}
