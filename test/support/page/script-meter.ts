/** What Chromium measures of a page: the time of its script, its heap and its nodes. */
import type { CDPSession, Page } from 'playwright-core';

/** The first take twice as long: the browser compiles what has run often. A page is open for hours. */
const WARM_UP = 10;
const UPDATES = 9;

export class ScriptMeter {
  readonly #page: Page;
  readonly #debug: CDPSession;

  static async of(page: Page): Promise<ScriptMeter> {
    const debug = await page.context().newCDPSession(page);
    // Processor time, since other programs may keep the machine busy.
    await debug.send('Performance.enable', { timeDomain: 'threadTicks' });
    return new ScriptMeter(page, debug);
  }

  private constructor(page: Page, debug: CDPSession) {
    this.#page = page;
    this.#debug = debug;
  }

  async read(name: string): Promise<number> {
    const { metrics } = await this.#debug.send('Performance.getMetrics');
    return metrics.find((one) => one.name === name)?.value ?? Number.NaN;
  }

  async collectGarbage(): Promise<void> {
    await this.#debug.send('HeapProfiler.collectGarbage');
  }

  /** The median milliseconds of script for an update, of which the last answer has an address with this end. */
  async updateMs(lastAnswer: string): Promise<number> {
    for (let update = 0; update < WARM_UP; update += 1) await this.#nextUpdate(lastAnswer);
    const each: number[] = [];
    let before = await this.read('ScriptDuration');
    for (let update = 0; update < UPDATES; update += 1) {
      await this.#nextUpdate(lastAnswer);
      const after = await this.read('ScriptDuration');
      each.push((after - before) * 1_000);
      before = after;
    }
    return each.sort((a, b) => a - b)[Math.floor(UPDATES / 2)] ?? Number.NaN;
  }

  /** Requests an update at once; resolves when the answer with the rows has been drawn. */
  async #nextUpdate(lastAnswer: string): Promise<void> {
    const answered = this.#page.waitForResponse((response) => response.url().endsWith(lastAnswer));
    await this.#page.evaluate(() => dispatchEvent(new Event('hashchange')));
    await (await answered).finished();
    await this.#page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  }
}
