import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { readAcceptQueue, readCookiesSent } from '../../../../src/proxy/listener/listener-end.ts';
import { deferTo } from '../../../support/deferred.ts';

const defer = deferTo(afterEach);

/** A listener that takes nobody; its port. */
async function blockedListener(host: string, port = 0): Promise<number> {
  const child = fork(new URL('blocked-listener.mjs', import.meta.url), [host, String(port)]);
  defer(() => child.kill('SIGKILL'));
  const [told] = (await once(child, 'message')) as [{ port: number }];
  return told.port;
}

/** A client that takes itself for connected; its port. */
async function client(port: number, host: string): Promise<number> {
  const socket = net.connect(port, host);
  socket.on('error', () => undefined);
  defer(() => socket.destroy());
  await once(socket, 'connect');
  return socket.localPort ?? 0;
}

describe('the queue of a listener in the kernel', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::1', '::1'],
    ['::', '::1'],
    ['::', '127.0.0.1'],
  ])('has all who wait (%s, by %s)', async (host, to) => {
    const port = await blockedListener(host);
    const own = await client(port, to);
    await expect.poll(() => readAcceptQueue(port, own)).toEqual({ length: 1, hasHalfOpen: false });
    await client(port, to);
    await client(port, to);
    await expect.poll(() => readAcceptQueue(port, own)).toEqual({ length: 3, hasHalfOpen: false });
  });

  it('is that of the listener that the client reached, not of another on the same port', async () => {
    const port = await blockedListener('127.0.0.1');
    await blockedListener('127.0.0.2', port);
    const [first, second] = [await client(port, '127.0.0.1'), await client(port, '127.0.0.2')];
    await client(port, '127.0.0.2');
    await expect.poll(() => readAcceptQueue(port, second)?.length).toBe(2);
    expect(readAcceptQueue(port, first)?.length).toBe(1);
  });

  it('is unknown for a client that is not connected', async () => {
    const port = await blockedListener('127.0.0.1');
    expect(readAcceptQueue(port, 1)).toBeUndefined();
  });

  it('does not contain handshakes with SYN cookies, which the kernel only counts', () => {
    const count = () => {
      const lines = readFileSync('/proc/net/netstat', 'utf8').split('\n');
      const [names, values] = lines.filter((line) => line.startsWith('TcpExt:')).map((line) => line.split(' '));
      return Number(values?.[names?.indexOf('SyncookiesSent') ?? -1]);
    };
    const before = count();
    const read = readCookiesSent();
    expect(read).toBeGreaterThanOrEqual(before);
    expect(read).toBeLessThanOrEqual(count());
  });
});
