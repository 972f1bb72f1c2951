import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CredentialsOptions, createCredentialsReader } from '../../../../src/jvm/http/server-credentials.ts';
import { Folder } from '../../../support/monitor/access/access-files.ts';

let folder: Folder;
let passwordFile: string;
let warnings: unknown[][];

beforeEach(() => {
  folder = new Folder();
  passwordFile = join(folder.path, 'password');
  warnings = [];
});

afterEach(() => folder.remove());

function readerOf(options: Partial<CredentialsOptions>) {
  const logger = { warn: (...line: unknown[]) => void warnings.push(line) };
  return createCredentialsReader({ username: 'monitor', env: {}, logger, ...options });
}

describe('credentials', () => {
  it('are read from a private file without its line feed and without a warning, and again after a change', async () => {
    folder.write('password', 'first word\r\n', 0o400);
    const read = readerOf({ passwordFile });
    expect(await read()).toEqual({ username: 'monitor', password: 'first word' });
    folder.write('password', 'other word', 0o400);
    expect(await read()).toEqual({ username: 'monitor', password: 'other word' });
    folder.write('password', 'private word', 0o600);
    await read();
    expect(warnings).toEqual([]);
  });

  it('are undefined without a user or a password', async () => {
    expect(await readerOf({ username: undefined, passwordFile: '/nowhere' })()).toBeUndefined();
    expect(await readerOf({})()).toBeUndefined();
  });

  it('warn once about a world-readable file, and again after its change', async () => {
    folder.write('password', 'planted-word', 0o644);
    const read = readerOf({ passwordFile });
    await read();
    await read();
    expect(warnings).toEqual([[{ file: passwordFile }, expect.stringContaining('chmod 0400')]]);
    folder.write('password', 'planted-word-2', 0o644);
    await read();
    expect(warnings).toHaveLength(2);
    expect(inspect(warnings)).not.toContain('planted');
  });

  it.each([
    ['a missing file', () => undefined, 'create it'],
    ['an empty file', () => folder.write('password', '\n'), 'no password'],
    ['a file too large for a password', () => folder.write('password', 'x'.repeat(5000)), 'larger than 4096 bytes'],
    ['a named pipe', () => execFileSync('mkfifo', [passwordFile]), 'expected a regular file'],
    ['a line end in the middle', () => folder.write('password', 'planted\nword'), 'control character'],
  ])('refuse %s, and say what to do without telling it', async (_, prepare, words) => {
    prepare();
    const failure: unknown = await readerOf({ passwordFile })().catch((cause: unknown) => cause);
    expect(failure).toMatchObject({ code: 'D2S_ERR_JVM_ACCESS', message: expect.stringContaining(words) });
    expect(inspect(failure)).not.toContain('planted');
  });

  it('are read from the environment variable without a file, and refused without that variable', async () => {
    const optionsOf = (env: NodeJS.ProcessEnv) => ({ passwordEnv: 'D2_JVM_PASSWORD', env });
    const read = readerOf(optionsOf({ D2_JVM_PASSWORD: 'from the environment' }));
    expect(await read()).toEqual({ username: 'monitor', password: 'from the environment' });
    const missing = { message: expect.stringContaining('D2_JVM_PASSWORD') };
    await expect(readerOf(optionsOf({}))()).rejects.toMatchObject(missing);
  });
});
