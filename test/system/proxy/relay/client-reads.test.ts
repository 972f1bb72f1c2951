import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClientReads } from '../../../../src/proxy/relay/client-reads.ts';
import { ReadBuffers } from '../../../../src/proxy/upstream/read-buffer.ts';
import { listening } from '../../../support/net.ts';

const buffers = new ReadBuffers();
let server: net.Server;

beforeEach(async () => {
  server = net.createServer({ allowHalfOpen: true, noDelay: true });
  await listening(server);
});

afterEach(() => void server.close());

async function connect(): Promise<{ client: net.Socket; reads: ClientReads }> {
  // In the turn in which it is accepted, before anything is read.
  const taken = new Promise<ClientReads>((resolve, reject) => {
    server.once('connection', (accepted) => {
      const reads = ClientReads.of(accepted, buffers);
      if (reads === undefined) reject(new Error('this Node has not what is needed to read into buffers'));
      else resolve(reads);
    });
  });
  const { port } = server.address() as net.AddressInfo;
  const client = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  return { client, reads: await taken };
}

const openConnections = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));

describe('an accepted connection', () => {
  it('is read into the shared buffer, and into its own while reads are large', async () => {
    const { client, reads } = await connect();
    const seen: { text: string; isShared: boolean }[] = [];
    let length = 0;
    let isOwnUsed = false;
    reads.listener = (bytes) => {
      const isShared = bytes.buffer === buffers.shared.buffer;
      if (bytes.length < 10) seen.push({ text: bytes.toString(), isShared });
      length += bytes.length;
      isOwnUsed ||= !isShared;
    };
    client.write('one');
    await expect.poll(() => length).toBe(3);
    client.write(Buffer.alloc(2_000_000));
    await expect.poll(() => length).toBe(2_000_003);
    client.write('two');
    await expect.poll(() => length).toBe(2_000_006);
    expect(seen[0]).toEqual({ text: 'one', isShared: true });
    expect(isOwnUsed).toBe(true);
    expect(reads.socket.bytesRead).toBe(2_000_006);
    client.destroy();
    reads.socket.destroy();
  });

  it('has its addresses, can answer after the client’s end, and closes', async () => {
    const { client, reads } = await connect();
    expect(reads.socket.remoteAddress).toBe('127.0.0.1');
    expect(reads.socket.remotePort).toBe(client.localPort);
    reads.listener = () => undefined;
    client.end('asked');
    await once(reads.socket, 'end');
    const closed = once(reads.socket, 'close');
    reads.socket.end('answered');
    const [answer] = (await once(client, 'data')) as [Buffer];
    expect(answer.toString()).toBe('answered');
    await closed;
  });

  it('counts as a connection of its listener until it closes', async () => {
    const { client, reads } = await connect();
    reads.listener = () => undefined;
    expect(await openConnections()).toBe(1);
    let isClosed = false;
    server.close(() => {
      isClosed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    expect(reads.socket.destroyed).toBe(false);
    reads.socket.destroy();
    await expect.poll(() => isClosed).toBe(true);
    client.destroy();
  });

  it('is not read while it is paused', async () => {
    const { client, reads } = await connect();
    let length = 0;
    reads.listener = (bytes) => {
      length += bytes.length;
      reads.socket.pause();
    };
    client.write(Buffer.alloc(1_000_000));
    await expect.poll(() => length).toBeGreaterThan(0);
    const first = length;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(length).toBe(first);
    reads.listener = (bytes) => {
      length += bytes.length;
    };
    reads.socket.resume();
    await expect.poll(() => length).toBe(1_000_000);
    client.destroy();
    reads.socket.destroy();
  });

  it('is an ordinary stream without a listener: complete, in order, with back pressure', async () => {
    const { client, reads } = await connect();
    const first = new Promise<string>((resolve) => {
      reads.listener = (bytes) => {
        resolve(bytes.toString());
        reads.listener = undefined;
        reads.socket.pause();
        reads.socket.unshift(Buffer.from('back '));
      };
    });
    client.write('given ');
    expect(await first).toBe('given ');
    const large = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251));
    client.end(large);
    // Nobody reads: what has come is bounded, and not lost.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(reads.socket.readableLength).toBeLessThan(300_000);
    const chunks: Buffer[] = [];
    for await (const chunk of reads.socket) chunks.push(chunk as Buffer);
    const all = Buffer.concat(chunks);
    expect(all.subarray(0, 5).toString()).toBe('back ');
    expect(all.subarray(5).equals(large)).toBe(true);
  });
});

it('leaves a socket without a connection as it is', () => {
  const socket = new net.Socket();
  expect(ClientReads.of(socket, buffers)).toBeUndefined();
  socket.destroy();
});
