import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { listening } from '../../support/net.ts';
import { SplitWriter } from '../../support/wire/split-writer.ts';

/** The sizes in which what is written as `parts`, divided at `splitAt`, arrives at the other side. */
async function segmentsOf(parts: readonly string[], splitAt: number): Promise<number[]> {
  const server = createServer();
  const socket = connect(await listening(server), '127.0.0.1');
  const [peer] = (await once(server, 'connection')) as [Socket];
  const sizes: number[] = [];
  peer.on('data', (bytes) => sizes.push(bytes.length));
  const writer = new SplitWriter(socket, splitAt);
  for (const part of parts) await writer.write(part);
  socket.end();
  await once(peer, 'end');
  server.close();
  return sizes;
}

it('makes two segments of what it writes, at any offset, counted over all writes', async () => {
  for (let splitAt = 1; splitAt < 10; splitAt += 1) {
    expect(await segmentsOf(['0123456789'], splitAt)).toEqual([splitAt, 10 - splitAt]);
  }
  expect((await segmentsOf(['0123', '456789'], 7)).at(-1)).toBe(3);
});
