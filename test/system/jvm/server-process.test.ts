import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readServerProcess } from '../../../src/jvm/hsperfdata/hsperfdata-source.ts';
import { temporaryFolder, untilTestEnds } from '../../support/deferred.ts';

it('the process of the server is read from /proc', async () => {
  const read = await readServerProcess('/proc', process.pid, undefined);
  const { user, system } = process.cpuUsage();
  expect(read?.id).toMatch(new RegExp(`^${process.pid} \\d+$`));
  expect(Math.abs((read?.cpuSeconds ?? 0) - (user + system) / 1e6)).toBeLessThan(0.5);
  expect(Math.abs((read?.residentBytes ?? 0) / process.memoryUsage.rss() - 1)).toBeLessThan(0.5);
  expect(Math.abs((read?.openDescriptors ?? 0) - readdirSync('/proc/self/fd').length)).toBeLessThan(20);
  expect(read?.maxDescriptors).toBeGreaterThanOrEqual(read?.openDescriptors ?? 0);
  const ticks = Number(read?.id.split(' ')[1]);
  expect(await readServerProcess('/proc', process.pid, ticks)).toMatchObject({ id: read?.id });
  expect(await readServerProcess('/proc', process.pid, ticks + 1)).toBeUndefined();
});

it('the process of the server has what can be read, whatever its name is', async () => {
  const folder = temporaryFolder(untilTestEnds);
  mkdirSync(path.join(folder, '7'));
  const after = Array.from({ length: 40 }, (_, index) => String(index + 3));
  writeFileSync(path.join(folder, '7/stat'), `7 (a) b (x y) ${after.join(' ')}`);
  writeFileSync(path.join(folder, '7/status'), 'Name:\tx\nVmRSS:\t   2 kB\n');
  expect(await readServerProcess(folder, 7, 22)).toEqual({
    ...{ id: '7 22', cpuSeconds: 0.29, residentBytes: 2_048 },
    ...{ openDescriptors: undefined, maxDescriptors: undefined },
  });
});
