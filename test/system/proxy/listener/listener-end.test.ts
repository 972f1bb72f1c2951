import { fork } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ListenerEnd } from '../../../../src/proxy/listener/listener-end.ts';
import { deferTo } from '../../../support/deferred.ts';

const defer = deferTo(afterEach);

/** A listener that greets whom it takes. */
async function greeting(host: string) {
  let taken = 0;
  const server = net.createServer((socket) => {
    if (end.isOwn(socket)) return;
    taken += 1;
    socket.on('error', () => undefined);
    // Read first, as a server does: unread bytes would cause a reset as well.
    socket.once('data', () => socket.end('hello'));
  });
  const end = new ListenerEnd(server, 4096);
  defer(() => server.close());
  server.listen({ port: 0, host, backlog: 4096 });
  await once(server, 'listening');
  return { server, end, taken: () => taken, port: (server.address() as net.AddressInfo).port };
}

/** What becomes of a client that connects now. */
function client(port: number, host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, host, () => socket.write('x'));
    defer(() => socket.destroy());
    let text = '';
    socket.on('data', (bytes) => {
      text += String(bytes);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'error'));
    socket.on('close', () => resolve(text));
  });
}

describe('the end of a listener', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '::1'],
    ['::', '127.0.0.1'],
  ])('takes everybody who is in the queue first (%s, by %s)', async (host, to) => {
    const { server, end, taken, port } = await greeting(host);
    // All at once: Node takes one a turn, so nearly all of them wait in the kernel when the end begins.
    const clients = Array.from({ length: 100 }, () => client(port, to));
    await new Promise((resolve) => process.nextTick(resolve));
    await end.close();
    expect(server.listening).toBe(false);
    expect(new Set(await Promise.all(clients))).toEqual(new Set(['hello']));
    // Ours is not among them.
    expect(taken()).toBe(100);
    expect(await client(port, to)).toBe('ECONNREFUSED');
  });

  // Closed without it, 60 listeners reset 2,200 clients of such a process on a busy machine with two cores.
  it('resets no client while another process connects as fast as it can', { timeout: 60_000 }, async () => {
    const child = fork(new URL('hammer.mjs', import.meta.url));
    defer(() => child.kill());
    const endings = new Map<string, number>();
    for (let round = 0; round < 15; round += 1) {
      const { end, taken, port } = await greeting('127.0.0.1');
      child.send({ port });
      await expect.poll(taken, { interval: 5, timeout: 20_000 }).toBeGreaterThan(20);
      await end.close();
      child.send({ isOver: true });
      const [told] = (await once(child, 'message')) as [Record<string, number>];
      for (const [ending, count] of Object.entries(told)) endings.set(ending, (endings.get(ending) ?? 0) + count);
    }
    expect([...endings.keys()].sort()).toEqual(['ECONNREFUSED', 'answered']);
  });

  it.each<[string, (server: net.Server, end: ListenerEnd) => unknown]>([
    ['the listener has closed before', (server) => server.close()],
    ['its own connection is not accepted', (_, end) => Object.assign(end, { isOwn: () => false })],
  ])('comes also when %s', async (_what, act) => {
    const { server, end } = await greeting('127.0.0.1');
    act(server, end);
    await end.close();
    expect(server.listening).toBe(false);
  });
});
