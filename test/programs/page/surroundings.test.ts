/**
 * The live page during a drain and a restart, with held Comet clients, several applications, a
 * monitoring port with client certificates, and a real JVM that goes away and returns. A sidecar for each, one Chromium.
 */

import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { logIn } from '../../support/comet/browsers.ts';
import { CometdPeer } from '../../support/comet/cometd-peer.ts';
import { startCometdPlant } from '../../support/comet/cometd-plant.ts';
import type { Browser as CometBrowser } from '../../support/comet/peer.ts';
import type { Harness } from '../../support/page/stand.ts';
import { CertificateFolder, type Pair } from '../../support/tls/certificates.ts';
import { compileTruth, hasJdk, JVMS, startTruth } from '../jvm/truth/truth.ts';
import { type Chromium, describeInChromium, SIGN_IN } from './browser.ts';

const tests = (chromium: Chromium) => {
  const open = async (harness: Harness, options: BrowserContextOptions = {}) => {
    const live = await chromium.open(harness.url, options);
    live.page.setDefaultTimeout(15_000);
    return live;
  };

  it('marks a drain, and the start of the next process, on the time axis and in words', async () => {
    const harness = await chromium.startHarness({
      config: { stop: { deadline: '50s' } },
      env: { D2_SIDECAR_STOP_DELAY: '40s' },
    });
    await harness.call({ path: 'rpc/E.Boiler/ReadState', user: 'anna' });
    const live = await open(harness);
    const { page } = live;
    const drawn = await recordMarkNames(page);
    await live.see(/^The upstream has taken connections since/);
    harness.askToStop();
    await live.see(
      /^The sidecar is draining: it keeps serving, and asks clients to leave; it stops in \d+ s at the latest\.$/,
    );
    await live.see('The sidecar is draining, which somebody asked for: clients are being asked to leave.');
    await page.getByText(/^What happened/).click();
    await live.see('The sidecar has begun to drain.');
    expect(await live.events()).toEqual(['drain', 'start']);
    await drawn('drain');

    await harness.stopSidecar('SIGKILL');
    await live.seeAlert('has been lost since');
    await harness.startSidecar();
    await live.see(/^The sidecar was restarted at \d\d:\d\d:\d\d: the charts begin there\.$/);
    await expect.poll(() => live.events(), { timeout: 15_000 }).toEqual(['start']);
    await drawn('start');
  });

  it('counts the polls that the server holds, which are not calls, and the sessions and objects of Comet', async () => {
    const plant = await startCometdPlant();
    chromium.defer(() => plant.close());
    const harness = await chromium.startHarness({ upstreamPort: plant.port });
    const origin = new URL(harness.clientUrl).origin;
    const tab: CometBrowser = { userName: 'anna', cookies: new Map(), fields: {}, ext: undefined };
    const peer = new CometdPeer(origin, tab, { transport: 'long-polling' });
    chromium.defer(() => peer.kill());
    const live = await open(harness);
    await live.figure('Held polls').filter({ hasText: /^0$/ }).waitFor();
    await logIn(origin, { browser: tab, login: 'form', tabs: 1 }, 1);
    await peer.connect();
    expect(await peer.monitor('H.Boiler', 'channel')).toBe(true);
    plant.push('H.Boiler');
    await live.figure('Held polls').filter({ hasText: /^1$/ }).waitFor();
    await live.figure('Sessions').filter({ hasText: /^1$/ }).waitFor();
    await live.figure('Calls /s').filter({ hasText: /^0$/ }).waitFor();
    await live.follow('Objects');
    const row = live.table('Objects').getByRole('row', { name: 'H.Boiler' });
    await row.waitFor();
    await expect.poll(async () => (await row.locator('td').allInnerTexts()).slice(0, 2)).toEqual(['1', '1']);
    await live.follow('Sessions');
    const session = live.table('Sessions').getByRole('row', { name: 'anna' });
    await session.waitFor();
    expect(await session.locator('td').first().innerText()).toBe('Comet, long-polling');
    peer.kill();
    await live.figure('Held polls').filter({ hasText: /^0$/ }).waitFor();
  });

  it('shows one of several applications, chosen by name, with its own address', async () => {
    const harness = await chromium.startHarness({ config: { applications: ['other/plant'] } });
    await harness.call({ path: 'rpc/E.First/Run', user: 'anna' });
    await harness.call({ path: 'rpc/E.Second/Run', user: 'boris', application: 'other/plant' });
    const live = await open(harness);
    const { page } = live;
    const names = () => live.namesIn('RPCs');
    await page.getByRole('link', { name: 'E.First.Run' }).waitFor();
    expect(await names()).toEqual(['E.First.Run']);
    const chooser = page.getByRole('combobox', { name: 'Application' });
    expect(await chooser.locator('option').allInnerTexts()).toEqual(['smartWeb', 'other/plant']);
    await chooser.selectOption('other/plant');
    await page.getByRole('link', { name: 'E.Second.Run' }).click();
    await live.seeHeading('E.Second.Run');
    await page.locator('.facts').waitFor();
    expect(page.url()).toMatch(/#\/other%2Fplant\/rpc\/E\.Second\.Run$/);
    await page.reload();
    await live.seeHeading('E.Second.Run');
    await chooser.selectOption('smartWeb');
    await page.getByRole('link', { name: 'E.First.Run' }).waitFor();
    expect(await names()).toEqual(['E.First.Run']);
  });

  it('lets a reader in by certificate over TLS, and shows what the role may see', async () => {
    const folder = new CertificateFolder();
    chromium.defer(() => folder.remove());
    const authority = folder.authority();
    const { certFile, keyFile } = folder.signed(authority, { name: 'sidecar' });
    const tls = { certFile, keyFile, clientCaFile: authority.certFile, clientAuth: 'request' };
    const certificates = [
      { name: 'collector', role: 'metrics' },
      { name: 'operator', role: 'sessions' },
    ];
    const harness = await chromium.startHarness({
      isSecure: true,
      config: { monitor: { tls, auth: { certificates } } },
    });
    await harness.call({ path: 'rpc/E.Boiler/ReadState', user: 'anna' });
    const openAs = (client: Pair | undefined) => {
      const pair = client && { certPath: client.certFile, keyPath: client.keyFile };
      const clientCertificates = pair === undefined ? [] : [{ origin: new URL(harness.url).origin, ...pair }];
      return open(harness, { ignoreHTTPSErrors: true, clientCertificates });
    };
    const signed = (name: string) => folder.signed(authority, { name, usage: 'clientAuth' });

    const operator = await openAs(signed('operator'));
    await operator.follow('Sessions');
    await operator.table('Sessions').getByRole('link', { name: 'anna' }).waitFor();

    const collector = await openAs(signed('collector'));
    await collector.page.getByRole('link', { name: 'E.Boiler.ReadState' }).waitFor();
    await collector.follow('Sessions');
    await collector.see('User names, addresses and single sessions need the role sessions');
    expect(await collector.page.content()).not.toContain('anna');

    for (const client of [signed('stranger'), undefined]) {
      const stranger = await openAs(client);
      await stranger.seeHeading(SIGN_IN);
      expect(await stranger.page.content()).not.toMatch(/anna|E\.Boiler/);
    }
  });

  it.runIf(hasJdk)('shows a real JVM, that it is gone, and that a new one is there', async () => {
    const classPath = await compileTruth(chromium.defer);
    const start = async (port = 0) => {
      const started = await startTruth({ jvm: JVMS[0]!, collector: 'g1', classPath, port });
      chromium.defer(() => started.stop());
      return started;
    };
    const first = await start();
    await first.tell('load 50');
    await first.tell('gc');
    const harness = await chromium.startHarness({
      upstreamPort: first.port,
      config: { jvm: { source: 'auto', interval: '1s', staleAfter: '3s' } },
    });
    const live = await open(harness);
    const { page } = live;
    await live.see(/^The JVM has been read from .*hsperfdata/);
    const heap = live.figure('Heap');
    await heap.filter({ hasText: /^[\d.]+ MiB of [\d.]+ [MG]iB, [\d.<]+ %$/ }).waitFor();
    await page.waitForFunction(() =>
      /(?:used|after collection): last [\d.]+ MiB/.test(document.body.textContent ?? ''),
    );

    await first.kill('SIGKILL');
    await live.see(/^The JVM has not been readable since \d\d:\d\d:\d\d: /);
    await heap.waitFor({ state: 'detached' });
    await start(first.port);
    await live.see(/^The JVM has been read from .*hsperfdata/);
    await heap.waitFor();
    await page.getByText(/^What happened/).click();
    expect(await live.events()).toEqual(expect.arrayContaining(['JVM lost', 'JVM back', 'start']));
  });
};

describeInChromium('the live page', tests, { closing: afterEach });

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
