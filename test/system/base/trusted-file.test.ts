import { execFileSync } from 'node:child_process';
import { constants, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { describeFileError, openTrusted, readRegularFile, UntrustedFileError } from '../../../src/base/trusted-file.ts';
import { useFolder } from '../../support/export/access-log/folder.ts';
import { giveToOther } from '../../support/other-user.ts';

const MAX_BYTES = 200_000;

const at = useFolder();
afterEach(() => vi.restoreAllMocks());

async function read(file: string): Promise<string> {
  return await readRegularFile(file, MAX_BYTES).then(
    (bytes) => bytes.toString('utf8'),
    (error: unknown) => `refused: ${describeFileError(error)}`,
  );
}

describe('a regular file', () => {
  it.each([0, 65_537, MAX_BYTES])('of %d bytes is read as a whole', async (bytes) => {
    writeFileSync(at('file'), Buffer.alloc(bytes, 'x'));
    expect((await readRegularFile(at('file'), MAX_BYTES)).length).toBe(bytes);
  });

  it('that is too large, absent, or below a file, is refused by name of the reason', async () => {
    writeFileSync(at('file'), Buffer.alloc(MAX_BYTES + 1));
    expect(await read(at('file'))).toBe(`refused: it is larger than ${MAX_BYTES} bytes`);
    expect(await read(at('none'))).toBe('refused: ENOENT');
    expect(await read(at('file/below'))).toBe('refused: ENOTDIR');
  });
});

describe('a file that is not regular', () => {
  it.each([
    ['a FIFO', () => at('fifo'), 'it is a FIFO, expected a regular file'],
    ['a folder', () => at(''), 'it is a folder, expected a regular file'],
    ['a device', () => '/dev/zero', 'it is a device, expected a regular file'],
  ])('is refused at once with its kind: %s', async (_what, toFile, reason) => {
    execFileSync('mkfifo', [at('fifo')]);
    expect(await read(toFile())).toBe(`refused: ${reason}`);
  });
});

describe('a symbolic link', () => {
  beforeEach(() => {
    mkdirSync(at('real'));
    writeFileSync(at('real/file'), 'text');
  });

  it('of another user is not followed, as the file, on the way to it, or through a link of ours', async () => {
    symlinkSync(at('real/file'), at('link'));
    symlinkSync('real', at('way'));
    symlinkSync('link', at('second'));
    for (const name of ['link', 'way']) giveToOther(at(name));
    const expected = (link: string) =>
      new RegExp(`^refused: ${at(link)} is a symbolic link owned by uid \\d+, expected the owner to be root`);
    expect(await read(at('link'))).toMatch(expected('link'));
    expect(await read(at('way/file'))).toMatch(expected('way'));
    expect(await read(at('second'))).toContain('is a symbolic link owned by uid');
    expect(await read(at('real/file'))).toBe('text');
  });

  it('of our own is followed, relative or absolute, chained, and up, unless it leads to itself', async () => {
    symlinkSync(at('real'), at('absolute'));
    symlinkSync('absolute/../real/file', at('chain'));
    symlinkSync('../real/./file', at('real/up'));
    const relative = `${path.relative(process.cwd(), at('real'))}/.././/real/file`;
    for (const file of [at('absolute/file'), at('chain'), at('real/up'), relative])
      expect(await read(file)).toBe('text');
    symlinkSync('loop', at('loop'));
    expect(await read(at('loop'))).toBe('refused: ELOOP');
  });

  it('to a missing file creates that file', async () => {
    symlinkSync('real/new', at('link'));
    const { handle, realPath } = await openTrusted(at('link'), constants.O_WRONLY | constants.O_CREAT, 0o600);
    await handle.close();
    expect(realPath).toBe(at('real/new'));
    expect(await read(at('real/new'))).toBe('');
  });
});

it.runIf(process.platform === 'linux')('the path of a descriptor of this process is opened as it is', async () => {
  writeFileSync(at('file'), 'text');
  const { handle } = await openTrusted(at('file'), constants.O_RDONLY);
  const again = await openTrusted(`/dev/fd/${handle.fd}`, constants.O_RDONLY);
  expect(again.isDescriptor).toBe(true);
  expect(await again.handle.readFile('utf8')).toBe('text');
  await again.handle.close();
  await handle.close();
});

it('reports our errors by message, the system’s by code, and nothing else', () => {
  expect(describeFileError(new UntrustedFileError('it is a FIFO'))).toBe('it is a FIFO');
  expect(describeFileError(Object.assign(new Error('s3cr3t'), { code: 'EACCES' }))).toBe('EACCES');
  expect(describeFileError(new Error('s3cr3t'))).toBe('unknown reason');
});
