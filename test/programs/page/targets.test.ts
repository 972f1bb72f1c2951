/** The targets of the page, with answers that a test provides. */
import { beforeAll, expect, it } from 'vitest';
import type { Target } from '../../../src/page/live-data.ts';
import { describeInChromium } from '../../support/page/browser.ts';
import { application, live, points } from '../../support/page/samples.ts';
import { explanationsByKeyboard, unexplainedNumbers, violationsOf } from './checks.ts';
import { ToldPage } from './told-page.ts';

const HOUR = Array.from({ length: 60 }, (_, at) => (at === 20 ? null : at % 9 === 0 ? 0.975 : 1));
const target = (name: string, differences: Partial<Target>): Target => ({
  ...{ name, kind: 'rpc', within: 0.5, share: 0.99, minute: { met: 98, missed: 2 }, hour: HOUR },
  ...{ month: { met: 199_500, missed: 500 }, allowanceUsed: 0.25 },
  ...differences,
});
const TARGETS = [
  target('E.Boiler.*', {}),
  target('P.Report.MonthlyBalanceOfTheWholePlant', {
    ...{ kind: 'sba', within: 10, share: 0.999, minute: { met: 0, missed: 0 }, hour: [null, 1] },
    ...{ month: { met: 9_980, missed: 20 }, allowanceUsed: 2 },
  }),
  target('E.Alarm.Confirm', { share: 1, month: { met: 40, missed: 0 }, allowanceUsed: null }),
  target('E.New', { month: { met: 0, missed: 0 }, allowanceUsed: 0, hour: [null] }),
];
const IDLE = points(60, () => ({}));
const told = (targets: Target[]) => live({ applications: [application(IDLE, { targets })] });

describeInChromium('the targets', (chromium) => {
  let page: ToldPage;
  const rows = () =>
    page
      .table('Targets')
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((row) => [...row.querySelectorAll('th, td')].map((cell) => cell.textContent)));

  beforeAll(async () => {
    page = await ToldPage.open(chromium);
    await page.page.setViewportSize({ width: 1366, height: 900 });
  });

  it('say what was met of the last minute and the month, the worst first', async () => {
    await page.load(told(TARGETS));
    await page.seeHeading('Targets');
    expect(await rows()).toEqual([
      ['P.Report.MonthlyBalanceOfTheWholePlant', '10.0 s', '99.9 %', '–', '99.8 %', '200 %', 'missed', ''],
      ['E.Boiler.*', '500 ms', '99 %', '98 % (98 of 100)', '99.75 %', '25 %', 'met', ''],
      ['E.Alarm.Confirm', '500 ms', '100 %', '98 % (98 of 100)', '100 %', 'none allowed', 'met', ''],
      ['E.New', '500 ms', '99 %', '98 % (98 of 100)', '–', '0 %', 'no calls', ''],
    ]);
    const lines = page.table('Targets').locator('svg');
    expect(await lines.nth(1).getAttribute('aria-label')).toBe('lowest minute 97.5 %');
    expect(await lines.nth(3).getAttribute('aria-label')).toBe('not measured yet');
  });

  it('lead to the call, or to the calls of the beginning', async () => {
    const hrefs = await page
      .table('Targets')
      .locator('a')
      .evaluateAll((links) => links.map((a) => a.getAttribute('href')));
    expect(hrefs.slice(0, 2)).toEqual([
      '#/smartWeb/sba/P.Report.MonthlyBalanceOfTheWholePlant',
      '#/smartWeb/rpc?filter=E.Boiler.',
    ]);
    await page.follow('E.Boiler.*');
    await expect.poll(() => page.page.getByRole('searchbox').inputValue()).toBe('E.Boiler.');
  });

  it.each([390, 1366, 1920])('fit, are explained, and break no rule of axe at %d px', async (width) => {
    await page.page.setViewportSize({ width, height: 900 });
    await page.load(told(TARGETS));
    await page.seeHeading('Targets');
    expect(await page.excessWidth()).toBe(0);
    // What has left is in the details of the row.
    const details = await page.table('Targets').locator('tbody [data-more]').first().getAttribute('data-more');
    expect(details?.split('\n')).toEqual([
      ...['P.Report.MonthlyBalanceOfTheWholePlant', 'Within: 10.0 s', 'Wanted: 99.9 %', 'Last minute: –'],
      ...['This month: 99.8 % (9,980 of 10,000)', 'Allowance used: 200 %', 'State: missed'],
      'Last hour: lowest minute 100 %',
    ]);
    expect(await violationsOf(page.page)).toEqual([]);
    expect(await unexplainedNumbers(page.page)).toEqual([]);
    expect((await explanationsByKeyboard(page.page)).missing).toEqual([]);
  });

  it('are absent without calls.targets, and 100 of them leave room for the tables', async () => {
    await page.load(told([]));
    await page.page.getByRole('heading', { name: 'Over time' }).or(page.page.locator('.tabs')).first().waitFor();
    expect(await page.page.locator('.targets').count()).toBe(0);
    await page.load(told(Array.from({ length: 100 }, (_, at) => target(`E.Name${at}`, {}))));
    await page.seeHeading('Targets');
    const height = await page.page.locator('.targets').evaluate((panel) => panel.clientHeight);
    expect(height).toBeLessThan(290);
  });
});
