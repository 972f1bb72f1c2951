/** The live page of a monitoring port with authentication: signing in, the view of each role, and nothing stored anywhere. */
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/deferred.ts';
import { Folder, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { describeInChromium, type LivePage, SIGN_IN } from '../../support/page/browser.ts';
import type { Harness } from '../../support/page/stand.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { explanationsByKeyboard, unexplainedNumbers, violationsOf } from './checks.ts';

const PASSWORD = 'tajné: heslo';

describeInChromium('the live page with authentication', (chromium) => {
  const reader = tokenLine('reader', 'metrics');
  let harness: Harness;
  let live: LivePage;
  let page: LivePage['page'];

  beforeAll(async () => {
    const folder = new Folder(chromium.defer);
    const usersFile = folder.write('users', `${await userLine('zofia', 'sessions', PASSWORD)}\n`);
    const tokensFile = folder.write('tokens', `${reader.line}\n`);
    harness = await chromium.startHarness({ config: { monitor: { auth: { usersFile, tokensFile } } } });
    await harness.callMany(6, (index) => ({ path: 'rpc/P.Balance/Sum', user: `user-${index % 2}` }));
  });

  beforeEach(async () => {
    await page?.close();
    live = await chromium.open(harness.url);
    page = live.page;
    await live.seeHeading(SIGN_IN);
  });

  it('asks for a credential in a form without accessibility violations, and sends no request until it has one', async () => {
    expect(await page.getByText(/^This needs a user name and password, a token/).count()).toBe(1);
    expect(await violationsOf(page)).toEqual([]);
    expect(await page.getByRole('table').count()).toBe(0);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.evaluate(() => {
      document.dispatchEvent(new Event('visibilitychange'));
      dispatchEvent(new Event('hashchange'));
    });
    await page.evaluate(() => fetch('livez').then((response) => response.text()));
    expect(asked.map((url) => new URL(url).pathname)).toEqual(['/livez']);
    expect(await page.getByRole('alert').count()).toBe(0);
    // It fits on a phone.
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await live.excessWidth()).toBeLessThanOrEqual(0);
    const { x = 0, width = 0 } = (await page.locator('.sign-in').boundingBox()) ?? {};
    expect(x + width).toBeLessThanOrEqual(360);
  });

  it('lets a user in by name and password, non-ASCII included, and shows the sessions', async () => {
    await live.signIn('zofia', PASSWORD);
    await live.follow('Sessions');
    await live.table('Sessions').getByRole('link', { name: 'user-1' }).click();
    await live.table('Calls of the session').waitFor();
  });

  it('says that a password or a token was wrong, and then accepts the right one', async () => {
    await live.signIn('zofia', 'wrong');
    await live.seeAlert('That was not accepted. The credential is wrong.');
    await live.useToken('wrong');
    await live.seeAlert('That was not accepted.');
    await live.useToken(reader.token);
    await live.table('RPCs').getByRole('link', { name: 'P.Balance.Sum' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('shows numbers to the role metrics, and no personal data', async () => {
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await live.useToken(reader.token);
    await live.table('RPCs').waitFor();
    await live.follow('Sessions');
    await live.see('User names, addresses and single sessions need the role sessions');
    expect(await page.locator('.hidden-sessions .figure').allInnerTexts()).toContain('REST\n2');
    expect(await unexplainedNumbers(page)).toEqual([]);
    expect((await explanationsByKeyboard(page)).missing).toEqual([]);
    expect(await page.content()).not.toMatch(/user-\d|127\.0\.0\.1/);
    expect(asked.filter((path) => path.endsWith('/sessions'))).toEqual([]);
  });

  it('stores a credential neither in the browser nor in the address, and forgets it with the page', async () => {
    await live.useToken(reader.token);
    await live.table('RPCs').waitFor();
    const kept = await page.evaluate(async () => {
      const databases = await indexedDB.databases();
      return [localStorage.length, sessionStorage.length, databases.length, document.cookie, location.search];
    });
    expect(kept).toEqual([0, 0, 0, '', '']);
    await page.reload();
    await live.seeHeading(SIGN_IN);
  });

  it('lets a reader in by certificate over TLS, and shows what the role may see', async () => {
    const folder = new CertificateFolder(temporaryFolder(chromium.defer));
    const authority = folder.authority();
    const own = folder.signed(authority, { name: 'sidecar' });
    const certificates = Object.entries({ collector: 'metrics', operator: 'sessions' });
    const monitor = {
      tls: { ...own, clientCaFile: authority.certFile, clientAuth: 'request' },
      auth: { certificates: certificates.map(([name, role]) => ({ name, role })) },
    };
    const secure = await chromium.startHarness({ isSecure: true, config: { monitor } });
    await secure.call({ path: 'rpc/E.Boiler/ReadState', user: 'anna' });
    const openAs = (...names: readonly string[]) => {
      const clientCertificates = names.map((name) => {
        const { certFile, keyFile } = folder.signed(authority, { name, usage: 'clientAuth' });
        return { origin: new URL(secure.url).origin, certPath: certFile, keyPath: keyFile };
      });
      return chromium.open(secure.url, { ignoreHTTPSErrors: true, clientCertificates });
    };

    const operator = await openAs('operator');
    await operator.follow('Sessions');
    await operator.table('Sessions').getByRole('link', { name: 'anna' }).waitFor();

    const collector = await openAs('collector');
    await collector.page.getByRole('link', { name: 'E.Boiler.ReadState' }).waitFor();
    await collector.follow('Sessions');
    await collector.see('User names, addresses and single sessions need the role sessions');
    expect(await collector.page.content()).not.toContain('anna');

    for (const stranger of [await openAs('stranger'), await openAs()]) {
      await stranger.seeHeading(SIGN_IN);
      expect(await stranger.page.content()).not.toMatch(/anna|E\.Boiler/);
    }
  });
});
