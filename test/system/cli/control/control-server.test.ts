import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { isListening, requestShutdown, sendCommand } from '../../../../src/cli/control/control-client.ts';
import { MAX_COMMAND_BYTES } from '../../../../src/cli/control/protocol.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';
import { collect } from '../../../support/install/run.ts';

const stand = new ControlStand();

/** Sends bytes as they are; resolves to all that comes back until the connection ends. */
async function talk(socketPath: string, bytes: string): Promise<string> {
  const socket = net.connect(socketPath).on('error', () => undefined);
  const received = collect(socket);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(bytes);
  await closed;
  return received();
}

async function open(idleTimeoutMs?: number) {
  const target = new NotingTarget();
  const server = await stand.open('a.sock', target, idleTimeoutMs);
  return { target, server, path: server.path };
}

describe('the control socket', () => {
  it('answers with its status and changes nothing, and drains its target before it answers', async () => {
    const { target, path } = await open();
    expect(await sendCommand(path, 'status')).toEqual({
      ...{ pid: 4711, listen: '127.0.0.1:4711', monitor: '127.0.0.1:9280' },
      ...{ state: 'serving', isDraining: false, openExchanges: 0, openWebSockets: 0, stopDeadlineMs: 0 },
    });
    expect(target.told).toEqual([]);
    expect(await sendCommand(path, 'drain')).toMatchObject({ isDraining: true });
    expect(target.told).toEqual(['drain']);
  });

  it('keeps the connection of a shutdown until its process ends', async () => {
    const { target, path, server } = await open(40);
    const { status, gone } = await requestShutdown(path, 60_000);
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

  it('can be opened by its own user only, in a folder closed to others, leaves the mode of new files, and is removed', async () => {
    const before = process.umask();
    const server = await stand.open('private/a.sock');
    expect(statSync(server.path).mode & 0o777).toBe(0o600);
    expect(statSync(stand.at('private')).mode & 0o777).toBe(0o700);
    expect(process.umask()).toBe(before);
    server.close();
    expect(existsSync(server.path)).toBe(false);
    await expect(sendCommand(server.path, 'status')).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL' });
  });
});

describe('an unknown command', () => {
  it.each(['stop\n', '\n', 'DRAIN\n', '{"command":"drain"}\n', 'constructor\n'])('is refused: %j', async (bytes) => {
    const { target, path } = await open();
    expect(JSON.parse(await talk(path, bytes))).toEqual({ kind: 'refused', reason: 'unknown command' });
    expect(target.told).toEqual([]);
  });

  it.each([
    ['longer than a command may be', ' '.repeat(MAX_COMMAND_BYTES)],
    ['longer, with a command in it', `drain${' '.repeat(MAX_COMMAND_BYTES)}\n`],
    ['not whole in time', 'dra'],
  ])('ends the connection: %s', async (_what, bytes) => {
    const { target, path } = await open(5);
    expect(await talk(path, bytes)).toBe('');
    expect(target.told).toEqual([]);
  });

  it('in a second line on the same connection is ignored', async () => {
    const { target, path } = await open();
    await talk(path, 'status\ndrain\n');
    expect(target.told).toEqual([]);
  });
});

it('too many clients are refused, counted, and logged once', async () => {
  const { path, server } = await open();
  const connect = async () => {
    const socket = net.connect(path);
    await new Promise((resolve) => socket.once('connect', resolve));
    return socket;
  };
  const idle = await Promise.all(Array.from({ length: 16 }, connect));
  expect(await talk(path, 'status\n')).toBe('');
  expect(await talk(path, 'status\n')).toBe('');
  expect(server.refusedClients).toBe(2);
  expect(stand.log.lines).toEqual(['warn the control socket refuses clients']);
  for (const socket of idle) socket.destroy();
});

describe('a place', () => {
  const expectRefused = async (name: string, reason: string) =>
    await expect(stand.open(name)).rejects.toMatchObject({
      ...{ code: 'D2S_ERR_CONTROL', message: expect.stringContaining(reason) },
    });

  it('with the socket of a dead process is used, and the socket replaced', async () => {
    stand.leaveStale('a.sock');
    expect(statSync(stand.at('a.sock')).isSocket()).toBe(true);
    const server = await stand.open('a.sock');
    expect(await sendCommand(server.path, 'status')).toMatchObject({ pid: 4711 });
  });

  it('with the socket of a living process is refused, and the socket stays', async () => {
    await stand.open('a.sock');
    await expectRefused('a.sock', 'in use');
    expect(await isListening(stand.at('a.sock'))).toBe(true);
  });

  it('with a file is refused, and the file stays', async () => {
    writeFileSync(stand.at('a.sock'), 'mine');
    await expectRefused('a.sock', 'not a socket');
    expect(readFileSync(stand.at('a.sock'), 'utf8')).toBe('mine');
  });

  it.each([0o777, 0o770, 0o1777])('in a folder that others can write to is refused (mode %o)', async (mode) => {
    mkdirSync(stand.at('open'));
    chmodSync(stand.at('open'), mode);
    await expectRefused('open/a.sock', 'not be writable by others');
    expect(existsSync(stand.at('open/a.sock'))).toBe(false);
  });

  it('behind a link to a folder is refused, even to a good one', async () => {
    mkdirSync(stand.at('real'), { mode: 0o700 });
    symlinkSync(stand.at('real'), stand.at('link'));
    await expectRefused('link/a.sock', 'links are not followed');
    expect(existsSync(stand.at('real/a.sock'))).toBe(false);
  });

  it.runIf(process.getuid?.() === 0)('in a folder of somebody else is refused', async () => {
    mkdirSync(stand.at('theirs'), { mode: 0o700 });
    chownSync(stand.at('theirs'), 4711, 4711);
    await expectRefused('theirs/a.sock', 'must belong to user 0');
  });

  it.each([
    ['in a folder without a parent', 'no/such/a.sock', 'ENOENT'],
    ['with a path that would be cut short', `${'x'.repeat(110)}.sock`, 'longer than the 103 bytes'],
  ])('%s is refused', async (_what, name, reason) => await expectRefused(name, reason));
});
