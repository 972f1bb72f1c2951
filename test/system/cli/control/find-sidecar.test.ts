import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ConfigError } from '../../../../src/base/errors.ts';
import { findSidecar, type SocketPlaces } from '../../../../src/cli/control/find-sidecar.ts';
import { foldersOfUsers } from '../../../../src/cli/control/socket-folder.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

const stand = new ControlStand();
afterEach(() => void vi.restoreAllMocks());

function placesOf(folder: string, more: Partial<SocketPlaces> = {}): SocketPlaces {
  return { service: stand.at('service/control.sock'), folder, others: [], ...more };
}

describe('findSidecar', () => {
  it('finds the only running one among many sockets of dead ones, and removes these', async () => {
    stand.leaveStale(...Array.from({ length: 120 }, (_, pid) => `${pid + 1}.sock`));
    await stand.open('4711.sock');
    writeFileSync(stand.at('notes.txt'), '');
    expect(readdirSync(stand.folder)).toHaveLength(122);
    expect(await findSidecar(undefined, placesOf(stand.folder))).toBe(stand.at('4711.sock'));
    expect(readdirSync(stand.folder)).toEqual(['4711.sock', 'notes.txt']);
  });

  it('lists several and asks to choose', async () => {
    await stand.open('4711.sock', new NotingTarget(4711));
    await stand.open('815.sock', new NotingTarget(815));
    const error: unknown = await findSidecar(undefined, placesOf(stand.folder)).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message.split('\n')).toEqual([
      '2 sidecars are running, expected --pid to choose one:',
      '  --pid 815  listens on 127.0.0.1:815, monitor on 127.0.0.1:9280',
      '  --pid 4711  listens on 127.0.0.1:4711, monitor on 127.0.0.1:9280',
    ]);
    expect(await findSidecar(815, placesOf(stand.folder))).toBe(stand.at('815.sock'));
  });

  it('reports where it searched if there is none', async () => {
    const message = expect.stringMatching(new RegExp(`no running sidecar .*${stand.folder}`));
    const error = { code: 'D2S_ERR_CONTROL', message };
    await expect(findSidecar(undefined, placesOf(stand.at('none')))).rejects.toMatchObject(error);
  });

  it('skips the socket of another program, and reports that the only one that runs is of another version', async () => {
    const other = await stand.openOther('5.sock', '{"kind":"refused","reason":"unknown command"}\n');
    const error = { code: 'D2S_ERR_CONTROL', message: expect.stringContaining('of this version') };
    await expect(findSidecar(undefined, placesOf(stand.folder))).rejects.toMatchObject(error);
    expect(await findSidecar(5, placesOf(stand.folder))).toBe(other);
    await stand.open('4711.sock');
    expect(await findSidecar(undefined, placesOf(stand.folder))).toBe(stand.at('4711.sock'));
    expect(existsSync(other)).toBe(true);
  });

  it('finds the installed service, and for root the sidecars of others, and tells which is which', async () => {
    const other = path.join(stand.folder, 'd2-sidecar-1000');
    mkdirSync(other);
    mkdirSync(stand.at('own'));
    await stand.open('service.sock', new NotingTarget(1));
    const service = stand.at('service.sock');
    const alone = placesOf(stand.at('own'), { service });
    expect(await findSidecar(undefined, alone)).toBe(service);
    expect(await findSidecar(1, alone)).toBe(service);
    await stand.open('d2-sidecar-1000/815.sock', new NotingTarget(815));
    const both = { ...alone, others: [other, stand.at('gone')] };
    const error: unknown = await findSidecar(undefined, both).catch((cause: unknown) => cause);
    expect((error as Error).message.split('\n').slice(1)).toEqual([
      '  --pid 1  listens on 127.0.0.1:1, monitor on 127.0.0.1:9280, the installed service',
      '  --pid 815  listens on 127.0.0.1:815, monitor on 127.0.0.1:9280',
    ]);
    expect(await findSidecar(815, both)).toBe(path.join(other, '815.sock'));
  });

  it('looks only into folders that belong to the user in their name, and only that user may write to', () => {
    const own = path.join(stand.folder, `d2-sidecar-${process.getuid?.()}`);
    mkdirSync(own, { mode: 0o700 });
    mkdirSync(stand.at('d2-sidecar-4711'));
    mkdirSync(stand.at('d2-sidecar-backup'));
    symlinkSync(own, stand.at('d2-sidecar-0815'));
    expect(foldersOfUsers(stand.folder)).toEqual([own]);
    chmodSync(own, 0o777);
    expect(foldersOfUsers(stand.folder)).toEqual([]);
  });
});
