/** The live page of a monitoring port with authentication: signing in, the view of each role, and nothing stored anywhere. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Folder, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { Harness } from '../../support/page/stand.ts';
import { violationsOf } from './axe.ts';
import { describeInChromium, launchBrowser, openPage, type WatchedPage } from './browser.ts';
import { explanationsByKeyboard, unexplainedNumbers } from './explained.ts';

describeInChromium('the live page with authentication', () => {
  const folder = new Folder();
  const reader = tokenLine('reader', 'metrics');
  let browser: Browser;
  let harness: Harness;
  let watched: WatchedPage;
  let page: Page;

  beforeAll(async () => {
    const usersFile = folder.write('users', `${await userLine('zofia', 'sessions', 'tajné: heslo')}\n`);
    const tokensFile = folder.write('tokens', `${reader.line}\n`);
    const config = { monitor: { auth: { usersFile, tokensFile } } };
    [browser, harness] = await Promise.all([launchBrowser(), Harness.start({ config })]);
    await harness.callMany(6, (index) => ({ path: 'rpc/P.Balance/Sum', user: `user-${index % 2}` }));
  });

  beforeEach(async () => {
    await watched?.close();
    watched = await openPage(browser, harness.url);
    page = watched.page;
    page.setDefaultTimeout(12_000);
    await page.getByRole('heading', { name: 'Sign in to the monitoring port' }).waitFor();
  });

  afterAll(async () => {
    await watched?.close();
    await browser?.close();
    await harness?.stop();
    folder.remove();
  });

  async function signIn(user: string, password: string): Promise<void> {
    await page.getByLabel('User').fill(user);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  async function useToken(token: string): Promise<void> {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Use this token' }).click();
  }

  it('asks for a credential in a form without accessibility violations, and sends no request until it has one', async () => {
    expect(await page.getByText(/^This needs a user name and password, a token/).count()).toBe(1);
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.getByRole('table').count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.evaluate(() => {
      document.dispatchEvent(new Event('visibilitychange'));
      dispatchEvent(new Event('hashchange'));
    });
    await page.evaluate(() => fetch('livez').then((response) => response.text()));
    expect(asked.map((url) => new URL(url).pathname)).toEqual(['/livez']);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('fits its form on a phone', async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    const form = await page.locator('.sign-in').boundingBox();
    expect((form?.x ?? 0) + (form?.width ?? 0)).toBeLessThanOrEqual(360);
  });

  it('lets a user in by name and password, non-ASCII included, and shows the sessions', async () => {
    await signIn('zofia', 'tajné: heslo');
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.getByRole('table', { name: 'Sessions' }).getByRole('link', { name: 'user-1' }).click();
    await page.getByRole('table', { name: 'Calls of the session' }).waitFor();
    expect(watched.faults).toEqual([]);
  });

  it('says that a password or a token was wrong, and then accepts the right one', async () => {
    await signIn('zofia', 'wrong');
    await page.getByRole('alert').filter({ hasText: 'That was not accepted. The credential is not right.' }).waitFor();
    await useToken('wrong');
    await page.getByRole('alert').filter({ hasText: 'That was not accepted.' }).waitFor();
    await useToken(reader.token);
    await page.getByRole('table', { name: 'RPCs' }).getByRole('link', { name: 'P.Balance.Sum' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('shows numbers to the role metrics, and no personal data', async () => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await useToken(reader.token);
    await page.getByRole('table', { name: 'RPCs' }).waitFor();
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.getByText('User names, addresses and single sessions need the role sessions').waitFor();
    expect(await page.locator('.hidden-sessions .facts > div').allInnerTexts()).toContain('REST\n2');
    expect(await unexplainedNumbers(page)).toEqual([]);
    expect((await explanationsByKeyboard(page)).missing).toEqual([]);
    expect(await page.content()).not.toMatch(/user-\d|127\.0\.0\.1/);
    expect(asked.filter((path) => path.endsWith('/sessions'))).toEqual([]);
  });

  it('stores a credential neither in the browser nor in the address, and forgets it with the page', async () => {
    await useToken(reader.token);
    await page.getByRole('table', { name: 'RPCs' }).waitFor();
    const kept = await page.evaluate(async () => {
      const databases = await indexedDB.databases();
      return [localStorage.length, sessionStorage.length, databases.length, document.cookie, location.search];
    });
    expect(kept).toEqual([0, 0, 0, '', '']);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in to the monitoring port' }).waitFor();
  });
});
