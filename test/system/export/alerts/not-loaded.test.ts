/** Without a receiver of messages, none of its code is loaded. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../../support/deferred.ts';
import { startApplication } from '../../../support/net.ts';
import { startConfigured } from '../../../support/sidecar-process.ts';

const defer = deferTo(afterAll);
const upstream = await startApplication((_, response) => response.end('{}'));
defer(() => upstream.close());

/** Names of the files of the program that a run has loaded, without their hashes. */
async function filesLoadedBy(config: object): Promise<readonly string[]> {
  const folder = temporaryFolder(defer);
  const url = `http://127.0.0.1:${upstream.port}/smartWeb`;
  const all = { jvm: { source: 'none' }, ...config };
  const sidecar = await startConfigured(defer, url, all, { NODE_V8_COVERAGE: folder });
  await sidecar.stop();
  const reports = readdirSync(folder).map((name) => readFileSync(path.join(folder, name), 'utf8'));
  const urls = reports.flatMap((text) =>
    (JSON.parse(text) as { result: { url: string }[] }).result.map(({ url: at }) => at),
  );
  return urls.flatMap((at) => /dist\/parts\/(.*)-[\w-]{8}\.js$/.exec(decodeURIComponent(at))?.[1] ?? []);
}

it('loads its code with a receiver, the package for mail only with a mail server, and neither without', async () => {
  const webhook = { url: `http://127.0.0.1:${upstream.port}/hook` };
  const mail = { smtp: 'smtp://127.0.0.1:1', from: 'd2@example.org', to: ['operators@example.org'] };
  const own = ['alerts', 'mail', 'packages~mail'];
  const loaded = async (config: object) => {
    const files = await filesLoadedBy(config);
    return own.filter((name) => files.includes(name));
  };
  expect(await loaded({})).toEqual([]);
  expect(await loaded({ alerts: { webhook } })).toEqual(['alerts']);
  expect(await loaded({ alerts: { mail } })).toEqual(own);
});
