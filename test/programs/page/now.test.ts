/** The live parts of the page besides its sentences: tiles, charts, tables and links, with answers that a test provides. */
import { beforeAll, expect, it } from 'vitest';
import type { CallRow, Live } from '../../../src/page/live-data.ts';
import { describeInChromium } from '../../support/page/browser.ts';
import { application, FINE, live, points } from '../../support/page/samples.ts';
import { type Told, ToldPage } from './told-page.ts';

const MIB = 2 ** 20;
const AGAIN = 'Trying again every 2 s.';

/** A step of 10 calls a second as RPC, and one as SBA; slower and worse from step to step. */
const HISTORY = points(60, (at) => ({
  rpc: { count: 50, errors: at % 2, p50: 0.01, p95: 0.02 + at / 1_000, p99: 0.05 + at / 1_000 },
  sba: { count: 5, errors: 1, p50: 0.2, p95: 0.3, p99: 0.4 },
  heapUsed: (300 + at) * MIB,
  heapAfterGc: 200 * MIB,
  gcPauseMs: 25,
}));
const TOLD = live({
  seq: HISTORY.length,
  jvm: { state: 'available', source: 'hsperfdata', since: null, reason: null, heapMax: 1_024 * MIB },
  applications: [
    application(HISTORY, {
      verdict: {
        ...{ subject: 'server', code: 'calls-fail', kind: 'sba', name: 'P.Balance.Year.Close', since: FINE.since },
        text: 'The server: 20 % of the calls failed in the last minute (12 of 60).',
      },
      heldPolls: 3,
    }),
  ],
});

const row = (name: string, rate: number, errors = 0): CallRow => ({
  ...{ name, count: 100, errors, rate, p50: 0.01, p99: 0.02, ended: 100 + errors },
  spark: Array.from({ length: 12 }, (_, at) => at),
});

describeInChromium('the start page', (chromium) => {
  let told: ToldPage;
  let page: ToldPage['page'];

  beforeAll(async () => {
    told = await ToldPage.open(chromium);
    page = told.page;
    told.rows = [row('E.Fast', 9), row('E.Slow', 1), row('E.Worse', 5, 25)];
  });

  const names = () => told.namesIn('RPCs');
  const textOf = async (selector: string) =>
    (await page.locator(selector).allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  const legendOf = (chart: string) => textOf(`figure[aria-labelledby="chart-chart-${chart}"] .legend li`);
  const inView = (selector: string) =>
    page.locator(selector).evaluate((element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });

  it('shows the same numbers in a tile and beside the chart of its name', async () => {
    await told.load(TOLD);
    await told.figure('Calls /s').filter({ hasText: '11.0' }).waitFor();
    expect(await legendOf('rate')).toEqual(['last minute', 'all 11.0', 'RPC 10.0', 'SBA 1.00']);
    expect([await told.figure('RPC p50').innerText(), await told.figure('RPC p95').innerText()]).toEqual([
      '10.0 ms',
      '79.0 ms',
    ]);
    expect(await told.figure('RPC p99').innerText()).toBe('109 ms');
    expect(await legendOf('duration')).toEqual(['last minute', 'p50 10.0 ms', 'p95 79.0 ms', 'p99 109 ms']);
    expect(await told.figure('Errors').innerText()).toBe('18 2.7 % of RPC and SBA');
    expect(await legendOf('errors')).toEqual([
      'last minute',
      'RPC and SBA 18 (2.7 %)',
      'RPC 6',
      'SBA 12',
      'client left 0',
    ]);
    expect([await told.figure('Sessions').innerText(), await told.figure('Held polls').innerText()]).toEqual([
      '2',
      '3',
    ]);
    expect(await told.figure('Heap').innerText()).toBe('359 MiB of 1.00 GiB, 35 %');
    expect(await legendOf('heap')).toEqual(['now', 'maximum 1.00 GiB', 'used 359 MiB', 'after collection 200 MiB']);
  });

  it.each([
    ['Calls /s', '#/smartWeb/rpc', 'RPCs'],
    ['Errors', '#/smartWeb/sba', 'SBAs'],
    ['Sessions', '#/smartWeb/sessions', 'Sessions'],
  ])('leads from the tile %s to its table, on a phone as well', async (label, hash, name) => {
    told.rows = [];
    await page.setViewportSize({ width: 360, height: 700 });
    await told.load(TOLD, '#/smartWeb/objects');
    const link = told.figure(label).getByRole('link');
    expect(await link.getAttribute('aria-label')).toMatch(new RegExp(`^[\\d.,]+.*, to the table of ${name}$`));
    await link.focus();
    await page.keyboard.press('Enter');
    await told.table(name).waitFor();
    expect(new URL(page.url()).hash).toBe(hash);
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('tables-heading');
    expect(await inView('.tabs')).toBe(true);
  });

  it('leads from the verdict to the worst call', async () => {
    await told.load(TOLD);
    await page.getByRole('link', { name: 'Look at P.Balance.Year.Close' }).click();
    await told.seeHeading('P.Balance.Year.Close');
    expect(new URL(page.url()).hash).toBe('#/smartWeb/sba/P.Balance.Year.Close');
    expect(await inView('.item-title')).toBe(true);
  });

  it('keeps the order of rows, but not their numbers, while the pointer is over them', async () => {
    await page.setViewportSize({ width: 1440, height: 1000 });
    told.rows = [row('E.Fast', 9), row('E.Slow', 1), row('E.Worse', 5)];
    await told.load(TOLD);
    await expect.poll(names).toEqual(['E.Fast', 'E.Worse', 'E.Slow']);
    await page.getByRole('row', { name: 'E.Worse' }).hover();
    told.rows = [row('E.Fast', 9), row('E.Slow', 80), row('E.New', 90), row('E.Worse', 5)];
    await page.getByRole('row', { name: 'E.Slow' }).filter({ hasText: '80.0' }).waitFor();
    expect(await names()).toEqual(['E.Fast', 'E.Worse', 'E.Slow', 'E.New']);
    // A reader's action applies at once.
    const rate = page.getByRole('columnheader', { name: /^Rate/ });
    await rate.getByRole('button').click();
    await expect.poll(names).toEqual(['E.Worse', 'E.Fast', 'E.Slow', 'E.New']);
    expect(await rate.getAttribute('aria-sort')).toBe('ascending');
  });

  it('keeps sorting and filter in the link, so that the back button and a reload find them', async () => {
    told.rows = [row('E.Fast', 9), row('E.Slow', 1), row('E.Worse', 5, 25)];
    await told.load(TOLD, '#/smartWeb/rpc');
    await page.getByRole('columnheader', { name: /^Name/ }).getByRole('button').click();
    await page.getByRole('searchbox', { name: 'Filter RPCs' }).fill('E. w');
    await expect.poll(names).toEqual(['E.Slow', 'E.Worse']);
    await told.see('2 of 3');
    await page.getByLabel('with errors').check();
    await expect.poll(names).toEqual(['E.Worse']);
    expect(new URL(page.url()).hash).toBe('#/smartWeb/rpc?sort=name&filter=E.+w&errors=');
    await page.reload();
    await expect.poll(names).toEqual(['E.Worse']);
    await page.goBack();
    await expect.poll(names).toEqual(['E.Slow', 'E.Worse']);
    await page.goBack();
    await expect.poll(names).toEqual(['E.Fast', 'E.Worse', 'E.Slow']);
  });

  it('saves the rows as CSV, and shows its keys', async () => {
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV of RPCs', exact: true }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('RPCs.csv');
    await page.keyboard.press('?');
    await page.getByText('shows or hides this list').waitFor();
    await page.keyboard.press('?');
    expect(await page.getByText('shows or hides this list').isVisible()).toBe(false);
  });

  const BUSY = points(12, () => ({ rpc: { count: 10, errors: 0, p50: 0.01, p95: 0.02, p99: 0.03 } }));
  const busy = (state: Partial<Live> = {}) => live({ ...state, seq: 12, applications: [application(BUSY)] });

  const METRICS_ROLE = 'the role sessions; you have the role metrics.';
  const asMetrics = busy({ role: 'metrics' });
  it.each<[what: string, answer: Told, hash: string, text: string]>([
    ['no answer has arrived yet', 'held', '', 'Reading the first numbers …'],
    ['the port refuses', { status: 429, detail: 'Too many.', retryAfterS: 7 }, '', 'Too many. Trying again in 7 s.'],
    ['the port refuses without a reason', { status: 503, detail: '' }, '', 'The monitoring port answers with 503.'],
    ['there is no connection', 'lost', '', `The monitoring port cannot be reached (no connection). ${AGAIN}`],
    [
      'the application is unknown',
      busy(),
      'other/rpc',
      'There is no application “other” here. Choose another one above.',
    ],
    ['no RPC was called', busy(), 'smartWeb/rpc', 'No RPC has been called yet.'],
    ['no SBA RPC was called', busy(), 'smartWeb/sba', 'No SBA RPC has been called yet.'],
    ['there is no object', busy(), 'smartWeb/objects', 'No object has been monitored or read yet.'],
    ['there is no session', busy(), 'smartWeb/sessions', 'Nobody is logged in.'],
    ['one session is hidden', asMetrics, 'smartWeb/sessions/x', `A single session needs ${METRICS_ROLE}`],
    ['an RPC is unknown', busy(), 'smartWeb/rpc/E.None', 'Nothing of this name has been seen since counting began.'],
  ])('says in words that %s', async (_, answer, hash, text) => {
    told.rows = [];
    await told.load(answer, `#/${hash}`);
    const places = 'main .empty, main .sign-in > p:first-of-type, main .hidden-sessions > p, main .gone, [role=alert]';
    await expect.poll(() => textOf(places), { timeout: 12_000 }).toEqual([text]);
  });

  it('says why the history cannot be written, and why it cannot be read', async () => {
    const failure = 'The history cannot be written: database or disk is full.';
    await told.load(busy({ archive: { failure } }), '#/smartWeb/rpc?past=86400');
    const notes = () => textOf('.past .note');
    await expect.poll(notes, { timeout: 12_000 }).toEqual([failure, expect.stringMatching(/history\.file/)]);
  });
});
