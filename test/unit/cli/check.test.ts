import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { check } from '../../../src/cli/check.ts';
import { findService } from '../../../src/cli/installed-service.ts';
import { passwd } from '../../../src/cli/passwd.ts';
import { Printed } from '../../support/cli/control/stand.ts';
import { Folder, tokenLine } from '../../support/monitor/access/access-files.ts';

const folder = new Folder().forTests();
let output: Printed;
beforeEach(() => {
  output = new Printed();
});

const SELF = { isRoot: false };

const sources = (yaml: string) => ({
  flags: { config: 'f', upstream: 'http://127.0.0.1:8080/smartWeb' },
  env: {},
  readFile: () => yaml,
});
const at = (...names: string[]) => path.join(folder.path, ...names);
const failureOf = (yaml: string) => check(sources(yaml), output, SELF).catch((cause: unknown) => cause);

const withUsers = (file: string) => `monitor: { host: 0.0.0.0, auth: { usersFile: ${file} } }`;

it('check prints names and roles of readers as comments, without hashes', async () => {
  const file = at('users');
  const input = { [Symbol.asyncIterator]: () => [Buffer.from('s3cr3t s3cr3t')].values() } as never;
  await passwd({ name: 'ann', role: 'metrics', isToken: false, file }, input, output);
  await check(sources(withUsers(file)), output, SELF);
  expect(output.stdout.match(/^#.*/gm)).toEqual(['# monitor.auth: ann, metrics, by password']);
  expect(output.stdout).toContain(`usersFile: ${file}\n`);
  expect(output.stdout).not.toContain('scrypt');
});

it('check reports all unreadable files: errors for TLS and credentials, warnings for optional ones', async () => {
  const none = at('none', 'file');
  const tls = `tls: { certFile: ${none}, keyFile: ${none} }`;
  const error = await failureOf(
    `listen: { ${tls} }
monitor: { ${tls}, auth: { tokensFile: ${none} } }
jvm: { http: { kind: jolokia, url: 'https://127.0.0.1/', username: a, passwordFile: ${none}, caFile: ${none} } }
otlp: { endpoint: 'https://127.0.0.1:4318', headersFile: ${none}, caFile: ${none} }
state: { file: ${none} }
accessLog: { file: ${at('none', 'log')} }`,
  );
  expect(error).toBeInstanceOf(AggregateError);
  expect((error as AggregateError).errors.map(({ code, message }) => `${code} ${message}`)).toEqual([
    `D2S_ERR_TLS_FILE listen.tls.certFile: ${none} cannot be read: ENOENT`,
    `D2S_ERR_TLS_FILE monitor.tls.certFile: ${none} cannot be read: ENOENT`,
    `D2S_ERR_ACCESS_FILE monitor.auth.tokensFile: ${none} cannot be read: ENOENT`,
  ]);
  expect(output.stderr.trimEnd().split('\n')).toEqual([
    `d2-sidecar: warning: state.file: cannot be saved: the folder ${at('none')} does not exist`,
    `d2-sidecar: warning: accessLog.file: cannot be written: the folder ${at('none')} does not exist`,
    ...['jvm.http.passwordFile', 'jvm.http.caFile', 'otlp.headersFile', 'otlp.caFile'].map(
      (key) => `d2-sidecar: warning: ${key}: ${none} cannot be read: ENOENT`,
    ),
  ]);
  expect(output.stdout).toBe('');
});

it('a file of authorities that cannot be used whole is an error, also for the JVM and for OTLP', async () => {
  writeFileSync(at('ca.pem'), '  -----BEGIN CERTIFICATE-----\n');
  const error = await failureOf(
    `jvm: { http: { kind: jolokia, url: 'https://127.0.0.1/', caFile: ${at('ca.pem')} } }
otlp: { endpoint: 'https://127.0.0.1:4318', caFile: ${at('ca.pem')} }`,
  );
  const indented = `${at('ca.pem')}:1: BEGIN or END is indented, expected it at the beginning of its line`;
  expect((error as AggregateError).errors.map(({ message }) => message)).toEqual([
    `jvm.http.caFile: ${indented}`,
    `otlp.caFile: ${indented}`,
  ]);
});

it.each([
  ['a folder', () => mkdirSync(at('log')), 'is a folder'],
  ['a file that all may write', () => writeFileSync(at('log'), '') ?? chmodSync(at('log'), 0o666), 'may write to it'],
])('check warns of an access log that is %s', async (_what, prepare, reason) => {
  prepare();
  expect(await check(sources(`accessLog: { file: ${at('log')} }`), output, SELF)).toBe(0);
  expect(output.stderr).toContain('d2-sidecar: warning: accessLog.file: cannot be written: ');
  expect(output.stderr).toContain(reason);
});

describe('check as another user', () => {
  const config = () => `monitor: { auth: { tokensFile: ${at('tokens')} } }`;
  const unit = {
    ...{ user: 'd2-sidecar', group: undefined, folders: [], unit: '/u/d2-sidecar.service', hidesServer: false },
  };
  let became: unknown[];
  beforeEach(() => {
    became = [];
    folder.write('tokens', tokenLine('prometheus', 'metrics').line);
  });
  const become = (...who: unknown[]) => void became.push(who);
  const find = async () => unit;

  it('uses the unit’s user if root checks without --as root, and reports that with its findings', async () => {
    const checked = check(sources(config()), output, { isRoot: true, find, become });
    // There is no file "f": only its text was given.
    await expect(checked).rejects.toMatchObject({ code: 'D2S_ERR_CONFIG_FILE', message: 'f cannot be read: ENOENT' });
    expect(became).toEqual([['d2-sidecar', undefined]]);
    expect(output.stderr).toBe(
      'd2-sidecar: checked as the user d2-sidecar of /u/d2-sidecar.service; --as root checks as root\n',
    );
    expect(await check(sources(config()), output, { isRoot: true, as: 'root', find, become })).toBe(0);
    expect(became).toHaveLength(1);
  });

  it.each([
    ['', 1],
    ['jvm: { source: none }', 0],
    ['jvm: { http: { kind: tomcat-status, url: "http://127.0.0.1:8080/manager" } }', 0],
  ])('says the missing line of a unit that hides the server’s process, where %s', async (yaml, lines) => {
    const hiding = async () => ({ ...unit, hidesServer: true });
    await check(sources(yaml), output, { isRoot: true, find: hiding, become }).catch(() => undefined);
    expect(output.stderr.match(/service: .*: add "ProtectProc=default" to \[Service\]$/gm) ?? []).toHaveLength(lines);
  });

  it('is refused without root, and for unknown users', async () => {
    const refuse = () => {
      throw Object.assign(new Error('no'), { code: 'ERR_UNKNOWN_CREDENTIAL' });
    };
    await expect(check(sources(config()), output, { isRoot: false, as: 'ann', become })).rejects.toThrow(
      '--as: got "ann": only root can check as another user',
    );
    await expect(check(sources(config()), output, { isRoot: true, as: 'ann', become: refuse })).rejects.toThrow(
      '--as: got "ann", expected a user of this machine (ERR_UNKNOWN_CREDENTIAL)',
    );
    expect(await check(sources(config()), output, { isRoot: true, find, become: refuse })).toBe(0);
    expect(output.stderr).toBe(
      'd2-sidecar: warning: /u/d2-sidecar.service: cannot check as its user d2-sidecar (ERR_UNKNOWN_CREDENTIAL): ' +
        'checked as root, which can read everything\n',
    );
  });
});

const write = (file: string, text: string) => {
  mkdirSync(path.dirname(at(file)), { recursive: true });
  writeFileSync(at(file), text);
};
const UNIT = 'usr/lib/systemd/system/d2-sidecar.service';
const OWN_UNIT = 'etc/systemd/system/d2-sidecar.service';
const SHIPPED =
  '[Unit]\nUser=nobody\n[Service]\n# User=tomcat\nUser=d2-sidecar\nGroup=d2-sidecar\nProtectProc=invisible\nStateDirectory=d2-sidecar a:b\nLogsDirectory=d2-sidecar\n[Install]\n';

it('the installed service is read from the section Service: user, group, and the folders that a start makes', async () => {
  expect(await findService(folder.path)).toBeUndefined();
  const none = { user: undefined, group: undefined, folders: [], unit: at(UNIT), hidesServer: false };
  write(UNIT, '[Service]\nExecStart=/usr/bin/d2-sidecar\n');
  expect(await findService(folder.path)).toEqual(none);
  write(UNIT, SHIPPED);
  const folders = ['/var/lib/d2-sidecar', '/var/lib/a', '/var/log/d2-sidecar'];
  expect(await findService(folder.path)).toEqual({ ...none, user: 'd2-sidecar', group: 'd2-sidecar', folders });
});

it('check does not warn of files in folders that the start of the service makes', async () => {
  const service = { user: undefined, group: undefined, unit: at(UNIT), hidesServer: false };
  const find = async () => ({ ...service, folders: [at('made'), at('log')] });
  writeFileSync(at('own'), '', { mode: 0o600 });
  const files = (log: string) => `state: { file: ${at('made', 's')} }\naccessLog: { file: ${log} }`;
  for (const log of [at('own'), at('log', 'a')])
    expect(await check(sources(files(log)), output, { ...SELF, find })).toBe(0);
  expect(output.stderr).toBe('');
  // A start makes the folder itself, but none below it.
  await check(sources(`state: { file: ${at('made', 'deep', 's')} }`), output, { ...SELF, find });
  expect(output.stderr).toContain(`state.file: cannot be saved: the folder ${at('made', 'deep')} does not exist`);
});

it('the user of the installed service is that of the last drop-in by name; a unit in /etc replaces a package’s', async () => {
  write(UNIT, SHIPPED);
  write(`${UNIT}.d/90-user.conf`, '[Service]\nUser = other\n');
  write(`${OWN_UNIT}.d/override.conf`, '[Service]\nUser=tomcat\nGroup=\n');
  // A drop-in with the server's user hides its process unless it says otherwise.
  expect(await findService(folder.path)).toMatchObject({ user: 'tomcat', group: undefined, hidesServer: true });
  write(`${OWN_UNIT}.d/override.conf`, '[Service]\nUser=tomcat\nGroup=\nProtectProc=default\n');
  expect(await findService(folder.path)).toMatchObject({ user: 'tomcat', hidesServer: false });
  write(OWN_UNIT, '[Service]\nUser=own\n');
  write(`${OWN_UNIT}.d/override.conf`, '[Service]\n');
  write(`${OWN_UNIT}.d/90-user.conf`, '[Service]\n');
  expect(await findService(folder.path)).toMatchObject({ user: 'own', unit: at(OWN_UNIT) });
});
