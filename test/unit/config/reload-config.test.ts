import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/base/errors.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { mergeReloadedConfig } from '../../../src/config/reload-config.ts';

const UPSTREAM = { url: 'http://127.0.0.1:8080/smartWeb' };

async function load(file: object) {
  const written = { upstream: UPSTREAM, ...file };
  return await loadConfig({ flags: { config: 'f' }, env: {}, readFile: () => JSON.stringify(written) });
}

async function reload(before: object, after: object) {
  return mergeReloadedConfig((await load(before)).parsed, (await load(after)).parsed);
}

it('a reloaded configuration holds but for what needs a restart, which stays as it is and is named', async () => {
  const after = {
    ...{ listen: { port: 9 }, applications: ['other'], jvm: { http: { username: 'x' } } },
    ...{ limits: { connections: 5 }, log: { level: 'debug' } },
    rest: { rules: [{ methods: ['GET'], path: 'a/{b}', kind: 'rpc', name: '{b}' }] },
  };
  const { config, changed, waiting } = await reload({}, after);
  expect(changed).toEqual(['rest.rules', 'limits.connections', 'log.level']);
  expect(waiting).toEqual(['listen.port', 'applications', 'jvm.http.username']);
  expect(config).toMatchObject({ listen: { port: 8081 }, limits: { connections: 5 }, log: { level: 'debug' } });
  expect(config.applications).toEqual(['smartWeb']);
  expect(config.rest.rules).toHaveLength(1);
});

it('a reloaded configuration is compared with what runs, so that what waits is named until the restart, and no longer once it is taken back', async () => {
  const first = await reload({}, { listen: { port: 9 } });
  const again = mergeReloadedConfig(first.parsed, (await load({ listen: { port: 9 }, log: { level: 'warn' } })).parsed);
  expect([again.waiting, again.changed]).toEqual([['listen.port'], ['log.level']]);
  const back = mergeReloadedConfig(again.parsed, (await load({})).parsed);
  expect([back.waiting, back.changed]).toEqual([[], ['log.level']]);
});

it('a reloaded configuration names a key inside a group, and the group where it is none before or after', async () => {
  const files = (auth: unknown) => ({ monitor: { auth } });
  const users = { usersFile: '/u' };
  const tokens = await reload(files(users), files({ ...users, tokensFile: '/t' }));
  expect(tokens.changed).toEqual(['monitor.auth.tokensFile']);
  expect((await reload(files('none'), files(users))).changed).toEqual(['monitor.auth']);
});

it('a reloaded configuration names other users of application keys without the keys', async () => {
  const result = await reload({}, { sessions: { apiKeys: [{ user: 'ann', key: 's3cr3t' }] } });
  expect(result.changed).toEqual(['sessions.apiKeys']);
  expect(JSON.stringify([result.changed, result.waiting])).not.toContain('s3cr3t');
  expect(result.config.sessions.apiKeys).toEqual([{ user: 'ann', key: 's3cr3t' }]);
});

it('a reloaded configuration takes other files of TLS, but neither switches it nor asks for other certificates', async () => {
  const own = { certFile: '/c', keyFile: '/k' };
  const withTls = (tls: object) => ({ listen: { tls } });
  const files = await reload(withTls(own), withTls({ ...own, certFile: '/d' }));
  expect([files.changed, files.waiting]).toEqual([['listen.tls.certFile'], []]);
  expect(files.config.listen.tls).toMatchObject({ certFile: '/d', keyFile: '/k' });
  const on = await reload({}, withTls(own));
  expect([on.changed, on.waiting]).toEqual([[], ['listen.tls.certFile', 'listen.tls.keyFile']]);
  expect(on.config.listen.tls).toBeUndefined();
  const asked = { ...own, certFile: '/d', clientCaFile: '/ca', clientAuth: 'request' };
  const asking = await reload(withTls(own), withTls(asked));
  expect(asking.waiting).toEqual(['listen.tls.certFile', 'listen.tls.clientCaFile', 'listen.tls.clientAuth']);
  expect(asking.config.listen.tls).toMatchObject({ certFile: '/c', clientAuth: 'none' });
  const secure = { upstream: { url: 'https://127.0.0.1/smartWeb', tls: { verify: false } } };
  const upstream = await reload({}, secure);
  expect(upstream.waiting).toEqual(['upstream.url', 'upstream.tls.verify']);
  expect(upstream.config.upstream.tls).toBeUndefined();
});

it('a reload is refused as a whole if its live keys contradict the keys that need a restart', async () => {
  const before = { monitor: { host: '0.0.0.0', auth: { usersFile: '/u' } } };
  const message = /^monitor\.host: 0\.0\.0\.0 can be reached .* \(monitor\.host cannot change without a restart\)$/;
  const refused = reload(before, { monitor: { host: '127.0.0.1' } });
  await expect(refused).rejects.toBeInstanceOf(ConfigError);
  await expect(refused).rejects.toThrow(message);
});
