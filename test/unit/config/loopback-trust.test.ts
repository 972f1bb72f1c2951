import { expect, it } from 'vitest';
import { findLoopbackTrust } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

async function warningOf(upstream: string, listen?: string, config = ''): Promise<string | undefined> {
  const flags = { upstream, config: 'sidecar.yaml', ...(listen === undefined ? {} : { listen }) };
  return findLoopbackTrust((await loadConfig({ flags, env: {}, readFile: () => config })).config);
}

it.each([
  ['http://127.0.0.1:8080/smartWeb', undefined],
  ['http://localhost:8080', '0.0.0.0:8081'],
  ['http://[::1]:8080', '[::]:8081'],
  ['https://127.8.0.1', '192.0.2.2:8081'],
])('an application server on loopback behind an open listener is reported: %s, %s', async (upstream, listen) => {
  expect(await warningOf(upstream, listen)).toMatch(/rest\.deny, e\.g\. \[\/manager, \/host-manager\]/);
});

it.each([
  ['http://192.0.2.2:8080/smartWeb', '0.0.0.0:8081', ''],
  ['http://127.0.0.1:8080/smartWeb', '127.0.0.1:8081', ''],
  ['http://127.0.0.1:8080/smartWeb', '[::1]:8081', ''],
  ['http://127.0.0.1:8080/smartWeb', '0.0.0.0:8081', 'rest: { deny: [/manager] }'],
])(
  'an application server on loopback behind an open listener is not told of: %s, %s, %s',
  async (upstream, listen, config) => {
    expect(await warningOf(upstream, listen, config)).toBeUndefined();
  },
);

it('rest.deny takes paths with and without slashes at their ends', async () => {
  const config = 'rest: { deny: [manager, /host-manager/, "/a%20b/Č"] }';
  const flags = { upstream: 'http://a', config: 'sidecar.yaml' };
  const loaded = await loadConfig({ flags, env: {}, readFile: () => config });
  expect(loaded.config.rest.deny).toEqual(['/manager', '/host-manager', '/a%20b/%C4%8C']);
});

it.each(['/', '', '/a//b', '/../a', '/a;b', '/a?b'])('rest.deny does not take %j', async (path) => {
  const config = JSON.stringify({ rest: { deny: [path] } });
  const flags = { upstream: 'http://a', config: 'sidecar.yaml' };
  await expect(loadConfig({ flags, env: {}, readFile: () => config })).rejects.toThrow(/^rest\.deny\[0\]: .*expected/);
});
