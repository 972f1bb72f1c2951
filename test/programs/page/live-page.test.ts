/**
 * The live page in a browser, with the built sidecar and real calls: its content, and its reaction when the
 * upstream, the JVM's source or the sidecar itself goes away and returns. Then another one, with several applications.
 */
import { beforeAll, expect, it } from 'vitest';
import type { Application } from '../../support/net.ts';
import { describeInChromium, type LivePage } from '../../support/page/browser.ts';
import type { Harness } from '../../support/page/stand.ts';
import { explanationsByKeyboard, unexplainedNumbers, violationsOf } from './checks.ts';

const USERS = ['anna', 'boris', 'žofia'];
const RPCS = ['E.Boiler/ReadState', 'E.Boiler/SetPoint', 'E.Reports/Fails', 'P.Balance/Sum'];
const OBJECTS = ['H.Boiler.Temperature', 'H.Turbine.Speed'];

async function makeTraffic(harness: Harness): Promise<void> {
  // First: they are accepted and begin the sessions, which count the failed calls below.
  await harness.callMany(20, (index) => ({
    path: `object/${OBJECTS[index % 2]}`,
    user: USERS[index % 3] ?? '',
    method: 'GET',
  }));
  await harness.callMany(60, (index) => ({ path: `rpc/${RPCS[index % 4]}`, user: USERS[index % 3] ?? '' }));
  // More of one, so that sorting has an effect.
  await harness.callMany(30, () => ({ path: 'rpc/P.Balance/Sum', user: 'anna' }));
}

/** Whether the first chart has a line in its colour: two points make one. */
function hasDrawnChart(): boolean {
  const canvas = document.querySelector<HTMLCanvasElement>('figure canvas');
  const colour = getComputedStyle(document.documentElement).getPropertyValue('--series-a').trim();
  const probe = document.createElement('canvas').getContext('2d');
  const drawn = canvas?.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data;
  if (!probe || !drawn || colour === '') return false;
  probe.fillStyle = colour;
  probe.fillRect(0, 0, 1, 1);
  const [red, green, blue] = probe.getImageData(0, 0, 1, 1).data;
  let pixels = 0;
  for (let at = 0; at < drawn.length; at += 4) {
    if (drawn[at] === red && drawn[at + 1] === green && drawn[at + 2] === blue) pixels += 1;
  }
  return pixels > 10;
}

describeInChromium('the live page', (chromium) => {
  let harness: Harness;
  let live: LivePage;
  let page: LivePage['page'];

  beforeAll(async () => {
    harness = await chromium.startHarness({ hasJvm: true });
    await makeTraffic(harness);
    live = await chromium.open(harness.url);
    page = live.page;
  });

  const announced = (text: string) =>
    page.waitForFunction((expected) => document.querySelector('[role=status]')?.textContent?.includes(expected), text);
  const shownAs = () => page.locator('main').getAttribute('class');

  it('shows recent calls, and the state of everything as sentences', async () => {
    await live.table('RPCs').getByRole('link', { name: 'P.Balance.Sum' }).waitFor();
    await live.see(/^The upstream has accepted connections since \d\d:\d\d:\d\d\.$/);
    await live.see(/^The JVM has been read from /);
    await live.see(/^Measuring began \d+ s ago/);
    const cells = await live.table('RPCs').getByRole('row', { name: 'P.Balance.Sum' }).locator('td').allInnerTexts();
    expect([cells[0], cells[4]]).toEqual(['45', '0']);
    expect(new Set(await live.namesIn('RPCs'))).toEqual(new Set(RPCS.map((path) => path.replace('/', '.'))));
  });

  it('charts the calls, and says the same in words', async () => {
    await page.waitForFunction(() =>
      /RPC: last [\d.]+, between/.test(document.querySelector('figure')?.textContent ?? ''),
    );
    expect(await page.locator('figure canvas').count()).toBe(6);
    await page.waitForFunction(hasDrawnChart);
    await page.getByRole('slider').focus();
    await page.keyboard.press('ArrowLeft');
    await page.waitForFunction(() =>
      /^\d\d:\d\d:\d\d\. Calls a second: RPC/.test(
        document.querySelector('[role=slider]')?.getAttribute('aria-valuetext') ?? '',
      ),
    );
  });

  it('explains a number under the pointer, and a focused label, until Escape', async () => {
    await live.table('RPCs').getByRole('row', { name: 'P.Balance.Sum' }).locator('td').nth(2).hover();
    const tooltip = page.locator('.tooltip');
    await tooltip.getByText('The clock of a call starts when the head of its request has been read').waitFor();
    await page.mouse.move(5, 5);
    await tooltip.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Held polls' }).focus();
    await tooltip.getByText('They are in no duration and no rate of calls').waitFor();
    await page.keyboard.press('Escape');
    await tooltip.waitFor({ state: 'detached' });
  });

  it.each([
    ['the RPCs', '#/smartWeb/rpc', '.data-table'],
    ['the objects', '#/smartWeb/objects', '.data-table'],
    ['the sessions', '#/smartWeb/sessions', '.data-table'],
    [
      'one RPC',
      '#/smartWeb/rpc/E.Reports.Fails',
      '.tables .figure',
      'Calls\n15',
      'Errors\n15 (100 %)',
      'Status 500\n15',
    ],
    ['one object', '#/smartWeb/objects/H.Turbine.Speed', '.tables .figure', 'Values\n10'],
    ['one session', '#/smartWeb/sessions', '.tables .figure'],
  ])('explains every number to the pointer and to the keyboard, beside %s', async (name, hash, place, ...facts) => {
    await page.goto(`${harness.url}${hash}`);
    if (name === 'one session') await live.table('Sessions').getByRole('link', { name: 'anna' }).click();
    await page.locator(place).first().waitFor();
    expect(await page.locator('.tables .figure').allInnerTexts()).toEqual(expect.arrayContaining(facts));
    expect(await unexplainedNumbers(page)).toEqual([]);
    const { count, missing } = await explanationsByKeyboard(page);
    expect(missing).toEqual([]);
    // Figures and charts alone are 13.
    expect(count).toBeGreaterThan(15);
    await page.goto(`${harness.url}#/smartWeb/rpc`);
    await live.table('RPCs').waitFor();
  });

  it('says for whom a call fails, and since when', async () => {
    await page.goto(`${harness.url}#/smartWeb/rpc/E.Reports.Fails`);
    const callers = page.locator('.item table:has(caption:text("Who calls it")) tbody');
    await expect.poll(() => callers.innerText()).toMatch(/^(?:\S+\s+127\.0\.0\.1\s+5\s+33 %\s+5 \(100 %\)[^%]*){3}$/);
    await expect.poll(() => page.locator('.item').innerText()).toMatch(/Errors since\s+\d\d:\d\d/);
    await page.goto(`${harness.url}#/smartWeb/rpc`);
    await live.table('RPCs').waitFor();
  });

  it('shows the rules of its verdict', async () => {
    await live.see(/^The server: \d+ % of the calls failed in the last minute/);
    await page.getByText('How this is judged').click();
    await live.see(/Applies when 5 % of the calls of the last minute failed/);
    expect(await page.locator('.rules .applies b').allInnerTexts()).toEqual(['calls-fail']);
    await page.getByText('How this is judged').click();
  });

  it('leads from the sessions to one of them by a click on its row, and back by the back button', async () => {
    await live.follow('Sessions');
    await live.table('Sessions').getByRole('row', { name: 'anna' }).locator('td').nth(3).click();
    await live.seeHeading('anna');
    const calls = live.table('Calls of the session');
    await calls.waitFor();
    expect(await calls.getByRole('row', { name: 'P.Balance.Sum' }).locator('td').nth(1).innerText()).toBe('35');
    expect(page.url()).toMatch(/#\/smartWeb\/sessions\/[\w-]+$/);
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('anna');
    await page.goBack();
    await live.table('Sessions').waitFor();
    expect(new Set(await live.namesIn('Sessions'))).toEqual(new Set(USERS));
  });

  it.each([
    ['light', 1440, 'light'],
    ['dark', 1440, 'dark'],
    ['on a phone', 360, 'light'],
  ] as const)('has no accessibility violation, %s', async (_name, width, colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    await page.getByText('How this is judged').click();
    expect(await violationsOf(page)).toEqual([]);
    await live.follow('Sessions');
    await live.table('Sessions').getByRole('link', { name: 'boris' }).click();
    await live.table('Calls of the session').waitFor();
    expect(await violationsOf(page)).toEqual([]);
    expect(await live.excessWidth()).toBeLessThanOrEqual(0);
    await live.follow('RPCs');
    await live.table('RPCs').waitFor();
    await page.getByText('How this is judged').click();
  });

  it('shows that the JVM and the upstream are lost, since when and why, and that they are back', async () => {
    await page.setViewportSize({ width: 1440, height: 1000 });
    harness.jvm.close();
    await live.see(/^The JVM has not been readable since \d\d:\d\d:\d\d: /);
    await announced('The JVM has not been readable');
    restart(harness.jvm);
    await live.see(/^The JVM has been read from /);
    await announced('The JVM has been read');
    harness.upstream.close();
    expect(await harness.call({ path: 'rpc/P.Balance/Sum', user: 'anna' })).toBe(502);
    await live.see(/^No connection to the upstream has opened since \d\d:\d\d:\d\d \(ECONNREFUSED\)\.$/);
    await live.see(/^The server: it does not accept connections \(ECONNREFUSED\)\./);
    await announced('No connection to the upstream');
    restart(harness.upstream);
    await live.see(/^The upstream has accepted connections since \d\d:\d\d:\d\d\.$/);
    await announced('The upstream has accepted connections');
    expect(await live.events()).toEqual(
      expect.arrayContaining(['upstream lost', 'upstream back', 'JVM lost', 'JVM back', 'start']),
    );
  });

  it('says since when the sidecar is gone, greys out its numbers, and starts afresh with a new process', async () => {
    await harness.stopSidecar('SIGKILL');
    await live.seeAlert(
      /^The connection to the sidecar has been lost since [\d:]{8} \(no connection\)\. The numbers are from then\. Trying again every 2 s\.$/,
    );
    expect(await shownAs()).toBe('stale');
    expect(await live.namesIn('RPCs')).toContain('P.Balance.Sum');
    await harness.startSidecar();
    await live.see(/^The sidecar was restarted at \d\d:\d\d:\d\d: the charts begin there\.$/);
    await live.see('No RPC has been called yet.');
    await live.see(/^No traffic of smartWeb has passed since \d\d:\d\d:\d\d\./);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await shownAs()).toBe('');
    await announced('The sidecar was restarted');
    await expect.poll(() => live.events()).toEqual(['start']);
  });
});

describeInChromium('the live page of another sidecar', (chromium) => {
  it('shows one of several applications, chosen by name, with its own address', async () => {
    const harness = await chromium.startHarness({ config: { applications: ['other/plant'] } });
    await harness.call({ path: 'rpc/E.First/Run', user: 'anna' });
    await harness.call({ path: 'rpc/E.Second/Run', user: 'boris', application: 'other/plant' });
    const live = await chromium.open(harness.url);
    const { page } = live;
    await page.getByRole('link', { name: 'E.First.Run' }).waitFor();
    expect(await live.namesIn('RPCs')).toEqual(['E.First.Run']);
    const chooser = page.getByRole('combobox', { name: 'Application' });
    expect(await chooser.locator('option').allInnerTexts()).toEqual(['smartWeb', 'other/plant']);
    await chooser.selectOption('other/plant');
    await page.getByRole('link', { name: 'E.Second.Run' }).click();
    await live.seeHeading('E.Second.Run');
    await page.locator('.tables .figure').first().waitFor();
    expect(page.url()).toMatch(/#\/other%2Fplant\/rpc\/E\.Second\.Run$/);
    await page.reload();
    await live.seeHeading('E.Second.Run');
  });
});

/** On its old port. */
const restart = ({ server, port }: Application) => server.listen(port, '127.0.0.1');
