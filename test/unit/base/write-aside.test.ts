import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, expect, it } from 'vitest';
import { WrittenByAnotherError, writeAside } from '../../../src/base/write-aside.ts';
import { StateFolder } from '../../support/state/restart.ts';

const { file } = new StateFolder().forTests();
beforeEach(() => writeFileSync(file, 'old'));

it('the old file stays until the new one is whole', async () => {
  const seen: string[] = [];
  await writeAside(file, async (handle) => {
    await handle.write('ne');
    seen.push(readFileSync(file, 'utf8'));
    await handle.write('w');
  });
  expect([...seen, readFileSync(file, 'utf8')]).toEqual(['old', 'new']);
});

it('a failed write leaves the old file and nothing else', async () => {
  const failure = Object.assign(new Error('full'), { code: 'ENOSPC' });
  await expect(
    writeAside(file, async (handle) => {
      await handle.write('ne');
      throw failure;
    }),
  ).rejects.toBe(failure);
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(existsSync(`${file}.saving`)).toBe(false);
});

it('two writers at the same time never put half a file in place', async () => {
  await expect(
    writeAside(file, async (handle) => {
      await handle.write('mine');
      // Another process removes this file, which it takes for the rest of a crash, and writes half of its own.
      rmSync(`${file}.saving`);
      writeFileSync(`${file}.saving`, 'half of its o');
    }),
  ).rejects.toBeInstanceOf(WrittenByAnotherError);
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(readFileSync(`${file}.saving`, 'utf8')).toBe('half of its o');
});
