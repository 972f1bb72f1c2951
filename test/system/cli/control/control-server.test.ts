import { once } from 'node:events';
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
import { describe, expect, it, vi } from 'vitest';
import { SidecarError } from '../../../../src/base/errors.ts';
import {
  requestCommand,
  requestHealth,
  requestShutdown,
  requestStatus,
} from '../../../../src/cli/control/control-client.ts';
import { isListening } from '../../../../src/cli/control/socket-folder.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';
import { exchange } from '../../../support/net.ts';

const stand = new ControlStand();

async function open(requestTimeoutMs?: number) {
  const target = new NotingTarget();
  const server = await stand.open('a.sock', target, requestTimeoutMs);
  return { target, server, path: server.path };
}

describe('the control socket', () => {
  it('answers with its status and changes nothing, and drains its target before it answers', async () => {
    const { target, path } = await open();
    expect(await requestStatus(path)).toEqual({
      ...{ pid: 4711, listen: '127.0.0.1:4711', monitor: '127.0.0.1:9280' },
      ...{ state: 'serving', openExchanges: 0, openWebSockets: 0, stopDeadlineMs: 0 },
    });
    expect(target.told).toEqual([]);
    expect(await requestCommand(path, '/drain')).toMatchObject({ state: 'draining' });
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

  it('can be opened by its own user only, in a folder closed to others, leaves the mode of new files, and is removed', async () => {
    const before = process.umask();
    const server = await stand.open('private/a.sock');
    expect(statSync(server.path).mode & 0o777).toBe(0o600);
    expect(statSync(stand.at('private')).mode & 0o777).toBe(0o700);
    expect(process.umask()).toBe(before);
    server.close();
    expect(existsSync(server.path)).toBe(false);
    await expect(requestStatus(server.path)).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL' });
  });
});

const UNKNOWN = /404.*"this sidecar does not know that command: run/s;
it.each([
  ['of another path', 'POST /stop HTTP/1.1\r\nConnection: close\r\n\r\n', UNKNOWN],
  ['with a body', 'POST /drain HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n', /^HTTP\/1\.1 413/],
  ['in the protocol of an earlier version', 'drain\n', /^HTTP\/1\.1 40/],
  ['whose head is too large', `POST /drain HTTP/1.1\r\nA: ${'x'.repeat(20_000)}`, /^HTTP\/1\.1 431/],
  ['whose head is not whole in time', 'POST /drain HTTP/1.1\r\n', /^$|408/],
])('an unusable request is refused and changes nothing: %s', async (what, bytes, answer) => {
  const { target, path } = await open(what.endsWith('in time') ? 50 : undefined);
  expect(await exchange(path, bytes)).toMatch(answer);
  expect(target.told).toEqual([]);
});

it('too many clients are refused, and logged once', async () => {
  const { path } = await open();
  const idle = Array.from({ length: 16 }, () => net.connect(path));
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  for (let client = 0; client < 2; client += 1) expect(await exchange(path, 'GET /status HTTP/1.1\r\n\r\n')).toBe('');
  expect(stand.log.lines).toEqual(['warn the control socket refuses clients']);
  for (const socket of idle) socket.destroy();
});

describe('a place', () => {
  async function expectRefused(name: string, reason: string): Promise<void> {
    const message = expect.stringContaining(reason);
    await expect(stand.open(name)).rejects.toMatchObject({ code: 'D2S_ERR_CONTROL', message });
  }

  it('with the socket of a dead process is used, and the socket replaced', async () => {
    stand.leaveStale('a.sock');
    expect(statSync(stand.at('a.sock')).isSocket()).toBe(true);
    const server = await stand.open('a.sock');
    expect(await requestStatus(server.path)).toMatchObject({ pid: 4711 });
  });

  it('with the socket of a living process or with a file is refused, and both stay', async () => {
    await stand.open('a.sock');
    await expectRefused('a.sock', 'in use');
    expect(await isListening(stand.at('a.sock'))).toBe(true);
    writeFileSync(stand.at('file'), 'mine');
    await expectRefused('file', 'not a socket');
    expect(readFileSync(stand.at('file'), 'utf8')).toBe('mine');
  });

  it.each([0o770, 0o1777])('in a folder that others can write to is refused (mode %o)', async (mode) => {
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

  it('with a path that would be cut short is refused', () =>
    expectRefused(`${'x'.repeat(110)}.sock`, 'longer than the 103 bytes'));
});

it('a refusal has the code of what is missing, not of the control socket', async () => {
  const { target, path } = await open();
  vi.spyOn(target.sidecar, 'isReady').mockRejectedValue(new SidecarError('D2S_ERR_ALERTS', 'no receiver'));
  await expect(requestHealth(path)).rejects.toMatchObject({ code: 'D2S_ERR_ALERTS', message: `${path}: no receiver` });
});
