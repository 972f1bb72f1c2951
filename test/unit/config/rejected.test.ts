import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/base/errors.ts';
import { loadConfig } from '../../../src/config/load-config.ts';

const FIXTURES = path.join(import.meta.dirname, '../../fixtures/config');

/** What a fixture's comments expect: the beginning of each line of the message, in order. */
function readFixture(name: string) {
  const text = readFileSync(path.join(FIXTURES, name), 'utf8');
  const expected = [...text.matchAll(/^# expect: (.*)$/gm)].map((match) => match[1] as string);
  return { text, expected };
}

const names = readdirSync(FIXTURES).filter((name) => name.startsWith('invalid-'));

it.each(names)('a configuration is refused with key, value and what was expected: %s', async (name) => {
  const { text, expected } = readFixture(name);
  // Not the file's matter unless the fixture is about it.
  const flags = /^upstream:/m.test(text)
    ? { config: 'FILE' }
    : { config: 'FILE', upstream: 'http://127.0.0.1:8080/smartWeb' };
  const error: unknown = await loadConfig({ flags, env: {}, readFile: () => text }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ConfigError);
  const { code, message } = error as ConfigError;
  expect(code).toBe('D2S_ERR_CONFIG');
  const lines = message.split('\n');
  expect(lines.map((line, index) => line.slice(0, expected[index]?.length))).toEqual(expected);
  expect(message).not.toContain('s3cr3t');
  expect(message).not.toContain('5318008');
});

it('the message of a refusal says where each value was written', async () => {
  const load = loadConfig({
    flags: { config: 'sidecar.yaml', monitor: '127.0.0.1:70000', upstream: 'ftp://plant' },
    env: { D2_SIDECAR_LISTEN_PORT: '80a', D2_SIDECAR_REST_RULES: '[{methods: [GET]' },
    readFile: () => 'log: { level: loud }',
  });
  const message = await load.then(String, (error: Error) => error.message);
  expect(message.split('\n')).toEqual([
    expect.stringMatching(/^D2_SIDECAR_REST_RULES:1:\d+: not YAML: wrong indentation, or a bracket that is not closed/),
    '--monitor: got "127.0.0.1:70000", expected host:port, :port, [v6]:port or a port from 0 to 65535',
    'listen.port: got "80a", expected a port from 0 (any free one) to 65535 (D2_SIDECAR_LISTEN_PORT)',
    'upstream.url: got "ftp://plant", expected http://host[:port][/application] or https://... (--upstream)',
    'log.level: got "loud", expected one of debug, info, warn, error, silent (sidecar.yaml)',
  ]);
});

it.each([
  ['--upstream', { upstream: 'http://alice:s3cr3t@plant' }, {}],
  ['--listen', { listen: 'http://alice:s3cr3t@plant' }, {}],
  ['an environment variable', {}, { D2_SIDECAR_UPSTREAM_URL: 'http://alice:s3cr3t@plant' }],
  ['keys in the environment', {}, { D2_SIDECAR_SESSIONS_API_KEYS: 's3cr3t' }],
  ['keys in the environment that are not YAML', {}, { D2_SIDECAR_SESSIONS_API_KEYS: '[{user: a, key: "s3cr3t"' }],
])('the message of a refusal has no secret: %s', async (_, flags, env) => {
  const error = await loadConfig({ flags, env }).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).not.toContain('s3cr3t');
});
