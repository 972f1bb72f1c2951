import { expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { formatYaml } from '../../../src/config/effective.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { listKeys } from '../../../src/config/schema-walk.ts';

const FILE = `
upstream:
  url: 'https://[::1]:8443/smartWeb'
  connectTimeout: 1500ms
  responseTimeout: 90
  tls: { caFile: /run/u/ca, serverName: web, verify: false, certFile: /run/u/c, keyFile: /run/u/k }
listen: { host: '::', port: 0, tls: { certFile: /run/c, keyFile: /run/k, clientCaFile: /run/ca, clientAuth: require } }
applications: [other, /]
monitor:
  host: 0.0.0.0
  tls: { certFile: /run/m/c, keyFile: /run/m/k, clientCaFile: /run/m/ca, clientAuth: request }
  auth: { usersFile: /run/u, tokensFile: /run/t, certificates: [{ name: Prometheus 1, role: metrics }] }
  hosts: [plant]
  readyWithUpstream: true
metrics: { maxNames: 7, window: 60s, durationUnit: milliseconds, prometheus: { objects: totals, names: 5, buckets: [0.5, 2] } }
calls: { targets: [{ name: E.*, within: 500ms, share: 0.5 }, { name: E.A }] }
alerts:
  webhook: { urlFile: /run/hook, format: slack, caFile: /run/ca }
  mail: { smtp: 'smtps://mail:4465', from: a@b, to: [c@d], user: u, passwordFile: /run/pw }
  rules: [{ name: E.B, p95: 2s, errors: 0.1, minCalls: 7 }, { name: E.C, errors: 0.5 }]
sessions: { apiKeys: [{ user: reports, key: s3cr3t }] }
rest: { rules: [{ methods: [GET], path: 'a/{b}', kind: object, name: '{b}' }, { methods: [PUT], path: c, kind: none }] }
control: { socket: /run/d2/s.sock }
state: { file: /run/d2/state }
diagnosis: { threads: { whenCallRuns: 1m, folder: /run/threads } }
jvm:
  { pid: 7, user: tomcat, http: { kind: jolokia, url: 'https://h/j', username: m, passwordFile: /run/p, serverName: s, caFile: /run/ca } }
otlp:
  { endpoint: 'https://h:4318/', headersFile: /run/h, caFile: /run/ca, timeout: 5s, metrics: { interval: 30s }, traces: { enabled: true, sampleRatio: 0.25, slowerThan: 1s } }
accessLog:
  { file: /run/a, sample: 0.5, slowerThan: 2s, errorsAlways: false, others: true, users: false, maxBytes: 0, keep: 2 }
`;

it('the effective configuration reads back as itself, but for the keys of users', async () => {
  const { config } = await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => FILE });
  const yaml = await formatYaml(config);
  const { config: again } = await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => yaml });
  const sessions = { ...config.sessions, apiKeys: [{ user: 'reports', key: '[hidden]' }] };
  expect(again).toEqual({ ...config, sessions });
  expect(yaml).not.toContain('s3cr3t');
});

it('the effective configuration names every key', async () => {
  const { config } = await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => FILE });
  const { alerts, jvm, monitor, otlp } = config;
  // Those in place of others, which the file has.
  const whole = {
    ...config,
    jvm: { ...jvm, http: { ...jvm.http, passwordEnv: 'P' } },
    otlp: { ...otlp, headersEnv: 'H' },
    alerts: { ...alerts, webhook: { ...alerts.webhook, url: 'http://a/', secretFile: '/s' }, pageUrl: 'http://p/' },
    monitor: { ...monitor, tls: { ...monitor.tls, pfxFile: '/run/pfx', passphraseFile: '/run/p' } },
  } as Config;
  const yaml = await formatYaml(whole);
  const names = listKeys().map((key) => key.path.at(-1) ?? '');
  expect(names.filter((name) => !new RegExp(`^ *${name}:`, 'm').test(yaml))).toEqual([]);
});

it('the effective configuration hides the URL of a webhook, which often is its credential', async () => {
  const file = "{ upstream: { url: 'http://a:1/b' }, alerts: { webhook: { url: 'https://hook/?sig=s3cr3t' } } }";
  const { config } = await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => file });
  const yaml = await formatYaml(config);
  expect(yaml).not.toContain('s3cr3t');
  expect(yaml).toContain('url: "[hidden]"');
});
