import { expect, it } from 'vitest';
import { type Config, findLoopbackTrust } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

async function load(upstream: string, text: string, listen?: string): Promise<Config> {
  const flags = { upstream, config: 'sidecar.yaml', ...(listen === undefined ? {} : { listen }) };
  return (await loadConfig({ flags, env: {}, readFile: () => text })).config;
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
])('a loopback upstream behind an open listener is told: %s, %s, %j: %s', async (upstream, listen, config, isTold) => {
  const told = isTold ? expect.stringMatching(/rest\.deny, e\.g\. \[\/manager, \/host-manager\]/) : undefined;
  expect(findLoopbackTrust(await load(upstream, config, listen))).toEqual(told);
});

it.each(['/', '', '/a//b', '/../a', '/a;b', '/a?b'])('rest.deny does not take %j', async (path) => {
  const loading = load('http://a', JSON.stringify({ rest: { deny: [path] } }));
  await expect(loading).rejects.toThrow(/^rest\.deny\[0\]: .*expected/);
});
