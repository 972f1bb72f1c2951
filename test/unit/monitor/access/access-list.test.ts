import { chmodSync, chownSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, it, vi } from 'vitest';
import { ConfigError, type SidecarError, StartError } from '../../../../src/base/errors.ts';
import { putAccessLine } from '../../../../src/monitor/access/access-file.ts';
import { MAX_ENTRIES } from '../../../../src/monitor/access/access-lines.ts';
import { AccessList } from '../../../../src/monitor/access/access-list.ts';
import { Folder, tokenLine, userLine } from '../../../support/monitor/access/access-files.ts';
import { giveToOther } from '../../../support/other-user.ts';

const SECRET = 's3cr3t';

const folder = new Folder().forTests();
let ann: string;
let bob: string;
beforeEach(async () => {
  ann = await userLine('ann', 'sessions', 'annannann');
  bob = await userLine('bob', 'metrics', 'bobbobbob');
});

function users(text: string, mode?: number): Promise<AccessList> {
  return AccessList.open({ usersFile: folder.write('users', text, mode), tokensFile: undefined });
}

function withMode(mode: string): string {
  const file = folder.write('users', ann);
  chmodSync(file, Number.parseInt(mode, 8));
  return file;
}

async function failure(make: () => Promise<unknown>): Promise<SidecarError> {
  const error = await make().catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(Error);
  return error as SidecarError;
}

it('the access list has the readers of both files, past comments, empty lines, CRLF and a byte order mark, also where their group may read them', async () => {
  const { line } = tokenLine('prometheus', 'metrics');
  const list = await AccessList.open({
    usersFile: folder.write('users', `\ufeff# people\r\n\r\n${ann}\r\n  ${bob}  \r\n`),
    tokensFile: folder.write('tokens', line),
  });
  expect(list.readers).toEqual([
    { name: 'ann', role: 'sessions', kind: 'password' },
    { name: 'bob', role: 'metrics', kind: 'password' },
    { name: 'prometheus', role: 'metrics', kind: 'token' },
  ]);
  expect((await users(ann, 0o440)).readers).toHaveLength(1);
});

it.each([
  ['no colon', SECRET, 'name:role:hash'],
  ['a bad role', `ann:${SECRET}:x`, 'name:role:hash, with metrics or sessions as role'],
  ['a password in clear', `ann:metrics:${SECRET}`, 'name:role:hash, with scrypt$N$r$p$salt$hash'],
])(
  'the access list refuses a line with %s by number and expectation, without its text',
  async (_what, line, expected) => {
    const error = await failure(() => users(`# first\n${line}\n`));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.message).toContain(`monitor.auth.usersFile: ${folder.path}/users:2: expected ${expected}`);
    expect(error.message + String(error.stack)).not.toContain(SECRET);
  },
);

it('the access list reports up to five wrong lines, each with the key', async () => {
  const error = await failure(() => users(`${'x\n'.repeat(7)}${ann}\n${ann}\n`));
  const lines = error.message.split('\n');
  expect(lines).toHaveLength(6);
  expect(lines.every((line) => line.startsWith('monitor.auth.usersFile: '))).toBe(true);
  expect(lines.at(-1)).toContain('3 more lines');
  const twice = await failure(() => users(`${ann}\n${ann}`));
  expect(twice.message).toContain('users:2: expected another name than in line 1');
});

it('the access list refuses lines of the other kind of file, too many entries, and an empty list', async () => {
  const { line } = tokenLine('prometheus', 'metrics');
  expect((await failure(() => users(line))).message).toContain('users:1: expected');
  const many = Array.from({ length: MAX_ENTRIES + 2 }, (_, index) => line.replace('prometheus', `p${index}`));
  const tokensFile = folder.write('tokens', many.join('\n'));
  const error = await failure(() => AccessList.open({ usersFile: undefined, tokensFile }));
  expect(error.message).toBe(`monitor.auth.tokensFile: ${tokensFile}:1001: expected at most 1000 entries`);
  expect(await failure(() => users('# nobody yet\n'))).toBeInstanceOf(ConfigError);
});

it.each<[string, () => string, string]>([
  ['is absent', () => `${folder.path}/none`, 'ENOENT'],
  ['is too large', () => folder.write('large', `#${'x'.repeat(1024 * 1024)}`), 'is larger than 1048576 bytes'],
  ...['0604', '0602'].map((mode) => {
    const problem = `users is open to every user of this machine (mode ${mode})`;
    return [`has the mode ${mode}`, () => withMode(mode), problem] as [string, () => string, string];
  }),
])('the access list refuses a file that %s as a failure to start', async (_what, toFile, problem) => {
  const error = await failure(() => AccessList.open({ usersFile: toFile(), tokensFile: undefined }));
  expect(error).toBeInstanceOf(StartError);
  expect(error).toMatchObject({ code: 'D2S_ERR_ACCESS_FILE', message: expect.stringContaining(problem) });
  expect(error.message).toContain(`monitor.auth.usersFile: ${folder.path}/`);
});

it('the access list makes another list of changed files, and none when they are invalid, missing or open to others', async () => {
  const files = { usersFile: folder.write('users', ann), tokensFile: undefined };
  const first = await AccessList.open(files);
  expect(await AccessList.open(files, first)).toBe(first);
  folder.write('users', `${ann}\n${bob}\n`);
  const list = await AccessList.open(files, first);
  expect([first, list].map(({ readers }) => readers.map(({ name }) => name))).toEqual([['ann'], ['ann', 'bob']]);
  for (const spoil of [
    () => folder.write('users', `${ann}\nbob:${SECRET}`),
    () => folder.write('users', ''),
    () => folder.write('users', ann, 0o644),
    () => rmSync(path.join(folder.path, 'users')),
  ]) {
    spoil();
    const error = await failure(() => AccessList.open(files, list));
    expect(error.message).not.toContain(SECRET);
    expect(error.code).toMatch(/^D2S_ERR_(CONFIG|ACCESS_FILE)$/);
  }
});

const put = (file: string, line: string) => putAccessLine(file, line, () => undefined);

/** One that this user may give files to. */
const otherGroup = () => (process.getuid?.() === 0 ? 4_711 : (process.getgroups?.().at(-1) ?? 0));

it('putting a line into a file creates a file that only the group of its folder may read, and appends, replaces by name, and keeps all other lines', async () => {
  chownSync(folder.path, process.getuid?.() ?? 0, otherGroup());
  const file = path.join(folder.path, 'new');
  expect(await put(file, ann)).toBe('added');
  expect(statSync(file)).toMatchObject({ uid: process.getuid?.(), gid: otherGroup() });
  expect(statSync(file).mode & 0o777).toBe(0o640);
  folder.write('new', `# ann: is in charge\n${ann}\n\n# last`);
  expect(await put(file, bob)).toBe('added');
  expect(await put(file, 'ann:metrics:other')).toBe('replaced');
  expect(readFileSync(file, 'utf8')).toBe(`# ann: is in charge\nann:metrics:other\n\n# last\n${bob}\n`);
  expect(readdirSync(folder.path)).toEqual(['new']);
  const nowhere = path.join(folder.path, 'none', 'users');
  expect(await failure(() => put(nowhere, bob))).toMatchObject({ code: 'D2S_ERR_ACCESS_FILE' });
});

it('putting a line keeps owner, group and mode of a file', async () => {
  const file = folder.write('users', `${ann}\n`, 0o600);
  const owner = process.getuid?.() === 0 ? 4_711 : (process.getuid?.() ?? 0);
  chownSync(file, owner, otherGroup());
  chmodSync(file, 0o440);
  await put(file, bob);
  expect(readFileSync(file, 'utf8')).toBe(`${ann}\n${bob}\n`);
  expect(statSync(file)).toMatchObject({ uid: owner, gid: otherGroup() });
  expect(statSync(file).mode & 0o777).toBe(0o440);
});

it('putting a line into a file replaces the file that a link leads to, not the link, and follows no link of another user', async () => {
  const file = folder.write('users', `${ann}\n`);
  const link = path.join(folder.path, 'link');
  symlinkSync(file, link);
  await put(link, bob);
  expect(readdirSync(folder.path).sort()).toEqual(['link', 'users']);
  giveToOther(link);
  const problem = /link cannot be read: .*link is a symbolic link owned by uid \d+, expected the owner to be root/;
  const message = expect.stringMatching(problem);
  expect(await failure(() => put(link, ann))).toMatchObject({ code: 'D2S_ERR_ACCESS_FILE', message });
  vi.restoreAllMocks();
  expect(readFileSync(file, 'utf8')).toBe(`${ann}\n${bob}\n`);
});
