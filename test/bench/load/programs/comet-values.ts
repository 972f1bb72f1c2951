/** The upstream of the workload `comet`: pushes values, compressed beforehand; the query says how many in each message. */
import http from 'node:http';
import { toUpgraded } from '../../../support/load/heads.ts';
import { compressed, deflatedTogether, text } from '../../../support/protocol/websocket/frames.ts';
import { VALUES_PER_S } from '../answers.ts';
import { listen } from './arguments.ts';

const TICK_MS = 5;
const OBJECTS = Array.from({ length: 1_000 }, (_, i) => `H.Plant.Unit${i % 40}.Measurement${i}`);
const REPLY = JSON.stringify([{ channel: '/meta/handshake', id: '1', clientId: 'load', successful: true }]);

/** Frames of two seconds with context takeover. They can be repeated: the first one refers to nothing before it. */
async function compressedFrames(valuesEach: number): Promise<Buffer[]> {
  const messages = Array.from({ length: (2 * VALUES_PER_S) / valuesEach }, (_, message) =>
    JSON.stringify(Array.from({ length: valuesEach }, (_, nth) => toDelivery(message * valuesEach + nth))),
  );
  return (await deflatedTogether(messages)).map(compressed);
}

function toDelivery(i: number): object {
  const data = { value: (i * 7919) % 1_000, quality: 'good', time: 1_700_000_000_000 + i };
  return { channel: `/d2/object/${OBJECTS[i % OBJECTS.length]}`, data };
}

const server = http.createServer();
server.on('upgrade', async ({ url = '', headers }, socket) => {
  const valuesEach = Number(new URL(url, 'http://plant').searchParams.get('values'));
  const frames = await compressedFrames(valuesEach);
  socket.on('error', () => undefined);
  socket.write(toUpgraded(headers['sec-websocket-key'] ?? '', 'Sec-WebSocket-Extensions: permessage-deflate'));
  socket.once('data', () => {
    socket.write(text(REPLY));
    const beganMs = performance.now();
    let pushed = 0;
    // At the given rate, however late the timers are.
    const timer = setInterval(() => {
      const due = ((performance.now() - beganMs) / 1_000) * (VALUES_PER_S / valuesEach);
      for (; pushed < due; pushed += 1) socket.write(frames[pushed % frames.length] as Buffer);
    }, TICK_MS);
    socket.once('close', () => clearInterval(timer)).resume();
  });
});
listen(server);
