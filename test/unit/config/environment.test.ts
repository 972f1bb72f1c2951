import { expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

const UPSTREAM = { upstream: 'http://127.0.0.1:8080/smartWeb' };

async function load(env: Record<string, string>): Promise<Config> {
  const { config, warnings } = await loadConfig({ flags: UPSTREAM, env });
  expect(warnings).toEqual([]);
  return config;
}

it.each<[string, string, (config: Config) => unknown, unknown]>([
  ['UPSTREAM_CONNECT_TIMEOUT', '250ms', (config) => config.upstream.connectTimeoutMs, 250],
  ['APPLICATIONS', 'a, /b/,/', (config) => config.applications, ['smartWeb', 'a', 'b', '']],
  ['FORWARDED_ADDRESSES', 'replace', (config) => config.forwarded, 'replace'],
  ['MONITOR_READY_WITH_UPSTREAM', 'True', (config) => config.monitor.readyWithUpstream, true],
  ['METRICS_MAX_NAMES', '{ rpc: 5 }', (config) => config.metrics.maxNames, { rpc: 5, sba: 2_000, object: 10_000 }],
  ['SESSIONS_API_KEYS', '[{ user: a, key: "1" }]', (config) => config.sessions.apiKeys, [{ user: 'a', key: '1' }]],
  ['REST_PREFIX', '/rest/', (config) => config.rest.prefix, 'rest'],
])('D2_SIDECAR_%s=%s sets its key', async (name, text, read, expected) => {
  expect(read(await load({ [`D2_SIDECAR_${name}`]: text }))).toEqual(expected);
});

it('environment variables count as absent when empty', async () => {
  const config = await load({ D2_SIDECAR_LISTEN_PORT: '', D2_SIDECAR_LOG_LEVEL: ' ', D2_SIDECAR_CONFIG: '' });
  expect(config).toMatchObject({ listen: { port: 8081 }, log: { level: 'info' } });
});

it('environment variables that Kubernetes sets for a Service called d2-sidecar are passed over in silence', async () => {
  await load({
    D2_SIDECAR_SERVICE_HOST: '10.0.0.1',
    D2_SIDECAR_SERVICE_PORT: '8081',
    D2_SIDECAR_PORT: 'tcp://10.0.0.1:8081',
    ...{ D2_SIDECAR_PORT_8081_TCP: 'tcp://10.0.0.1:8081', D2_SIDECAR_PORT_8081_TCP_PROTO: 'tcp' },
    D2_SIDECAR_MONITOR_SERVICE_HOST: '10.0.0.1',
    D2_SIDECAR_MONITOR_PORT_9280_UDP_ADDR: '10.0.0.1',
  });
});

it('the address of a Service as the port is ignored, with a warning', async () => {
  const text = 'tcp://10.0.0.1:9280';
  const { config, warnings } = await loadConfig({ flags: UPSTREAM, env: { D2_SIDECAR_MONITOR_PORT: text } });
  expect(config.monitor.port).toBe(9280);
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toMatch(/^D2_SIDECAR_MONITOR_PORT is ignored: Kubernetes set it/);
  expect(warnings[0]).not.toContain('10.0.0.1');
});

it('environment variables that are no key are warned of by name, with the nearest one', async () => {
  const env = { D2_SIDECAR_UPSTREAM_URI: 's3cr3t', D2_SIDECAR_PORT: '8081', D2_SIDECAR_XYZ: 's3cr3t', OTHER: 's3cr3t' };
  const { warnings } = await loadConfig({ flags: UPSTREAM, env });
  expect(warnings).toEqual([
    'D2_SIDECAR_PORT is ignored: there is no such key',
    'D2_SIDECAR_UPSTREAM_URI is ignored: there is no such key; did you mean D2_SIDECAR_UPSTREAM_URL?',
    'D2_SIDECAR_XYZ is ignored: there is no such key',
  ]);
});

it.each<[string, Record<string, string>, string, string]>([
  ['in the file', {}, 'dataPath: gateway\n', 'sidecar.yaml'],
  ['in both', { D2_SIDECAR_DATA_PATH: 'auto' }, 'dataPath: auto\n', 'sidecar.yaml, D2_SIDECAR_DATA_PATH'],
])('a key that is gone is one warning, %s', async (_where, env, text, places) => {
  const flags = { ...UPSTREAM, config: 'sidecar.yaml' };
  const { warnings } = await loadConfig({ flags, env, readFile: () => text });
  expect(warnings).toEqual([`dataPath is ignored, since all requests take one path now: delete it (${places})`]);
});
