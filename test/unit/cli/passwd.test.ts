import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ConfigError, StartError } from '../../../src/base/errors.ts';
import { type PasswdFlags, type PasswordInput, passwd } from '../../../src/cli/passwd.ts';
import { AccessControl } from '../../../src/monitor/access/access-control.ts';
import { AccessList } from '../../../src/monitor/access/access-list.ts';
import { Printed } from '../../support/cli/control/stand.ts';
import { basic, Folder, tokenLine } from '../../support/monitor/access/access-files.ts';

const PASSWORD = 'pass: wörd s3cr3t';

const folder = new Folder().forTests();
let output: Printed;
beforeEach(() => {
  output = new Printed();
});

const piped = (...chunks: string[]): PasswordInput => Readable.from(chunks.map((chunk) => Buffer.from(chunk, 'utf8')));

/** A terminal in raw mode: what is typed comes key by key, Enter as a carriage return. */
function terminal(typed: string): PasswordInput & { readonly modes: boolean[] } {
  const modes: boolean[] = [];
  const setRawMode = (isRaw: boolean) => modes.push(isRaw);
  return Object.assign(piped(...typed), { isTTY: true, modes, setRawMode });
}

function flags(more: Partial<PasswdFlags> = {}): PasswdFlags {
  return { name: 'ann', role: 'metrics', isToken: false, file: undefined, ...more };
}

/** What the list in the folder says to a credential. */
async function verdict(authorization: string) {
  const names = readdirSync(folder.path);
  const fileOf = (name: string) => (names.includes(name) ? path.join(folder.path, name) : undefined);
  const list = await AccessList.open({ usersFile: fileOf('users'), tokensFile: fileOf('tokens') });
  return await new AccessControl(list, systemClock).check({ authorization, address: '192.0.2.1' });
}

it('passwd prints only the user’s line, with the first input line as password', async () => {
  expect(await passwd(flags(), piped('pass: wö', 'rd s3cr3t\r\n', 'more\n'), output)).toBe(0);
  expect(output.stdout).toMatch(/^ann:metrics:scrypt\$32768\$8\$3\$[^$\n]+\$[^$\n]+\n$/);
  expect(output.stderr).toBe('');
  folder.write('users', output.stdout);
  expect(await verdict(basic('ann', PASSWORD))).toEqual({ kind: 'known', reader: { name: 'ann', role: 'metrics' } });
});

it('passwd puts the line into a file closed to others, and replaces it there', async () => {
  const file = path.join(folder.path, 'users');
  await passwd(flags({ file }), piped('another one'), output);
  await passwd(flags({ file, role: 'sessions' }), piped(PASSWORD), output);
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(2);
  expect(await verdict(basic('ann', PASSWORD))).toMatchObject({ reader: { role: 'sessions' } });
  expect(await verdict(basic('ann', 'another one'))).toMatchObject({ kind: 'wrong' });
  expect(output.stdout).toBe('');
  expect(output.stderr).toBe(
    `d2-sidecar: ann with the role metrics added in ${file}\nd2-sidecar: ann with the role sessions replaced in ${file}\n`,
  );
});

it('passwd prints a token once: on standard error, or on standard output if the line is in a file', async () => {
  const file = path.join(folder.path, 'tokens');
  await passwd(flags({ isToken: true, file }), piped(), output);
  const token = output.stdout.trim();
  expect(token).toMatch(/^d2s_[A-Za-z0-9_-]{43}$/);
  expect(readFileSync(file, 'utf8') + output.stderr).not.toContain(token);
  expect(await verdict(`Bearer ${token}`)).toMatchObject({ kind: 'known' });
  output = new Printed();
  await passwd(flags({ isToken: true }), piped(), output);
  const printed = /d2s_[A-Za-z0-9_-]{43}/.exec(output.stderr)?.[0] ?? 'none';
  expect(output.stdout).not.toContain(printed);
  folder.write('tokens', output.stdout);
  expect(await verdict(`Bearer ${printed}`)).toMatchObject({ kind: 'known' });
  expect(await verdict(`Bearer ${token}`)).toMatchObject({ kind: 'wrong' });
});

it('passwd asks twice in a terminal without echo, and handles the editing keys', async () => {
  const input = terminal('wrong\u0015pass: wöö\u007frdx\u007f s3cr3t\rpass: wörd s3cr3t\r');
  await passwd(flags(), input, output);
  expect(output.stderr).toBe('Password for ann: \nRepeat password: \n');
  expect(input.modes).toEqual([true, false]);
  folder.write('users', output.stdout);
  expect(await verdict(basic('ann', PASSWORD))).toMatchObject({ kind: 'known' });
});

it.each([
  ['two that differ', 's3cr3t s3cr3t\rs3cr3t s3cr3d\r', 'the passwords do not match'],
  ['Ctrl-C', 's3cr3t\u0003', 'cancelled'],
])('passwd changes nothing in a terminal after %s, and restores the terminal', async (_what, typed, message) => {
  const input = terminal(typed);
  const error: unknown = await passwd(flags(), input, output).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toContain(message);
  expect(input.modes).toEqual([true, false]);
  expect(output.stdout + output.stderr + (error as Error).message).not.toContain('s3cr3');
});

it.each([
  ['seven characters', 's3cr3t!'],
  ['a control character', 's3cr3t\ts3cr3t'],
])('passwd refuses a password of %s without showing it', async (_what, text) => {
  const error: unknown = await passwd(flags(), piped(text), output).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toContain('must have at least 8 characters');
  expect(output.stdout + output.stderr + (error as Error).message).not.toContain('s3cr3t');
});

it('passwd does not change a world-readable file or one of the other kind, and shows no token then', async () => {
  const { line } = tokenLine('prometheus', 'metrics');
  const file = folder.write('tokens', `${line}\n`);
  const wrongKind = passwd(flags({ file }), piped(PASSWORD), output);
  await expect(wrongKind).rejects.toThrow(`${file}:1: expected name:role:hash, with scrypt$`);
  chmodSync(file, 0o644);
  const open = passwd(flags({ file, isToken: true }), piped(), output);
  await expect(open).rejects.toThrow('is open to every user of this machine (mode 0644)');
  await expect(open).rejects.toBeInstanceOf(StartError);
  expect(output.stdout).toBe('');
  expect(readFileSync(file, 'utf8')).toBe(`${line}\n`);
});
