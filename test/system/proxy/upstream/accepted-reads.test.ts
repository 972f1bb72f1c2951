import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { ReadBuffer, ReadBuffers } from '../../../../src/proxy/upstream/read-buffer.ts';
import { untilTestEnds } from '../../../support/deferred.ts';
import { listening } from '../../../support/net.ts';

const buffers = new ReadBuffers();
let server: net.Server;

async function connect() {
  server = net.createServer({ allowHalfOpen: true, noDelay: true });
  untilTestEnds(() => server.close());
  const port = await listening(server);
  // In the turn in which it is accepted, before anything is read.
  const taken = new Promise<{ socket: net.Socket; reads: ReadBuffer }>((resolve, reject) => {
    server.once('connection', (socket) => {
      const reads = ReadBuffer.ofAccepted(socket, buffers);
      if (reads === undefined) reject(new Error('this Node has not what is needed to read into buffers'));
      else resolve({ socket, reads });
    });
  });
  const client = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  const { socket, reads } = await taken;
  untilTestEnds(() => [client, socket].map((end) => end.destroy()));
  return { client, socket, reads };
}

function listen(reads: ReadBuffer, onBytes: (bytes: Buffer) => void): void {
  reads.listener = {
    onRead(memory, length) {
      onBytes(memory.subarray(0, length));
      return true;
    },
  };
}

describe('an accepted connection', () => {
  it('is read into the shared buffer, and into its own while reads are large', async () => {
    const { client, socket, reads } = await connect();
    const seen: { text: string; isShared: boolean }[] = [];
    let length = 0;
    let isOwnUsed = false;
    listen(reads, (bytes) => {
      const isShared = bytes.buffer === buffers.shared.buffer;
      if (bytes.length < 10) seen.push({ text: bytes.toString(), isShared });
      length += bytes.length;
      isOwnUsed ||= !isShared;
    });
    client.write('one');
    await expect.poll(() => length).toBe(3);
    client.write(Buffer.alloc(2_000_000));
    await expect.poll(() => length).toBe(2_000_003);
    client.write('two');
    await expect.poll(() => length).toBe(2_000_006);
    expect(seen[0]).toEqual({ text: 'one', isShared: true });
    expect(isOwnUsed).toBe(true);
    expect(socket.bytesRead).toBe(2_000_006);
  });

  it('is an ordinary stream without a listener: complete, in order, with back pressure', async () => {
    const { client, socket, reads } = await connect();
    const first = new Promise<string>((resolve) => {
      listen(reads, (bytes) => {
        resolve(bytes.toString());
        reads.listener = undefined;
        socket.pause();
        socket.unshift(Buffer.from('back '));
      });
    });
    client.write('given ');
    expect(await first).toBe('given ');
    const large = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251));
    client.end(large);
    // Nobody reads: what has come is bounded, and not lost.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(socket.readableLength).toBeLessThan(300_000);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    const all = Buffer.concat(chunks);
    expect(all.subarray(0, 5).toString()).toBe('back ');
    expect(all.subarray(5).equals(large)).toBe(true);
  });
});
