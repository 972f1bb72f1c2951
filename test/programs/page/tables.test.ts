/** Every table at every usual width: 500 names of 5 to 200 characters, readable in full by pointer, key and screen reader. */
import { beforeAll, expect, it } from 'vitest';
import { describeInChromium } from '../../support/page/browser.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';
import { violationsOf } from './checks.ts';
import { ToldPage } from './told-page.ts';

const WIDTHS = [360, 390, 768, 1_024, 1_280, 1_366, 1_440, 1_920, 2_560];
const TABLES = ['RPCs', 'SBAs', 'Objects', 'Sessions', 'Running now', 'Slowest of the hour', 'Not classified'];
const MIN_NAME_PX = 110;
const WORDS = 'Boiler Turbine Přenos محطة 保護リレー Ventilabschaltungsüberwachung x ReadState a-b_c'.split(' ');

/** E.g. `E.Turbine.x`, of 5 to 200 characters; some begin from the right. */
const NAMES = Array.from({ length: 500 }, (_, at) => {
  const words = Array.from({ length: 60 }, (_, word) => WORDS[(at * 7 + word * (1 + (at % 5))) % WORDS.length]);
  const begin = `${at % 11 === 0 ? 'محطة' : 'E'}${at}.`;
  return begin + words.join('.').slice(0, 5 + ((at * 37) % 196) - begin.length);
});
const TIME = new Date(NOW_MS - 60_000).toISOString();
const CALLS = NAMES.map((name, at) => ({
  ...{ name, count: at * 9_713, errors: at % 3 === 0 ? at * 117 : 0, rate: at / 7, p50: at / 9_000, p99: at / 90 },
  ...{ ended: at * 9_830, spark: Array.from({ length: 12 }, (_, step) => (at * step) % 9) },
}));
const SINGLE = NAMES.slice(0, 200).map((name, at) => ({
  ...{ kind: 'rpc', name, sessionId: at % 2 === 0 ? `s${at}` : null, userName: at % 7 === 0 ? null : NAMES[499 - at] },
  ...{ remoteAddress: `2001:db8:aaaa:bbbb:cccc:dddd:eeee:${at}`, startTime: TIME, duration: at / 9 },
}));
const ROWS = {
  ...{ rpc: CALLS, sba: CALLS, calls: SINGLE },
  slowest: SINGLE.map((call, at) => ({ ...call, status: at % 4 ? 200 : 404, outcome: at % 4 ? 'ok' : 'client_error' })),
  objects: NAMES.map((name, at) => ({ name, subscriptions: at, values: at * 99_999, rate: at / 3 })),
  sessions: NAMES.slice(0, 300).map((userName, at) => ({
    ...{ id: `id${at}`, userName, connectionType: 'COMET_LONG_POLLING', createTime: '2026-02-20T01:02:03.000Z' },
    ...{ lastActivityTime: TIME, remoteAddress: '2001:db8::1', requests: at * 12_345, errors: at * 1_234 },
    verified: at % 2 === 0,
  })),
  unclassified: NAMES.map((name, at) => ({ path: `/${name}`, count: at * 7, p95: at / 100 })),
};
const HISTORY = points(720, (at) => ({
  rpc: { count: 50 + (at % 7), errors: at % 2, p50: 0.01, p95: 0.02, p99: 0.05 },
  sba: { count: 5, errors: 1, p50: 0.2, p95: 0.3, p99: 0.4 },
}));

/** What is wrong in the open table: rows whose name is narrow, incomplete or covered, and cut figures. */
function findFaults(minPx: number): string[] {
  const faults: string[] = [];
  const widthOf = (element: Element | null) => element?.getBoundingClientRect().width ?? 0;
  for (const row of document.querySelectorAll<HTMLElement>('.data-table tbody [aria-rowindex]')) {
    const name = row.querySelector('th') as HTMLElement;
    const whole = (row.querySelector('[data-more]') as HTMLElement).dataset.more?.split('\n')[0] ?? '';
    if (widthOf(name) < minPx) faults.push(`${whole}: ${widthOf(name)} px`);
    getSelection()?.selectAllChildren(name);
    const copied = getSelection()?.toString() ?? '';
    if (copied !== whole || name.innerText !== whole) faults.push(`${whole}: copied as ${copied}`);
    for (const cell of row.querySelectorAll<HTMLElement>('td.number')) {
      if (cell.scrollWidth > cell.clientWidth) faults.push(`${whole}: ${cell.innerText} is cut`);
    }
    const boxes = Array.from(row.children, (cell) => cell.getBoundingClientRect());
    boxes.forEach((box, at) => {
      const over = boxes
        .slice(at + 1)
        .find(
          (other) =>
            Math.min(box.right, other.right) - Math.max(box.left, other.left) > 1 &&
            Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top) > 1,
        );
      if (over !== undefined) faults.push(`${whole}: cell ${at} is under another`);
    });
  }
  getSelection()?.removeAllRanges();
  return faults;
}

describeInChromium('the tables', (chromium) => {
  let told: ToldPage;
  let page: ToldPage['page'];

  beforeAll(async () => {
    told = await ToldPage.open(chromium);
    page = told.page;
    told.rowsOf = ROWS;
    await told.load(live({ seq: HISTORY.length, applications: [application(HISTORY)] }));
  });

  const cells = (name: string) => told.table(name).locator('tbody th');
  const tooltip = () => page.locator('.tooltip .lines');

  it.each(WIDTHS.flatMap((width) => (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme }))))(
    'show every name at $width px, $colorScheme',
    async ({ width, colorScheme }) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const name of TABLES) {
        await told.follow(name);
        await cells(name).first().waitFor();
        expect([name, await page.evaluate(findFaults, MIN_NAME_PX)]).toEqual([name, []]);
        expect([name, await told.excessWidth()]).toEqual([name, 0]);
      }
      expect(await violationsOf(page)).toEqual([]);
    },
  );

  it.each([390, 1_280])(
    'tell a name that is cut, and columns that have left, to pointer and key at %i px',
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      await told.follow('Slowest of the hour');
      await cells('Slowest of the hour').first().waitFor();
      // The longest of the first ones.
      const lengths = (await cells('Slowest of the hour').allInnerTexts()).slice(0, 8).map(({ length }) => length);
      const at = lengths.indexOf(Math.max(...lengths));
      const name = (await cells('Slowest of the hour').allInnerTexts())[at] ?? '';
      const link = cells('Slowest of the hour').nth(at).getByRole('link');
      expect(await page.getByRole('link', { name, exact: true }).count()).toBeGreaterThan(0);
      await link.hover();
      await expect.poll(() => tooltip().innerText()).toContain(name);
      await page.mouse.move(1, 1);
      await tooltip().waitFor({ state: 'detached' });
      await link.focus();
      await expect.poll(() => tooltip().innerText()).toContain(name);
      await page.keyboard.press('Tab');
      const details = /Address: 2001:db8:\S*\sSince: [\d:]{8} \(2026-03-01 [\d:]{8} UTC\)/;
      const button = page.getByRole('button', { name: details }).first();
      await button.click();
      await expect.poll(() => tooltip().innerText()).toMatch(details);
      expect(new URL(page.url()).hash).toBe('#/smartWeb/slowest');
      await page.keyboard.press('Escape');
      await page.evaluate(() => (document.activeElement as HTMLElement).blur());
    },
  );
});
