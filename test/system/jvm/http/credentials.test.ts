import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CredentialsOptions, createCredentialsReader } from '../../../../src/jvm/http/credentials.ts';

let folder: string;
let file: string;
let warnings: unknown[][];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'd2s-credentials-'));
  file = join(folder, 'password');
  warnings = [];
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

function readerOf(options: Partial<CredentialsOptions>) {
  const logger = { warn: (...line: unknown[]) => void warnings.push(line) };
  return createCredentialsReader({ username: 'monitor', env: {}, logger, ...options });
}

describe('credentials', () => {
  it('are read from the file without its line feed, and again after a change', async () => {
    await writeFile(file, 'first word\r\n', { mode: 0o400 });
    const read = readerOf({ passwordFile: file });
    expect(await read()).toEqual({ username: 'monitor', password: 'first word' });
    await rm(file);
    await writeFile(file, 'other word', { mode: 0o400 });
    expect(await read()).toEqual({ username: 'monitor', password: 'other word' });
  });

  it('are read from the new file when a mounted secret’s link changes', async () => {
    await writeFile(join(folder, 'v1'), 'same-size-1', { mode: 0o400 });
    await writeFile(join(folder, 'v2'), 'same-size-2', { mode: 0o400 });
    await symlink('v1', file);
    const read = readerOf({ passwordFile: file });
    expect((await read())?.password).toBe('same-size-1');
    await symlink('v2', join(folder, 'next'));
    await rename(join(folder, 'next'), file);
    expect((await read())?.password).toBe('same-size-2');
  });

  it('are read from the environment variable without a file', async () => {
    const env = { D2_JVM_PASSWORD: 'from the environment' };
    const read = readerOf({ passwordEnv: 'D2_JVM_PASSWORD', env });
    expect(await read()).toEqual({ username: 'monitor', password: 'from the environment' });
  });

  it('are undefined without a user or a password', async () => {
    expect(await readerOf({ username: undefined, passwordFile: '/nowhere' })()).toBeUndefined();
    expect(await readerOf({})()).toBeUndefined();
  });

  it('warn once about a world-readable file, and again after its change', async () => {
    await writeFile(file, 'planted-word');
    await chmod(file, 0o644);
    const read = readerOf({ passwordFile: file });
    await read();
    await read();
    expect(warnings).toEqual([[{ file }, expect.stringContaining('chmod 0400')]]);
    await writeFile(file, 'planted-word-2');
    await read();
    expect(warnings).toHaveLength(2);
    expect(inspect(warnings)).not.toContain('planted');
  });

  it('do not warn about a private file', async () => {
    await writeFile(file, 'word', { mode: 0o600 });
    await readerOf({ passwordFile: file })();
    expect(warnings).toEqual([]);
  });

  it.each([
    ['a missing file', async () => undefined, 'create it'],
    ['an empty file', () => writeFile(file, '\n'), 'no password'],
    ['a file too large for a password', () => writeFile(file, 'x'.repeat(5000)), 'larger than 4096 bytes'],
    ['a named pipe', async () => void execFileSync('mkfifo', [file]), 'not a regular file'],
    ['a line end in the middle', () => writeFile(file, 'planted\nword'), 'control character'],
  ])('refuse %s, and say what to do without telling it', async (_, prepare, words) => {
    await prepare();
    const failure: unknown = await readerOf({ passwordFile: file })().catch((cause: unknown) => cause);
    expect(failure).toMatchObject({ code: 'D2S_ERR_JVM_ACCESS', message: expect.stringContaining(words) });
    expect(inspect(failure)).not.toContain('planted');
  });

  it('refuse an environment variable that is not set, and name it', async () => {
    const read = readerOf({ passwordEnv: 'D2_JVM_PASSWORD', env: {} });
    await expect(read()).rejects.toMatchObject({ message: expect.stringContaining('D2_JVM_PASSWORD') });
  });
});
