/**
 * Connections whose heavy work has to wait for a turn: with a clock that runs 5 ms at each look, everything heavy waits
 * that is not the first of its turn.
 */
import http from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../support/clock.ts';
import { untilTestEnds } from '../../../support/deferred.ts';
import { playsAll } from '../../../support/effort.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { listening } from '../../../support/net.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { type Stand, startStand } from '../../../support/wire/stand.ts';
import { UPGRADE } from '../stand.ts';

const CLIENTS = playsAll ? 200 : 100;
const SEED = 20_261_127;

class RushingClock extends ManualClock {
  override nowNs(): number {
    this.advanceMs(5);
    return super.nowNs();
  }
}

interface Message {
  readonly text: string;
  /** Of the answer: octets of the head's filling and of the body, as the upstream got them. */
  readonly expected: string;
}

/** The upstream answers what it got; `asked` counts its requests. */
async function start() {
  const asked = { count: 0 };
  // Node ends a connection that has been idle for five seconds, just when a request that has waited is sent on it.
  const upstream = http.createServer({ maxHeaderSize: 128 * 1024, keepAliveTimeout: 0 }, (request, response) => {
    asked.count += 1;
    let length = 0;
    request.on('error', () => undefined);
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${(request.headers['x-fill'] ?? '').length} ${length}`));
  });
  upstream.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => undefined);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n!');
  });
  const upstreamPort = await listening(upstream);
  untilTestEnds(() => upstream.close().closeAllConnections());
  const stand = await startStand({ upstreamPort, clock: new RushingClock() }, untilTestEnds);
  /** Until all have left: nothing is kept of them. */
  const nothingStays = async () => {
    while (stand.sidecar.dispatcher.openConnections > 0) await turns(1);
    expect(stand.sidecar.recorder.memory.used).toMatchObject({ requests: 0, ahead: 0, stalled: 0 });
  };
  return { asked, stand, nothingStays };
}

function messageOf(random: Random): Message {
  const fill = random.pick([0, 0, 100, 4_000, 20_000, 55_000]);
  const length = random.pick([0, 0, 1, 9_000, 70_000, 200_000]);
  const head = `POST /x HTTP/1.1\r\nHost: a\r\n${fill > 0 ? `X-Fill: ${'f'.repeat(fill)}\r\n` : ''}`;
  const expected = `${fill} ${length}`;
  if (random.chance(0.5)) return { text: `${head}Content-Length: ${length}\r\n\r\n${'b'.repeat(length)}`, expected };
  // 200,000 chunks of one byte would take most of the test's time.
  const chunk = random.pick(length > 70_000 ? [100, 20_000] : [1, 7, 20_000]);
  const whole = `${chunk.toString(16)}\r\n${'c'.repeat(chunk)}\r\n`.repeat(Math.floor(length / chunk));
  const rest = length % chunk;
  const chunks = rest === 0 ? whole : `${whole}${rest.toString(16)}\r\n${'c'.repeat(rest)}\r\n`;
  return { text: `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`, expected };
}

async function play(stand: Stand, random: Random): Promise<void> {
  const client = stand.client();
  const messages = Array.from({ length: 1 + random.below(4) }, () => messageOf(random));
  const isWebSocket = random.chance(0.3);
  if (random.chance(0.5)) client.send(messages.map(({ text }) => text).join(''));
  else for (const { text } of messages) client.send(text);
  if (isWebSocket) client.send(UPGRADE);
  // A half-closing client that stays gets all its answers; the handshake's has left.
  const isHalfClosed = !isWebSocket && random.chance(0.3);
  if (isHalfClosed) client.finish();
  for (const { expected } of messages) {
    const { status, body } = await client.response();
    expect(`${status} ${body}`).toBe(`200 ${expected}`);
  }
  if (isWebSocket) await client.until('101 Switching Protocols');
  client.reset();
  await client.closed();
}

describe('heavy requests of many clients at once', () => {
  it('are all answered, in order and as they came, and nothing stays', async () => {
    const { stand, nothingStays } = await start();
    const random = new Random(SEED);
    await Promise.all(Array.from({ length: CLIENTS }, () => play(stand, random)));
    await nothingStays();
  }, 120_000);

  it('of clients that leave while they wait are not begun, and nothing stays', async () => {
    const { stand, asked, nothingStays } = await start();
    const large = `GET /x HTTP/1.1\r\nHost: a\r\nX-Fill: ${'f'.repeat(30_000)}\r\n\r\n`;
    const clients = Array.from({ length: 40 }, () => stand.client(large));
    for (const client of clients) client.reset();
    await Promise.all(clients.map((client) => client.closed()));
    await nothingStays();
    expect(asked.count).toBeLessThan(clients.length);
  });
});
