/** A server whose name has several addresses: each gets its part of `upstream.connectTimeout`, and a slow one is waited for. */
import { type ChildProcess, spawn } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { expect, it, vi } from 'vitest';
import type { Config } from '../../../../src/config/config.ts';
import { SharedLookup } from '../../../../src/proxy/upstream/shared-lookup.ts';
import { ManualClock } from '../../../support/clock.ts';
import { untilTestEnds } from '../../../support/deferred.ts';
import { get, startStand } from '../../../support/wire/stand.ts';

const SLOW = '127.0.0.2';
const SERVER = `
const server = require('net').createServer((socket) => {
  socket.on('error', () => undefined);
  socket.once('data', () => socket.end('HTTP/1.1 200 OK\\r\\nContent-Length: 4\\r\\nConnection: close\\r\\n\\r\\nslow'));
});
server.listen({ port: 0, host: '${SLOW}', backlog: 1 }, () => console.log(server.address().port));`;

/** A server on an address of its own that stands still with a full queue: a new connection gets no answer. */
async function startStill(): Promise<{ port: number; child: ChildProcess }> {
  const child = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  untilTestEnds(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const port = Number((await once(lines, 'line'))[0]);
  child.kill('SIGSTOP');
  const fillers = [1, 2].map(() => net.connect({ port, host: SLOW }));
  untilTestEnds(() => {
    for (const filler of fillers) filler.destroy();
  });
  await Promise.all(fillers.map((filler) => once(filler, 'connect')));
  return { port, child };
}

function resolveTo(...addresses: readonly string[]): void {
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(((_name: string, _options: object, callback: unknown) => {
    const found = addresses.map((address) => ({ address, family: 4 }));
    setImmediate(callback as (...found: unknown[]) => void, null, found);
  }) as never);
  untilTestEnds(() => spy.mockRestore());
}

it('an address that answers after a second is waited for, although the other one refuses', async () => {
  const { port, child } = await startStill();
  const config = ({ upstream }: Config) => ({
    upstream: { ...upstream, host: 'two.example', port, connectTimeoutMs: 10_000 },
  });
  const stand = await startStand({ config }, untilTestEnds);
  const client = await stand.connect();
  resolveTo(SLOW, '127.0.0.3');
  client.send(get('/a', 'Connection: close\r\n'));
  // Longer than Node's own limit. The kernel tries again a second after the first try.
  setTimeout(() => child.kill('SIGCONT'), 400);
  expect((await client.response()).body).toBe('slow');
});

it('an address that does not answer leaves time for the next one, and is then tried last for a while', async () => {
  const { port } = await startStill();
  const quick = net.createServer((socket) => socket.end());
  quick.listen(port, '127.0.0.3');
  await once(quick, 'listening');
  untilTestEnds(() => void quick.close());
  resolveTo(SLOW, '127.0.0.3');
  const clock = new ManualClock();
  const names = new SharedLookup(clock);
  const dial = async () => {
    const socket = net.connect({ host: 'two.example', port, ...names.dialOptions(1_000) });
    names.watch(socket);
    const tried: string[] = [];
    socket.on('connectionAttempt', (address) => tried.push(address));
    await once(socket, 'connect');
    socket.destroy();
    return tried;
  };
  expect(await dial()).toEqual([SLOW, '127.0.0.3']);
  expect(await dial()).toEqual(['127.0.0.3']);
  clock.advanceMs(31_000);
  expect(await dial()).toEqual([SLOW, '127.0.0.3']);
});
