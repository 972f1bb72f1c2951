/** The live page over a history on disk of 200 names, three of which became slower an hour ago. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { openArchiveFile } from '../../../src/archive/archive-file.ts';
import { Store } from '../../../src/archive/store.ts';
import { createMinute, NO_SQLITE } from '../../support/archive/minutes.ts';
import { temporaryFolder } from '../../support/deferred.ts';
import { describeInChromium, type LivePage } from '../../support/page/browser.ts';
import type { Harness } from '../../support/page/stand.ts';
import { unexplainedNumbers, violationsOf } from './checks.ts';

const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const DAYS = 8;
/** Names, and how many times as long they take since the mark. */
const PLANTED: Readonly<Record<string, number>> = { 'E.Pump.Start': 8, 'E.Valve.Open': 4, 'E.Archive.Read': 1.5 };
const NAMES = [...Object.keys(PLANTED), ...Array.from({ length: 197 }, (_, at) => `E.Unit${at}.Read`)];

/** Ten minutes of calls each; the last hour is after the mark. */
function writeHistory(file: string, markS: number): void {
  const { database } = openArchiveFile(file);
  const store = new Store(database, { keepS: 90 * DAY_S, maxBytes: 1e9 });
  const minute = (time: number) =>
    createMinute(
      time,
      NAMES.map((name, at) => {
        const ms = (10 + (at % 50)) * (time >= markS ? (PLANTED[name] ?? 1) : 1);
        return { name, ns: Array.from({ length: 12 }, (_, call) => ms * (1 + call / 50) * 1e6) };
      }),
      { sessions: 5 },
    );
  for (let day = DAYS; day >= 0; day -= 1) {
    const minutes = Array.from({ length: 12 }, (_, at) => minute(markS - day * DAY_S + (at - 6) * 600));
    store.write(minutes, []);
  }
  store.write([], [{ epochMs: markS * 1_000, kind: 'note', text: 'index dropped' }]);
  // Its points are no real ones.
  database.exec('DELETE FROM lastHour');
  database.close();
}

describeInChromium('the live page with history.file', (chromium) => {
  let harness: Harness;
  const markS = Math.floor(Date.now() / 1_000 / HOUR_S - 1) * HOUR_S;

  beforeAll(async () => {
    if (NO_SQLITE) return;
    const file = path.join(temporaryFolder(chromium.defer), 'history.db');
    writeHistory(file, markS);
    harness = await chromium.startHarness({ config: { history: { file } } });
  });

  const legend = (live: LivePage, chart: string) => live.page.locator(`figure:has(#chart-past-${chart}) .legend`);
  /** Draws a range in the first chart, from and to a share of its width. */
  const draw = async ({ page }: LivePage, from: number, to: number) => {
    const box = await page.locator('figure:has(#chart-past-calls) .u-over').boundingBox();
    if (box === null) throw new Error('no chart');
    await page.mouse.move(box.x + box.width * from, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 40, { steps: 4 });
    await page.mouse.up();
  };
  const range = (live: LivePage) => live.page.locator('.past-range').innerText();

  it.skipIf(NO_SQLITE)('compares two days, zooms, is a link, and exports what it shows', async () => {
    const live = await chromium.open(harness.url);
    const { page } = live;
    await page.getByRole('button', { name: '1 d', exact: true }).click();
    await live.see('Calls a minute');
    await expect.poll(() => legend(live, 'calls').innerText()).toMatch(/greatest\s*calls\s+[\d,]+/);
    expect(await legend(live, 'calls').innerText()).not.toContain('before');

    await page.getByLabel('Compare with').selectOption('the day before');
    await expect.poll(() => legend(live, 'duration').innerText()).toMatch(/p95 before\s+[\d.]+ ms/);
    const names = live.table('Calls by name');
    await expect.poll(() => names.locator('tbody th').allInnerTexts()).toContain('rpc.E.Pump.Start');
    const [first] = await names.locator('tbody tr:not(.space)').allInnerTexts();
    expect(first).toMatch(/rpc\.E\.Pump\.Start\s+▲ ×[1-9]/);

    const before = await range(live);
    await draw(live, 0.5, 0.75);
    await expect.poll(() => range(live)).not.toBe(before);
    const drawn = await range(live);
    expect(new URL(page.url()).hash).toMatch(/past=2\d{4}&to=\d+&shift=86400/);
    await page.getByRole('button', { name: 'Zoom out' }).click();
    await expect.poll(() => range(live)).not.toBe(drawn);
    await page.goBack();
    await expect.poll(() => range(live)).toBe(drawn);

    const linked = await chromium.open(page.url());
    await expect.poll(() => range(linked)).toBe(drawn);
    await expect.poll(() => legend(linked, 'calls').innerText()).toContain('before');

    await page.getByRole('button', { name: '1 d', exact: true }).click();
    expect(new URL(page.url()).hash).toBe(`#/smartWeb/rpc?past=${DAY_S}&shift=${DAY_S}`);
    await expect.poll(() => range(live)).toContain('to now');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV of rpc over time' }).click();
    const lines = readFileSync(await (await saved).path(), 'utf8')
      .trim()
      .split('\r\n');
    expect(lines[0]).toBe(
      'time,count,errors,p50,p95,max,sessions,count before,errors before,p50 before,p95 before,max before,sessions before',
    );
    const counts = lines.slice(1).map((line) => Number(line.split(',')[1]));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(12 * 12 * NAMES.length);
  });

  it.skipIf(NO_SQLITE)('names what became slower since a mark, worst first', async () => {
    const live = await chromium.open(harness.url);
    // From the charts of the last minutes to six hours, which have the mark.
    await live.page.locator('.events').getByRole('button', { name: 'Slower since?' }).first().click();
    await live.page
      .locator('.events li', { hasText: 'index dropped' })
      .getByRole('button', { name: 'Slower since?' })
      .click();
    const slower = live.table('Slower names');
    await expect.poll(() => slower.locator('tbody th').allInnerTexts()).toHaveLength(3);
    const rows = await slower.locator('tbody tr:not(.space)').allInnerTexts();
    expect(rows.map((row) => /rpc\.(\S+)/.exec(row)?.[1])).toEqual(Object.keys(PLANTED));
    expect(rows[0]).toMatch(/▲ ×8\.0/);
    await slower.getByRole('button', { name: 'Name' }).click();
    await expect.poll(() => live.page.url()).toContain('sort.slower=name');
    const sorted = ['rpc.E.Archive.Read', 'rpc.E.Pump.Start', 'rpc.E.Valve.Open'];
    await expect.poll(() => slower.locator('tbody th').allInnerTexts()).toEqual(sorted);
    expect(await unexplainedNumbers(live.page)).toEqual([]);
    expect(await violationsOf(live.page)).toEqual([]);
    await slower.getByRole('link', { name: 'rpc.E.Pump.Start' }).click();
    await live.seeHeading('E.Pump.Start');
    await expect.poll(() => legend(live, 'duration').innerText()).toMatch(/p95\s+[\d.]+ ms/);
  });
});
