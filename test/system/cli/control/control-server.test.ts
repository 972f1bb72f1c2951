import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isListening, requestShutdown, sendCommand } from '../../../../src/cli/control/control-client.ts';
import { ControlServer } from '../../../../src/cli/control/control-server.ts';
import { MAX_COMMAND_BYTES } from '../../../../src/cli/control/protocol.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

let stand: ControlStand;
beforeEach(() => {
  stand = new ControlStand();
});
afterEach(() => stand.dispose());

/** Sends bytes as they are; resolves to all that comes back until the connection ends. */
async function talk(socketPath: string, bytes: string): Promise<string> {
  return await new Promise((resolve) => {
    const socket = net.connect(socketPath);
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(text));
    socket.write(bytes);
  });
}

/** What Node leaves behind when a process is killed: a socket file that nobody listens on. */
async function leaveStale(socketPath: string): Promise<void> {
  const code = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))`;
  const { spawnSync } = await import('node:child_process');
  spawnSync(process.execPath, ['-e', code, socketPath]);
  expect(statSync(socketPath).isSocket()).toBe(true);
}

describe('the control socket', () => {
  it('answers with its status and changes nothing', async () => {
    const target = new NotingTarget();
    const server = await stand.open('a.sock', target);
    expect(await sendCommand(server.path, 'status')).toEqual({
      pid: 4711,
      listen: '127.0.0.1:4711',
      monitor: '127.0.0.1:9280',
      state: 'serving',
      isDraining: false,
      openExchanges: 0,
      openWebSockets: 0,
      stopDeadlineMs: 0,
    });
    expect(target.told).toEqual([]);
  });

  it('drains its target before it answers', async () => {
    const target = new NotingTarget();
    const server = await stand.open('a.sock', target);
    expect(await sendCommand(server.path, 'drain')).toMatchObject({ isDraining: true });
    expect(target.told).toEqual(['drain']);
  });

  it('keeps the connection of a shutdown until its process ends', async () => {
    const target = new NotingTarget();
    const server = await stand.open('a.sock', target, 40);
    const { status, gone } = await requestShutdown(server.path, 60_000);
    expect(status.pid).toBe(4711);
    expect(target.told).toEqual(['shutdown']);
    server.close();
    // Longer than the idle time of other connections, which is 40 ms here.
    expect(await Promise.race([gone, new Promise((resolve) => setTimeout(resolve, 120, 'waits'))])).toBe('waits');
    server.destroy();
    expect(await gone).toBe(true);
  });

  it('lets the client give up on a shutdown that never ends', async () => {
    const server = await stand.open('a.sock');
    const { gone } = await requestShutdown(server.path, 20);
    expect(await gone).toBe(false);
  });

  it('can be opened by its own user only', async () => {
    const server = await stand.open('a.sock');
    expect(statSync(server.path).mode & 0o777).toBe(0o600);
  });

  it('creates its folder closed to others', async () => {
    await stand.open('private/a.sock');
    expect(statSync(stand.at('private')).mode & 0o777).toBe(0o700);
  });

  it('keeps the process’s mode of new files', async () => {
    const before = process.umask();
    await stand.open('a.sock');
    expect(process.umask()).toBe(before);
  });

  it('is removed on close', async () => {
    const server = await stand.open('a.sock');
    server.close();
    expect(existsSync(server.path)).toBe(false);
    await expect(sendCommand(server.path, 'status')).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL' });
  });
});

describe('an unknown command', () => {
  it.each(['stop\n', '\n', 'DRAIN\n', '{"command":"drain"}\n', 'constructor\n'])('is refused: %j', async (bytes) => {
    const target = new NotingTarget();
    const server = await stand.open('a.sock', target);
    expect(JSON.parse(await talk(server.path, bytes))).toEqual({
      kind: 'refused',
      reason: 'unknown command',
    });
    expect(target.told).toEqual([]);
  });

  it('is cut when it is longer than a command may be', async () => {
    const target = new NotingTarget();
    const server = await stand.open('a.sock', target);
    expect(await talk(server.path, ' '.repeat(MAX_COMMAND_BYTES))).toBe('');
    expect(await talk(server.path, `drain${' '.repeat(MAX_COMMAND_BYTES)}\n`)).toBe('');
    expect(target.told).toEqual([]);
  });

  it('ends the connection when it does not arrive', async () => {
    const server = await stand.open('a.sock', new NotingTarget(), 5);
    expect(await talk(server.path, 'dra')).toBe('');
  });

  it('in a second line on the same connection is ignored', async () => {
    const target = new NotingTarget();
    const server = await stand.open('a.sock', target);
    await talk(server.path, 'status\ndrain\n');
    expect(target.told).toEqual([]);
  });
});

describe('too many clients', () => {
  it('are refused, counted, and logged once', async () => {
    const server = await stand.open('a.sock');
    const idle = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const socket = net.connect(server.path);
        await new Promise((resolve) => socket.once('connect', resolve));
        return socket;
      }),
    );
    expect(await talk(server.path, 'status\n')).toBe('');
    expect(await talk(server.path, 'status\n')).toBe('');
    expect(server.turnedAway).toBe(2);
    expect(stand.log.lines).toEqual(['warn the control socket refuses clients']);
    for (const socket of idle) socket.destroy();
  });
});

describe('a place that cannot be used', () => {
  it('holds the socket of a dead process: it is replaced', async () => {
    await leaveStale(stand.at('a.sock'));
    const server = await stand.open('a.sock');
    expect(await sendCommand(server.path, 'status')).toMatchObject({ pid: 4711 });
  });

  it('holds the socket of a living process: it stays', async () => {
    const target = new NotingTarget();
    await stand.open('a.sock', target);
    await expect(stand.open('a.sock')).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('in use'),
    });
    expect(await isListening(stand.at('a.sock'))).toBe(true);
  });

  it('holds a file: it stays', async () => {
    writeFileSync(stand.at('a.sock'), 'mine');
    await expect(stand.open('a.sock')).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('not a socket'),
    });
    expect(readFileSync(stand.at('a.sock'), 'utf8')).toBe('mine');
  });

  it.each([0o777, 0o770, 0o1777])('is a folder that others can write to (mode %o)', async (mode) => {
    mkdirSync(stand.at('open'));
    chmodSync(stand.at('open'), mode);
    await expect(stand.open('open/a.sock')).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('closed to others'),
    });
    expect(existsSync(stand.at('open/a.sock'))).toBe(false);
  });

  it('is a link to a folder, even to a good one', async () => {
    mkdirSync(stand.at('real'), { mode: 0o700 });
    symlinkSync(stand.at('real'), stand.at('link'));
    await expect(stand.open('link/a.sock')).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('links are not followed'),
    });
    expect(existsSync(stand.at('real/a.sock'))).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('is a folder of somebody else', async () => {
    const { chownSync } = await import('node:fs');
    mkdirSync(stand.at('theirs'), { mode: 0o700 });
    chownSync(stand.at('theirs'), 4711, 4711);
    await expect(stand.open('theirs/a.sock')).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('must belong to user 0'),
    });
  });

  it('has no parent to make a folder in', async () => {
    await expect(stand.open('no/such/a.sock')).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('has a path that would be cut short', async () => {
    const log = stand.log.logger;
    const long = stand.at(`${'x'.repeat(110)}.sock`);
    await expect(ControlServer.open(long, new NotingTarget(), log)).rejects.toMatchObject({
      code: 'D2S_ERR_CONTROL',
      message: expect.stringContaining('longer than the 103 bytes'),
    });
  });
});
