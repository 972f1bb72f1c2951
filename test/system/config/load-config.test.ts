import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { StartError } from '../../../src/base/errors.ts';
import type { Config } from '../../../src/config/config.ts';
import { loadConfig, loadControlSocket } from '../../../src/config/load-config.ts';
import { useFolder } from '../../support/export/access-log/folder.ts';

const UPSTREAM = 'http://127.0.0.1:8080/smartWeb';
const at = useFolder();

/** With `upstream` as its only flag, unless others are given. */
async function load(
  file: string,
  env: Record<string, string> = {},
  flags: Record<string, string> = { upstream: UPSTREAM },
): Promise<Config> {
  const { config } = await loadConfig({ flags: { config: 'sidecar.yaml', ...flags }, env, readFile: () => file });
  return config;
}

describe('loadConfig', () => {
  // test/unit/generated.test.ts fails when a default changes.
  it('fills in every default, with times in milliseconds, without a file', async () => {
    const { config, warnings } = await loadConfig({ flags: { upstream: UPSTREAM }, env: {} });
    expect(warnings).toEqual([]);
    expect(config).toEqual(await load('listen:\nlog:\n  # level: warn\n'));
    expect(config).toMatchObject({
      listen: { host: '0.0.0.0', port: 8081 },
      upstream: { host: '127.0.0.1', port: 8080, baseUrl: 'http://127.0.0.1:8080', connectTimeoutMs: 5_000 },
      ...{ applications: ['smartWeb'], sessions: { idleMs: 1_800_000 }, log: { level: 'info' } },
    });
  });

  it('ends delay and window with a deadline that is shorter than their defaults', async () => {
    const stopOf = async (stop: string) => (await load(`stop: ${stop}`)).stop;
    expect(await stopOf('{ deadline: 3s }')).toEqual({ delayMs: 2_000, windowMs: 1_000, deadlineMs: 3_000 });
    expect(await stopOf('{ deadline: 0 }')).toEqual({ delayMs: 0, windowMs: 0, deadlineMs: 0 });
    expect(await stopOf('{ delay: 4s, window: 4s, deadline: 8s }')).toMatchObject({ delayMs: 4_000, windowMs: 4_000 });
  });

  it('lets a flag win over the environment, the environment over the file, the file over the default', async () => {
    const file = `upstream: { url: http://file:1 }\nlisten: { port: 1001, host: 127.0.0.1 }\nmonitor: { port: 1002 }\nlog: { level: warn }`;
    const ports = { D2_SIDECAR_LISTEN_PORT: '2001', D2_SIDECAR_MONITOR_PORT: '2002' };
    const env = { D2_SIDECAR_UPSTREAM_URL: 'http://env:2', ...ports };
    const config = await load(file, env, { upstream: 'http://flag:3', monitor: ':3002' });
    expect(config).toMatchObject({
      ...{ upstream: { baseUrl: 'http://flag:3' }, monitor: { host: '127.0.0.1', port: 3002 } },
      ...{ listen: { host: '127.0.0.1', port: 2001 }, log: { level: 'warn' }, stop: { deadlineMs: 25_000 } },
    });
  });

  it('takes the file that D2_SIDECAR_CONFIG names, unless --config names another', async () => {
    const read: string[] = [];
    const readFile = (path: string) => {
      read.push(path);
      return '';
    };
    const env = { D2_SIDECAR_CONFIG: 'env.yaml' };
    await loadConfig({ flags: { upstream: UPSTREAM }, env, readFile });
    await loadConfig({ flags: { upstream: UPSTREAM, config: 'flag.yaml' }, env, readFile });
    expect(read).toEqual(['env.yaml', 'flag.yaml']);
  });

  // All else that is refused of a file: base/trusted-file.test.ts.
  it('refuses a file of more than 16 MiB at once', async () => {
    const file = at('sidecar.yaml');
    writeFileSync(file, `upstream: { url: ${UPSTREAM} }\n`.padEnd(16 * 1024 * 1024 + 1, '#'));
    const error: unknown = await loadConfig({ flags: { config: file }, env: {} }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StartError);
    const message = `${file} cannot be read: it is larger than 16777216 bytes`;
    expect(error).toMatchObject({ code: 'D2S_ERR_CONFIG_FILE', message });
  });
});

it.each([
  ['http://h', undefined, ['']],
  ['http://h/smartWeb/', undefined, ['smartWeb']],
  ['http://h/a', '[b, a, /]', ['a', 'b', '']],
  ['http://h/a/b', undefined, ['a/b']],
  ['http://h/%C5%BElt%C3%A1', '[žltá]', ['%C5%BElt%C3%A1']],
])('applications of %s and %s are %j', async (url, list, expected) => {
  const config = await load(list === undefined ? '' : `applications: ${list}`, {}, { upstream: url });
  expect(config.applications).toEqual(expected);
});

const ALL_SEVEN = { rpc: 7, sba: 7, object: 7 };

it.each([
  ['one number is for all kinds', '7', {}, ALL_SEVEN],
  ['a kind of a higher place wins over a number of a lower one', '7', { _RPC: '9' }, { ...ALL_SEVEN, rpc: 9 }],
  ['a number of a higher place wins over a kind of a lower one', '{ rpc: 9 }', { '': '7' }, ALL_SEVEN],
])('metrics.maxNames: %s', async (_what, file, variables, expected) => {
  const env = Object.entries(variables).map(([end, value]) => [`D2_SIDECAR_METRICS_MAX_NAMES${end}`, value]);
  const { metrics } = await load(`metrics: { maxNames: ${file} }`, Object.fromEntries(env));
  expect(metrics.maxNames).toEqual(expected);
});

describe('the monitoring port', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', 'localhost', '::ffff:127.0.0.1'])('needs no auth on %s', async (host) => {
    const config = await load(`monitor: { host: '${host}' }`);
    expect([config.monitor.host, config.monitor.auth]).toEqual([host, undefined]);
  });

  const FILES = { usersFile: '/u', tokensFile: '/t' };

  it.each([
    ['all where the configuration says so', 'host: 0.0.0.0, auth: none', '', '', { host: '0.0.0.0', auth: 'none' }],
    ['all where the environment says none', 'auth: { usersFile: /etc/users }', '', 'none', { auth: 'none' }],
    ['those in files, also of the environment', 'auth: { usersFile: /u }', '_TOKENS_FILE', '/t', { auth: FILES }],
    ['names, each once', 'hosts: [Plant.Example, plant.example]', '', '', { hosts: ['plant.example'] }],
  ])('may be open to %s', async (_whom, keys, variable, value, expected) => {
    const env: Record<string, string> = value === '' ? {} : { [`D2_SIDECAR_MONITOR_AUTH${variable}`]: value };
    expect((await load(`monitor: { ${keys} }`, env)).monitor).toMatchObject(expected);
  });
});

it('loadControlSocket needs nothing else to be right', async () => {
  const readFile = () => 'control: { socket: /run/d2/s.sock }\nlisten: { port: wrong }';
  const env = { D2_SIDECAR_CONTROL_SOCKET: '/run/e.sock' };
  expect(await loadControlSocket({ flags: { config: 'f' }, env: {}, readFile })).toBe('/run/d2/s.sock');
  expect(await loadControlSocket({ flags: {}, env })).toBe('/run/e.sock');
  expect(await loadControlSocket({ flags: {}, env: {} })).toBeUndefined();
});

it('loadControlSocket names what is wrong with itself', async () => {
  const loaded = loadControlSocket({ flags: { config: 'f' }, env: {}, readFile: () => 'control: { sockt: x }' });
  const message = 'control.sockt: unknown key, did you mean control.socket? (f)';
  await expect(loaded).rejects.toMatchObject({ message });
});
