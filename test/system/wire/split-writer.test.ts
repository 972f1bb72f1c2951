import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { SplitWriter } from '../../support/wire/split-writer.ts';
import { Signal } from './signal.ts';

/** The sizes in which what is written as `parts`, divided at `splitAt`, arrives at the other side. */
async function segmentsOf(parts: readonly string[], splitAt: number): Promise<number[]> {
  const sizes: number[] = [];
  const ended = new Signal();
  let hasEnded = false;
  const server = createServer((peer) => {
    peer.on('data', (bytes) => sizes.push(bytes.length));
    peer.on('end', () => {
      hasEnded = true;
      ended.notify();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const writer = new SplitWriter(socket, splitAt);
  for (const part of parts) await writer.write(part);
  socket.end();
  await ended.until(() => hasEnded);
  server.close();
  return sizes;
}

it('makes two segments of what it writes, at any offset', async () => {
  for (let splitAt = 1; splitAt < 10; splitAt += 1) {
    expect(await segmentsOf(['0123456789'], splitAt)).toEqual([splitAt, 10 - splitAt]);
  }
});

it('counts the offset over all writes', async () => {
  expect((await segmentsOf(['0123', '456789'], 7)).at(-1)).toBe(3);
});
