import { expect, it } from 'vitest';
import { findLoopbackTrust } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

async function warningOf(upstream: string, listen?: string, config = ''): Promise<string | undefined> {
  const flags = { upstream, config: 'sidecar.yaml', ...(listen === undefined ? {} : { listen }) };
  return findLoopbackTrust((await loadConfig({ flags, env: {}, readFile: () => config })).config);
}

it.each<[string, string | undefined, string, boolean]>([
  ['http://127.0.0.1:8080/smartWeb', undefined, '', true],
  ['http://localhost:8080', '0.0.0.0:8081', '', true],
  ['http://[::1]:8080', '[::]:8081', '', true],
  ['https://127.8.0.1', '192.0.2.2:8081', '', true],
  ['http://192.0.2.2:8080/smartWeb', '0.0.0.0:8081', '', false],
  ['http://127.0.0.1:8080/smartWeb', '127.0.0.1:8081', '', false],
  ['http://127.0.0.1:8080/smartWeb', '[::1]:8081', '', false],
  ['http://127.0.0.1:8080/smartWeb', '0.0.0.0:8081', 'rest: { deny: [/manager] }', false],
])(
  'a loopback upstream behind an open listener is reported: %s, %s, %j: %s',
  async (upstream, listen, config, isTold) => {
    const told = isTold ? expect.stringMatching(/rest\.deny, e\.g\. \[\/manager, \/host-manager\]/) : undefined;
    expect(await warningOf(upstream, listen, config)).toEqual(told);
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
