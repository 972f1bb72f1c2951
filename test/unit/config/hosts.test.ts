/** A host is a host, in every key that takes one; and words come back as they were written. */
import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/base/errors.ts';
import { isHost } from '../../../src/config/host-port.ts';
import { type LoadedConfig, loadConfig } from '../../../src/config/load-config.ts';

const UPSTREAM = 'http://127.0.0.1:8080/smartWeb';
const LABEL = 'a'.repeat(63);

const HOSTS = [
  ...'plant smartweb.plant.example PLANT-2.example. localhost xn--plnt-0qa.example 3com.example a 1a off true'.split(
    ' ',
  ),
  ...`127.0.0.1 0.0.0.0 :: ::1 fe80::1%eth0 ::ffff:1.2.3.4 ${LABEL}.${LABEL}.${LABEL}`.split(' '),
];
/** Shell and Helm leave it where a variable is not set. */
const UNFILLED = ['$', '{HOST}'].join('');
/** Placeholders, slips of templates, and what is nearly a host. */
const NO_HOSTS = [
  ...`${UNFILLED} $HOST $(HOST) <host> {{host}} %HOST% @HOST@ [host] __HOST__ CHANGE_ME FILL_IN a_b`.split(' '),
  ...'example..com .example example.. . -a.example a-.example * *.example a,b plánt a/b a?'.split(' '),
  ...'256.1.1.1 1.2.3 010.0.0.1 0x7f.1 1e3.1 127.1 2130706433 750 1.2.3.4.5 ::1:: ::: a:b'.split(' '),
  ...['{{ .Values.host }}', 'your host', 'null host', ' a', '', `${LABEL}a.example`, `${`${LABEL}.`.repeat(4)}a`],
];

it('hosts are addresses and names of RFC 1123', () => {
  expect(HOSTS.filter((host) => !isHost(host))).toEqual([]);
  expect(NO_HOSTS.filter(isHost)).toEqual([]);
});

const KEYS: Readonly<Record<string, (host: string) => object>> = {
  'listen.host': (host) => ({ listen: { host } }),
  'monitor.host': (host) => ({ monitor: { host, auth: 'none' } }),
  'monitor.hosts[0]': (host) => ({ monitor: { hosts: [host] } }),
  'upstream.tls.serverName': (serverName) => ({ upstream: { url: 'https://plant', tls: { serverName } } }),
  'jvm.http.serverName': (serverName) => ({ jvm: { http: { kind: 'jolokia', url: 'https://plant', serverName } } }),
  'upstream.url': (host) => ({ upstream: { url: `http://${host}:8080/smartWeb` } }),
  'jvm.http.url': (host) => ({ jvm: { http: { kind: 'jolokia', url: `http://${host}:8080/a` } } }),
  'otlp.endpoint': (host) => ({ otlp: { endpoint: `http://${host}:4318` } }),
};

async function load(group: object, env: Record<string, string> = {}): Promise<LoadedConfig> {
  const flags = { config: 'sidecar.yaml', ...('upstream' in group ? {} : { upstream: UPSTREAM }) };
  return await loadConfig({ flags, env, readFile: () => JSON.stringify(group) });
}

async function mistakeOf(group: object, env: Record<string, string> = {}): Promise<string> {
  const error: unknown = await load(group, env).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ConfigError);
  return (error as ConfigError).message;
}

it.each(Object.entries(KEYS))('%s takes every host, and nothing else', async (key, groupOf) => {
  for (const host of ['PLANT-2.example.', '127.0.0.1']) await expect(load(groupOf(host))).resolves.toBeDefined();
  for (const slip of [UNFILLED, 'CHANGE_ME', 'example..com', '010.0.0.1', '1e3.1', '127.1'])
    expect(await mistakeOf(groupOf(slip)), slip).toContain(`${key}: got `);
});

it('hosts of flags and of environment variables are checked alike', async () => {
  const flags = { upstream: UPSTREAM, listen: 'a..b:8081' };
  await expect(loadConfig({ flags, env: {} })).rejects.toThrow('--listen: got "a..b:8081", expected host:port');
  const env = { D2_SIDECAR_UPSTREAM_URL: 'http://a..b/a', D2_SIDECAR_LISTEN_HOST: 'a..b' };
  const message = await loadConfig({ flags: {}, env }).catch((error: Error) => error.message);
  expect(message).toContain('listen.host: got "a..b", expected an address or host name');
  expect(message).toContain('upstream.url: got "http://a..b/a", expected http://host[:port][/application] with a host');
});

it.each([
  [{ forwarded: false }, { forwarded: 'off' }],
  [{ forwarded: { clientCertificate: false } }, { forwarded: 'append', clientCertificate: 'off' }],
])('a word that YAML 1.1 tools write as a boolean is read as that word: %j', async (group, expected) => {
  expect((await load(group)).config).toMatchObject(expected);
});

it('a word that YAML 1.1 tools write as a boolean is read in environment variables beside a group of the file', async () => {
  const beside = await load({ forwarded: false }, { D2_SIDECAR_FORWARDED_CLIENT_CERTIFICATE: 'false' });
  expect(beside.config).toMatchObject({ forwarded: 'off', clientCertificate: 'off' });
});

it('a word that YAML 1.1 tools write as a boolean stays a boolean where the key takes one, and a mistake where it takes neither', async () => {
  expect((await load({ comet: { enabled: undefined }, jvm: { attach: false } })).config.jvm.attach).toBe(false);
  expect(await mistakeOf({ forwarded: true })).toContain('forwarded: got true, expected one of append, replace, off');
  expect(await mistakeOf({ log: { level: false } })).toContain('log.level: got false, expected one of debug');
});

it('a file may begin with a byte order mark and have CRLF', async () => {
  const readFile = () => '\ufefflisten: { port: 0 }\r\nforwarded: off\r\n';
  const { config } = await loadConfig({ flags: { config: 'f', upstream: UPSTREAM }, env: {}, readFile });
  expect([config.listen.port, config.forwarded]).toEqual([0, 'off']);
});
