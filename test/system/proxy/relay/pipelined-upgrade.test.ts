import { expect, it } from 'vitest';
import { untilTestEnds } from '../../../support/deferred.ts';
import { startStand } from '../../../support/wire/stand.ts';
import { UPGRADE } from '../stand.ts';

// More than the kernel holds on both sides of the sidecar.
const SIZE = 48 * 1024 * 1024;

it.each([
  ['a WebSocket', UPGRADE],
  ['another upgrade', UPGRADE.replace('websocket', 'h2c')],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
])('a large response to a slow reader is not stopped by %s pipelined behind it', async (_what, behind) => {
  const stand = await startStand({
    onConnection: (socket) =>
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
        socket.write(Buffer.alloc(SIZE, 'x'));
        socket.on('data', () => socket.write('HTTP/1.1 204 No Content\r\n\r\n'));
      }),
  });
  untilTestEnds(stand.close);
  const client = await stand.connect();
  let received = 0;
  client.socket.removeAllListeners('data');
  client.socket.on('data', (bytes: Buffer) => {
    received += bytes.length;
  });
  client.socket.pause();
  client.socket.write(`GET http://a/big HTTP/1.1\r\nHost: a\r\n\r\n${behind}`);
  // Until the sidecar's buffers and the kernel's are full.
  await expect.poll(() => stand.upstreams[0]?.writableLength ?? 0).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.socket.resume();
  await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThan(SIZE);
});
