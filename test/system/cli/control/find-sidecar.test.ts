import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../../../src/base/errors.ts';
import { findSidecar } from '../../../../src/cli/control/find-sidecar.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

let stand: ControlStand;
beforeEach(() => {
  stand = new ControlStand();
});
afterEach(() => stand.dispose());

function leaveStale(socketPath: string): void {
  const code = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', code, socketPath]);
}

describe('findSidecar', () => {
  it('takes a given path as it is', async () => {
    expect(await findSidecar({ socket: '/run/x.sock', folder: stand.folder })).toBe('/run/x.sock');
  });

  it('finds the only running one, and removes the sockets of dead ones', async () => {
    leaveStale(stand.at('1.sock'));
    await stand.open('4711.sock');
    writeFileSync(stand.at('notes.txt'), '');
    expect(await findSidecar({ folder: stand.folder })).toBe(stand.at('4711.sock'));
    expect(existsSync(stand.at('1.sock'))).toBe(false);
    expect(existsSync(stand.at('notes.txt'))).toBe(true);
  });

  it('finds one among many sockets of dead ones', async () => {
    const code = `for (let pid = 1; pid <= 120; pid++) require('net').createServer().listen(process.argv[1] + '/' + pid + '.sock');
      setImmediate(() => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', code, stand.folder]);
    await stand.open('4711.sock');
    expect(readdirSync(stand.folder)).toHaveLength(121);
    expect(await findSidecar({ folder: stand.folder })).toBe(stand.at('4711.sock'));
    expect(readdirSync(stand.folder)).toEqual(['4711.sock']);
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

  it.each([{}, { pid: 815 }])('reports where it searched if there is none: %j', async (wanted) => {
    await expect(findSidecar({ ...wanted, folder: stand.folder })).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining(stand.folder),
    });
  });

  it('finds none without a folder', async () => {
    await expect(findSidecar({ folder: stand.at('none') })).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('no running sidecar of this user'),
    });
  });

  it('does not trust a folder that others can write to', async () => {
    await stand.open('4711.sock');
    chmodSync(stand.folder, 0o777);
    await expect(findSidecar({ folder: stand.folder })).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('closed to others'),
    });
  });

  it('skips a socket of another program', async () => {
    const server = net.createServer((socket) => socket.resume().end('220 mail\n'));
    await new Promise<void>((resolve) => server.listen(stand.at('5.sock'), resolve));
    await stand.open('4711.sock');
    expect(await findSidecar({ folder: stand.folder })).toBe(stand.at('4711.sock'));
    expect(existsSync(stand.at('5.sock'))).toBe(true);
    await new Promise((resolve) => server.close(resolve));
  });
});
