/**
 * The live page during a drain and a restart, with held Comet clients, several applications, a
 * monitoring port with client certificates, and a real JVM that goes away and returns. A sidecar for each, one Chromium.
 */

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { logIn } from '../../support/comet/browsers.ts';
import { CometdPeer } from '../../support/comet/cometd-peer.ts';
import { startCometdPlant } from '../../support/comet/cometd-plant.ts';
import type { Browser as CometBrowser } from '../../support/comet/peer.ts';
import { Harness, type HarnessOptions } from '../../support/page/stand.ts';
import { isAvailable } from '../../support/programs.ts';
import { CertificateFolder, type Pair } from '../../support/tls/certificates.ts';
import { compileTruth, installedJvms, isCompilerInstalled, startTruth } from '../jvm/truth/truth.ts';
import { describeInChromium, launchBrowser, openPage } from './browser.ts';

const hasJdk = isAvailable('a JDK', isCompilerInstalled());

describeInChromium('the live page', () => {
  let browser: Browser;
  const cleanups: (() => Promise<unknown> | unknown)[] = [];

  beforeAll(async () => {
    browser = await launchBrowser();
  });

  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  afterAll(() => browser?.close());

  async function startHarness(options: HarnessOptions): Promise<Harness> {
    const harness = await Harness.start(options);
    cleanups.push(() => harness.stop());
    return harness;
  }

  /** Any error in the page fails the test. */
  async function open(harness: Harness, options: BrowserContextOptions = {}): Promise<Page> {
    const { page, faults, close } = await openPage(browser, harness.url, {
      viewport: { width: 1440, height: 1000 },
      ...options,
    });
    cleanups.push(async () => {
      await close();
      expect(faults).toEqual([]);
    });
    page.setDefaultTimeout(15_000);
    return page;
  }

  const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
  const figure = (page: Page, label: string) => page.locator('.figure', { hasText: label }).locator('dd');
  const eventsOf = async (page: Page) => await page.locator('.events b').allInnerTexts();

  it('marks a drain, and the start of the next process, on the time axis and in words', async () => {
    const harness = await startHarness({
      config: { stop: { deadline: '50s' } },
      env: { D2_SIDECAR_STOP_DELAY: '40s' },
    });
    await harness.call({ path: 'rpc/E.Boiler/ReadState', user: 'anna' });
    const page = await open(harness);
    const drawn = await recordMarkNames(page);
    await see(page, /^The upstream has taken connections since/);
    harness.askToStop();
    await see(
      page,
      /^The sidecar is draining: it serves on, and asks clients to leave; it stops in \d+ s at the latest\.$/,
    );
    await see(page, 'The sidecar is draining, which somebody asked for: clients are being asked to leave.');
    await page.getByText(/^What happened/).click();
    await see(page, 'The sidecar has begun to let its clients go.');
    expect(await eventsOf(page)).toEqual(['drain', 'start']);
    await drawn('drain');

    await harness.stopSidecar('SIGKILL');
    await page.getByRole('alert').filter({ hasText: 'has been lost since' }).waitFor();
    await harness.startSidecar();
    await see(page, /^The sidecar was restarted at \d\d:\d\d:\d\d: what is shown over time begins there\.$/);
    await page.waitForFunction(() => {
      const names = [...document.querySelectorAll('.events b')].map((element) => element.textContent);
      return names.includes('start') && !names.includes('drain');
    });
    await drawn('start');
  });

  it('counts the polls that the server holds, which are not calls, and the sessions and objects of Comet', async () => {
    const plant = await startCometdPlant();
    cleanups.push(() => plant.close());
    const harness = await startHarness({ upstreamPort: plant.port });
    const origin = new URL(harness.clientUrl).origin;
    const tab: CometBrowser = { userName: 'anna', cookies: new Map(), fields: {}, ext: undefined };
    const peer = new CometdPeer(origin, tab, { transport: 'long-polling' });
    cleanups.push(() => peer.kill());
    const page = await open(harness);
    await figure(page, 'Held polls').filter({ hasText: /^0$/ }).waitFor();
    await logIn(origin, { browser: tab, login: 'form', tabs: 1 }, 1);
    await peer.connect();
    expect(await peer.monitor('H.Boiler', 'channel')).toBe(true);
    plant.push('H.Boiler');
    await figure(page, 'Held polls').filter({ hasText: /^1$/ }).waitFor();
    await figure(page, 'Sessions').filter({ hasText: /^1$/ }).waitFor();
    await figure(page, 'Calls /s').filter({ hasText: /^0$/ }).waitFor();
    await page.getByRole('link', { name: 'Objects', exact: true }).click();
    const row = page.getByRole('table', { name: 'Objects' }).getByRole('row', { name: 'H.Boiler' });
    await row.waitFor();
    await expect.poll(async () => (await row.locator('td').allInnerTexts()).slice(0, 2)).toEqual(['1', '1']);
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    const session = page.getByRole('table', { name: 'Sessions' }).getByRole('row', { name: 'anna' });
    await session.waitFor();
    expect(await session.locator('td').first().innerText()).toBe('Comet, long-polling');
    peer.kill();
    await figure(page, 'Held polls').filter({ hasText: /^0$/ }).waitFor();
  });

  it('shows one of several applications, chosen by name, with an address of its own', async () => {
    const harness = await startHarness({ config: { applications: ['other/plant'] } });
    await harness.call({ path: 'rpc/E.First/Run', user: 'anna' });
    await harness.call({ path: 'rpc/E.Second/Run', user: 'boris', application: 'other/plant' });
    const page = await open(harness);
    const names = () => page.getByRole('table', { name: 'RPCs' }).locator('tbody th').allInnerTexts();
    await page.getByRole('link', { name: 'E.First.Run' }).waitFor();
    expect(await names()).toEqual(['E.First.Run']);
    const chooser = page.getByRole('combobox', { name: 'Application' });
    expect(await chooser.locator('option').allInnerTexts()).toEqual(['smartWeb', 'other/plant']);
    await chooser.selectOption('other/plant');
    await page.getByRole('link', { name: 'E.Second.Run' }).click();
    await page.getByRole('heading', { name: 'E.Second.Run' }).waitFor();
    await page.locator('.facts').waitFor();
    expect(page.url()).toMatch(/#\/other%2Fplant\/rpc\/E\.Second\.Run$/);
    await page.reload();
    await page.getByRole('heading', { name: 'E.Second.Run' }).waitFor();
    await chooser.selectOption('smartWeb');
    await page.getByRole('link', { name: 'E.First.Run' }).waitFor();
    expect(await names()).toEqual(['E.First.Run']);
  });

  it('lets a reader in by certificate over TLS, and shows what the role may see', async () => {
    const folder = new CertificateFolder();
    cleanups.push(() => folder.remove());
    const authority = folder.authority();
    const { certFile, keyFile } = folder.signed(authority, { name: 'sidecar' });
    const tls = { certFile, keyFile, clientCaFile: authority.certFile, clientAuth: 'request' };
    const certificates = [
      { name: 'collector', role: 'metrics' },
      { name: 'operator', role: 'sessions' },
    ];
    const harness = await startHarness({ isSecure: true, config: { monitor: { tls, auth: { certificates } } } });
    await harness.call({ path: 'rpc/E.Boiler/ReadState', user: 'anna' });
    const read = async (client: Pair | undefined) => {
      const page = await open(harness, {
        ignoreHTTPSErrors: true,
        ...(client && {
          clientCertificates: [
            { origin: new URL(harness.url).origin, certPath: client.certFile, keyPath: client.keyFile },
          ],
        }),
      });
      return page;
    };
    const signed = (name: string) => folder.signed(authority, { name, usage: 'clientAuth' });

    const operator = await read(signed('operator'));
    await operator.getByRole('link', { name: 'Sessions', exact: true }).click();
    await operator.getByRole('table', { name: 'Sessions' }).getByRole('link', { name: 'anna' }).waitFor();

    const collector = await read(signed('collector'));
    await collector.getByRole('link', { name: 'E.Boiler.ReadState' }).waitFor();
    await collector.getByRole('link', { name: 'Sessions', exact: true }).click();
    await see(collector, 'User names, addresses and single sessions need the role sessions');
    expect(await collector.content()).not.toContain('anna');

    for (const stranger of [signed('stranger'), undefined]) {
      const page = await read(stranger);
      await page.getByRole('heading', { name: 'Sign in to the monitoring port' }).waitFor();
      expect(await page.content()).not.toMatch(/anna|E\.Boiler/);
    }
  });

  it.runIf(hasJdk)('shows a real JVM, that it is gone, and that a new one is there', async () => {
    const [jvm] = installedJvms();
    if (jvm === undefined) throw new Error('no JVM is installed');
    const compiled = await compileTruth();
    cleanups.push(() => compiled.remove());
    const start = async (port = 0) => {
      const started = await startTruth({ jvm, collector: 'g1', classPath: compiled.classPath, port });
      cleanups.push(() => started.stop());
      return started;
    };
    const first = await start();
    await first.loadClasses(50);
    await first.gc();
    const harness = await startHarness({
      upstreamPort: first.port,
      config: { jvm: { source: 'auto', interval: '1s', staleAfter: '3s' } },
    });
    const page = await open(harness);
    await see(page, /^The JVM has been read from .*hsperfdata/);
    const heap = figure(page, 'Heap');
    await heap.filter({ hasText: /^[\d.]+ MiB of [\d.]+ [MG]iB, [\d.<]+ %$/ }).waitFor();
    await page.waitForFunction(() =>
      /(?:used|after collection): last [\d.]+ MiB/.test(document.body.textContent ?? ''),
    );

    await first.kill('SIGKILL');
    await see(page, /^The JVM has not been readable since \d\d:\d\d:\d\d: /);
    await heap.waitFor({ state: 'detached' });
    await start(first.port);
    await see(page, /^The JVM has been read from .*hsperfdata/);
    await heap.waitFor();
    await page.getByText(/^What happened/).click();
    expect(await eventsOf(page)).toEqual(expect.arrayContaining(['JVM lost', 'JVM back', 'start']));
  });
});

/** Records texts written on the charts from now on; returns a function that waits for the name of a mark. */
async function recordMarkNames(page: Page): Promise<(name: string) => Promise<unknown>> {
  await page.evaluate(() => {
    const written: string[] = [];
    Object.assign(globalThis, { written });
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (this: CanvasRenderingContext2D, ...args) {
      written.push(args[0]);
      fillText.apply(this, args);
    };
  });
  return async (name) => {
    await page.waitForFunction(
      (wanted) => (globalThis as unknown as { written: string[] }).written.includes(wanted),
      name,
    );
    await page.evaluate(() => {
      (globalThis as unknown as { written: string[] }).written.length = 0;
    });
  };
}
