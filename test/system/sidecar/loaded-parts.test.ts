/** What code costs: that of messages and of the history is loaded only if they are configured. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { startConfigured } from '../../support/sidecar-process.ts';

const defer = deferTo(afterAll);

/** Names of the files of the program that a run has loaded, without their hashes. */
async function filesLoadedBy(config: object): Promise<readonly string[]> {
  const folder = temporaryFolder(defer);
  const all = { jvm: { source: 'none' }, ...config };
  const sidecar = await startConfigured(defer, 'http://127.0.0.1:1/smartWeb', all, { NODE_V8_COVERAGE: folder });
  expect(await sidecar.stop()).toBe(0);
  const reports = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'));
  const urls = reports.flatMap((text) =>
    (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url: at }) => at),
  );
  return urls.flatMap((at) => /dist\/parts\/(.*)-[\w-]{8}\.js$/.exec(decodeURIComponent(at))?.[1] ?? []);
}

const OPTIONAL = ['alerts', 'archive', 'mail', 'packages~mail'];
const mail = { smtp: 'smtp://127.0.0.1:1', from: 'd2@example.org', to: ['operators@example.org'] };

it.each<[string, object, string[]]>([
  ['neither', {}, []],
  ['a mail server', { alerts: { mail } }, ['alerts', 'mail', 'packages~mail']],
  ['a history', { history: { file: path.join(temporaryFolder(defer), 'history.db') } }, ['archive']],
])('with %s its code is loaded, and no other optional part', async (_what, config, parts) => {
  const files = await filesLoadedBy(config);
  expect(OPTIONAL.filter((name) => files.includes(name))).toEqual(parts);
});
