/**
 * Three tasks of people at a screen: what they ask is answered by what is visible, at most three clicks from the first screen, on a phone
 * and on a desktop. A click is counted for each link and button; typing into a filter is none.
 */
import http from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { basic } from '../../support/monitor/access/access-files.ts';
import { describeInChromium, type LivePage } from '../../support/page/browser.ts';
import type { Harness } from '../../support/page/stand.ts';

const MAX_CLICKS = 3;
/** Of this machine, too; only one user comes from there. */
const ADDRESS = '127.0.0.7';

/** A reader who sees only what is visible, and counts clicks. */
class Reader {
  readonly #live: LivePage;
  clicks = 0;

  constructor(live: LivePage) {
    this.#live = live;
  }

  async click(name: string | RegExp): Promise<void> {
    this.clicks += 1;
    await this.#live.page.locator('main').getByRole('link', { name }).filter({ visible: true }).first().click();
  }

  async type(filter: string, text: string): Promise<void> {
    await this.#live.page.getByRole('searchbox', { name: filter }).fill(text);
  }

  /** The visible text of what `selector` finds first, once it matches. */
  async read(selector: string, expected: RegExp): Promise<string> {
    const shown = this.#live.page.locator(selector).filter({ visible: true }).first();
    await expect.poll(() => shown.innerText()).toMatch(expected);
    return await shown.innerText();
  }
}

describeInChromium('a reader of the live page', (chromium) => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await chromium.startHarness();
    await harness.callMany(20, () => ({ path: 'rpc/E.Boiler/ReadState', user: 'anna' }));
    // Only a user whom the server has accepted has a session.
    await harness.callMany(1, () => ({ path: 'rpc/E.Boiler/ReadState', user: 'cyril' }));
    await harness.callMany(1, () => ({ path: 'rpc/P.Year/Slow', user: 'boris' }));
    await harness.callMany(12, (at) => ({ path: 'rpc/E.Reports/Fails', user: at < 9 ? 'cyril' : 'anna' }));
    const headers = { authorization: basic('dora', 'x'), 'content-type': 'application/json' };
    const [host, port] = harness.listen.split(':');
    const from = { ...{ host, port, headers, method: 'POST' }, localAddress: ADDRESS, agent: new http.Agent() };
    // An answered call makes the session; then it waits for another one.
    await new Promise((answered) =>
      http
        .request({ ...from, path: '/smartWeb/api/rest/v0/d2/rpc/E.Boiler/ReadState' }, (answer) =>
          answered(answer.resume()),
        )
        .end('[]'),
    );
    const held = http.request({ ...from, path: '/smartWeb/api/rest/v0/d2/rpc/E.Archive/Holds' });
    held.on('error', () => undefined).end('[]');
    chromium.defer(() => void held.destroy());
  });

  const at = async (width: number): Promise<Reader> =>
    new Reader(await chromium.open(harness.url, { viewport: { width, height: 900 } }));

  it.each([390, 1_366])(
    'finds the slowest call of the hour, who made it, and that it was the server, at %i px',
    async (width) => {
      const reader = await at(width);
      await reader.click('Slowest of the hour');
      const row = await reader.read('.tables tbody tr', /P\.Year\.Slow/);
      expect(row).toMatch(/boris/);
      await reader.click('P.Year.Slow');
      const slowest = await reader.read(
        '.item table[aria-rowcount]:has(caption:text("Slowest of the hour")) tbody',
        /boris/,
      );
      // Of the duration, which is the server's time, and the wait for the client.
      expect(slowest).toMatch(/4\d\d ms/);
      expect(reader.clicks).toBeLessThanOrEqual(MAX_CLICKS);
    },
  );

  it.each([390, 1_366])('finds since when a call fails, and for whom, at %i px', async (width) => {
    const reader = await at(width);
    await reader.click('E.Reports.Fails');
    const callers = await reader.read('.item table:has(caption:text("Who calls it")) tbody', /cyril/);
    expect(callers).toMatch(/9 \(100 %\)/);
    expect(callers).toMatch(/3 \(100 %\)/);
    await reader.read('.item', /Errors since\s+\d\d:\d\d/);
    expect(reader.clicks).toBeLessThanOrEqual(MAX_CLICKS);
  });

  it.each([390, 1_366])('finds who is connected from an address, and what he waits for, at %i px', async (width) => {
    const reader = await at(width);
    await reader.click('Sessions');
    await reader.type('Filter Sessions', ADDRESS);
    await reader.read('.tables tbody', /^dora/);
    await reader.click('dora');
    await reader.read('.item table:has(caption:text("Running now")) tbody', /E\.Archive\.Holds/);
    expect(await reader.read('.item', new RegExp(ADDRESS.replaceAll('.', '\\.')))).toContain('dora');
    expect(reader.clicks).toBeLessThanOrEqual(MAX_CLICKS);
  });
});
