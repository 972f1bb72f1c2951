/** The verdict on a sidecar in trouble, on its page in Chromium too. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, type it, vi } from 'vitest';
import type { VerdictCode } from '../../../src/measure/verdict/rules.ts';
import type { Verdict } from '../../../src/page/live-data.ts';
import type { Defer } from '../../support/deferred.ts';
import { succeed } from '../../support/install/run.ts';
import type { Chromium } from '../../support/page/browser.ts';
import { type SidecarProcess, startConfigured, verdictOf } from '../../support/sidecar-process.ts';

const WITHIN = { timeout: 12_000, interval: 200 };
/** The addresses of the two ends of a cable between this machine and a network namespace. */
const OUTSIDE = '10.244.77.1';
export const INSIDE = '10.244.77.2';

export type Expected = readonly [code: VerdictCode, subject: Verdict['subject'], text: RegExp];

export interface Trouble {
  readonly url: string;
  readonly config?: object;
  readonly command?: readonly string[];
  readonly application?: string;
  /** Need not end before the verdict is right. */
  provoke?(sidecar: SidecarProcess): unknown;
}

/** Defines tests of situations, by `it.concurrent` unless a test changes what others use: most of their time is waiting. */
export function situationsBy(chromium: Chromium, test: typeof it | typeof it.concurrent) {
  return (name: string, wanted: Expected, prepare: (defer: Defer) => Trouble | Promise<Trouble>) =>
    test(name, async ({ onTestFinished }) => {
      const defer: Defer = (close) => onTestFinished(async () => void (await close()));
      const { url, config, command, application = 'smartWeb', provoke } = await prepare(defer);
      const sidecar = await startConfigured(defer, url, { jvm: { source: 'none' }, ...config }, {}, command);
      await expectVerdict(chromium, sidecar, wanted, () => provoke?.(sidecar), application);
    });
}

/** Resolves once the verdict is as expected, and the page shows its sentence. */
async function expectVerdict(
  chromium: Chromium,
  sidecar: SidecarProcess,
  [code, subject, text]: Expected,
  provoke: () => unknown,
  application: string,
): Promise<void> {
  const { page } = await chromium.open(`http://${sidecar.monitor}/`);
  const provoked = provoke();
  // Not `expect.poll`, which does not know to which of the tests that run side by side it belongs.
  await vi.waitFor(async () => {
    expect(await verdictOf(sidecar, application)).toMatchObject({ code, subject, text: expect.stringMatching(text) });
  }, WITHIN);
  await page.locator('.verdict-text').filter({ hasText: text }).waitFor();
  await provoked;
  await page.close();
}

/** A network namespace whose only route leads to this machine. Returns what runs a program in it. */
export async function createNetwork(defer: Defer): Promise<readonly string[]> {
  const holder = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  const inside = ['nsenter', `--net=/proc/${holder.pid}/ns/net`, '--'];
  defer(async () => {
    const ended = once(holder, 'exit');
    holder.stdin.end();
    await ended;
  });
  const device = `d2s${holder.pid}`;
  await succeed('ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', 'd2s', 'netns', String(holder.pid)]);
  await succeed('ip', ['address', 'add', `${OUTSIDE}/30`, 'dev', device]);
  await succeed('ip', ['link', 'set', device, 'up']);
  const [program = '', ...enter] = inside;
  await succeed(program, [...enter, 'ip', 'address', 'add', `${INSIDE}/30`, 'dev', 'd2s']);
  for (const name of ['lo', 'd2s']) await succeed(program, [...enter, 'ip', 'link', 'set', name, 'up']);
  return inside;
}
