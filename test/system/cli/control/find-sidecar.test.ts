import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../../src/base/errors.ts';
import { findSidecar } from '../../../../src/cli/control/find-sidecar.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

const stand = new ControlStand();

describe('findSidecar', () => {
  it('takes a given path as it is', async () => {
    expect(await findSidecar({ socket: '/run/x.sock', folder: stand.folder })).toBe('/run/x.sock');
  });

  it('finds the only running one among many sockets of dead ones, and removes these', async () => {
    stand.leaveStale(...Array.from({ length: 120 }, (_, pid) => `${pid + 1}.sock`));
    await stand.open('4711.sock');
    writeFileSync(stand.at('notes.txt'), '');
    expect(readdirSync(stand.folder)).toHaveLength(122);
    expect(await findSidecar({ folder: stand.folder })).toBe(stand.at('4711.sock'));
    expect(readdirSync(stand.folder)).toEqual(['4711.sock', 'notes.txt']);
  });

  it('lists several and asks to choose', async () => {
    await stand.open('4711.sock', new NotingTarget(4711));
    await stand.open('815.sock', new NotingTarget(815));
    const error: unknown = await findSidecar({ folder: stand.folder }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message.split('\n')).toEqual([
      '2 sidecars are running, expected --pid to choose one:',
      '  --pid 815  listens on 127.0.0.1:815, monitor on 127.0.0.1:9280',
      '  --pid 4711  listens on 127.0.0.1:4711, monitor on 127.0.0.1:9280',
    ]);
    expect(await findSidecar({ pid: 815, folder: stand.folder })).toBe(stand.at('815.sock'));
  });

  it.each([
    ['in an empty folder', {}, '.'],
    ['of another process id', { pid: 815 }, '.'],
    ['without a folder', {}, 'none'],
  ])('reports where it searched if there is none: %s', async (_what, wanted, folder) => {
    await expect(findSidecar({ ...wanted, folder: stand.at(folder) })).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringMatching(new RegExp(`no running sidecar of this user.*${stand.folder}`)),
    });
  });

  it('does not trust a folder that others can write to', async () => {
    await stand.open('4711.sock');
    chmodSync(stand.folder, 0o777);
    const message = expect.stringContaining('not be writable by others');
    await expect(findSidecar({ folder: stand.folder })).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL', message });
  });

  it('skips a socket of another program', async () => {
    const other = await stand.openOther('5.sock', '220 mail\n');
    await stand.open('4711.sock');
    expect(await findSidecar({ folder: stand.folder })).toBe(stand.at('4711.sock'));
    expect(existsSync(other)).toBe(true);
  });

  it('reports that the only one that runs is of another version', async () => {
    await stand.openOther('5.sock', '{"kind":"refused","reason":"unknown command"}\n');
    const error = { code: 'D2S_ERR_CONTROL', message: expect.stringContaining('of this version') };
    await expect(findSidecar({ folder: stand.folder })).rejects.toMatchObject(error);
    expect(await findSidecar({ folder: stand.folder, pid: 5 })).toBe(stand.at('5.sock'));
  });
});
