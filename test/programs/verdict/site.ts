/** A sidecar in trouble, its verdict, and its page in Chromium. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { VerdictCode } from '../../../src/measure/verdict/verdict.ts';
import type { Verdict } from '../../../src/page/live-data.ts';
import { jsonOf } from '../../support/configured-sidecar.ts';
import { type Defer, temporaryFolder } from '../../support/deferred.ts';
import type { Chromium } from '../../support/page/browser.ts';
import { type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts';

const run = promisify(execFile);

/** How soon the verdict has to name the trouble. */
export const WITHIN_MS = 12_000;
/** The addresses of the two ends of a cable between this machine and a network namespace. */
export const [OUTSIDE, INSIDE] = ['10.244.77.1', '10.244.77.2'];

export interface Expected {
  readonly code: VerdictCode;
  readonly subject: Verdict['subject'];
  readonly text: RegExp;
}

/** Resolves once the verdict is as expected, and the page shows its sentence. `provoke` begins the trouble, and is not awaited. */
export async function expectVerdict(
  chromium: Chromium,
  { monitor }: SidecarProcess,
  { code, subject, text }: Expected,
  provoke: () => Promise<unknown> = async () => undefined,
  application = 'smartWeb',
): Promise<void> {
  const { page } = await chromium.open(`http://${monitor}/`);
  const provoked = provoke();
  const url = `http://${monitor}/${application}/api/rest/v0/admin/d2/verdict`;
  await expect
    .poll(() => jsonOf<Verdict>(url), { timeout: WITHIN_MS, interval: 200 })
    .toMatchObject({ code, subject, text: expect.stringMatching(text) });
  await page.locator('.verdict-text').filter({ hasText: text }).waitFor();
  await provoked;
  await page.close();
}

/** Starts the built sidecar before `url`, with further keys of the configuration. It is killed in the end. */
export async function startBefore(
  defer: Defer,
  url: string,
  config: Readonly<Record<string, object>> = {},
  { command, host = '127.0.0.1' }: { readonly command?: readonly string[]; readonly host?: string } = {},
): Promise<SidecarProcess> {
  const file = path.join(temporaryFolder(defer), 'sidecar.yaml');
  const { upstream, listen, ...others } = config;
  // JSON is YAML.
  const text = JSON.stringify({
    upstream: { url, ...upstream },
    listen: { host: '127.0.0.1', port: 0, ...listen },
    monitor: { host, port: 0, ...(host !== '127.0.0.1' && { auth: 'none' }) },
    ...{ jvm: { source: 'none' }, ...others },
  });
  writeFileSync(file, text, { mode: 0o600 });
  const sidecar = await startSidecarProcess(['--config', file], { D2_SIDECAR_STOP_DELAY: '20s' }, command);
  defer(() => sidecar.stop('SIGKILL'));
  return sidecar;
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
  await run('ip', ['link', 'add', device, 'type', 'veth', 'peer', 'name', 'd2s', 'netns', String(holder.pid)]);
  await run('ip', ['address', 'add', `${OUTSIDE}/30`, 'dev', device]);
  await run('ip', ['link', 'set', device, 'up']);
  const [program = '', ...enter] = inside;
  await run(program, [...enter, 'ip', 'address', 'add', `${INSIDE}/30`, 'dev', 'd2s']);
  for (const name of ['lo', 'd2s']) await run(program, [...enter, 'ip', 'link', 'set', name, 'up']);
  return inside;
}
