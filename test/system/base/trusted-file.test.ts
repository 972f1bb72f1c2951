import { execFileSync } from 'node:child_process';
import { constants, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeFileError, openTrusted, readRegularFile, UntrustedFileError } from '../../../src/base/trusted-file.ts';
import { useFolder } from '../../support/export/access-log/folder.ts';

const MAX_BYTES = 200_000;

const at = useFolder();

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

it.each([
  ['a FIFO', () => at('fifo'), 'it is a FIFO, expected a regular file'],
  ['a folder', () => at(''), 'it is a folder, expected a regular file'],
  ['a device', () => '/dev/zero', 'it is a device, expected a regular file'],
])('a file that is not regular is refused at once with its kind: %s', async (_what, toFile, reason) => {
  execFileSync('mkfifo', [at('fifo')]);
  expect(await read(toFile())).toBe(`refused: ${reason}`);
});

it('a link of our own is followed, relative or absolute, chained, and up, unless it leads to itself', async () => {
  mkdirSync(at('real'));
  writeFileSync(at('real/file'), 'text');
  symlinkSync(at('real'), at('absolute'));
  symlinkSync('absolute/../real/file', at('chain'));
  symlinkSync('../real/./file', at('real/up'));
  const relative = `${path.relative(process.cwd(), at('real'))}/.././/real/file`;
  for (const file of [at('absolute/file'), at('chain'), at('real/up'), relative]) expect(await read(file)).toBe('text');
  symlinkSync('loop', at('loop'));
  expect(await read(at('loop'))).toBe('refused: ELOOP');
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
