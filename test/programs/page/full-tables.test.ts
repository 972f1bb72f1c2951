/** The live page with full tables: 2,000 RPCs, 10,000 objects and 10,000 sessions, filled by calls through the built sidecar. */
import { beforeAll, expect, it } from 'vitest';
import { describeInChromium, type LivePage } from '../../support/page/browser.ts';
import { ScriptMeter } from '../../support/page/script-meter.ts';

const RPCS = 2_000;
const OBJECTS = 10_000;
const SESSIONS = 10_000;
const MAX_SCRIPT_MS = 50;
const MAX_BYTES = 50 * 1024 * 1024;

describeInChromium('the live page with full tables', (chromium) => {
  let live: LivePage;
  let page: LivePage['page'];
  let meter: ScriptMeter;

  beforeAll(async () => {
    const harness = await chromium.startHarness();
    await harness.callMany(SESSIONS, (index) => {
      const user = `user-${index}`;
      return index % 2 === 0
        ? { path: `rpc/E.Load/Call${(index / 2) % RPCS}`, user }
        : { path: `object/H.Load.Object${index}`, user, method: 'GET' };
    });
    const objectOf = (index: number) => `object/H.Load.Object${2 * index}`;
    await harness.callMany(OBJECTS / 2, (index) => ({ path: objectOf(index), user: 'user-1', method: 'GET' }));
    live = await chromium.open(harness.url);
    page = live.page;
    page.setDefaultTimeout(15_000);
    meter = await ScriptMeter.of(page);
  }, 120_000);

  it.each([
    ['rpc', 'RPCs', RPCS],
    ['objects', 'Objects', OBJECTS],
    ['sessions', 'Sessions', SESSIONS],
  ] as const)(
    'updates %s in less than 50 ms of script, with few rows in the document',
    { timeout: 40_000 },
    async (kind, name, rows) => {
      await live.follow(name);
      const table = live.table(name);
      await table.waitFor();
      expect(Number(await table.getAttribute('aria-rowcount'))).toBe(rows + 1);
      expect(await table.locator('tbody tr').count()).toBeLessThan(60);
      const ms = await meter.updateMs(`/smartWeb/${kind}`);
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThan(MAX_SCRIPT_MS);
    },
  );

  it('shows any row after scrolling, and finds one among all', async () => {
    const table = live.table('Sessions');
    await table.getByRole('columnheader', { name: /^User/ }).getByRole('button').click();
    await page.locator('.scroller').evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await table.getByRole('link', { name: 'user-9999', exact: true }).waitFor();
    expect(await table.locator('tbody tr').last().getAttribute('aria-rowindex')).toBe(String(SESSIONS + 1));
    await page.getByRole('searchbox', { name: 'Filter Sessions' }).fill('user-4321');
    await table.getByRole('link', { name: 'user-4321', exact: true }).waitFor();
    expect(await table.locator('tbody tr').count()).toBe(1);
  });

  it('takes less than 50 MB of heap, and few nodes', async () => {
    // Garbage of updates waits for the collector; only memory left after it counts.
    await meter.collectGarbage();
    expect(await meter.read('JSHeapUsedSize')).toBeLessThan(MAX_BYTES);
    // Nodes and listeners are outside of the heap.
    expect(await meter.read('Nodes')).toBeLessThan(10_000);
  });
});
