/**
 * The cost of reading WebSocket messages of 200 bytes, 40 if compressed. Processor time of each message, best and median of 8 runs on a
 * shared machine of two cores (AMD EPYC, Node 20.20): uncompressed 0.4 to 0.5 us, masked 0.8 us; compressed with context
 * takeover 10 to 14 us, without 7 to 9 us. `inflateRawSync` with its default pieces of 16 KiB: 5 to 10 us more. One zlib stream
 * kept for each direction: 20 us in all, over two threads, and a message arrives only some turns of the event loop later.
 *
 * Memory of inflating: zlib's copy of the window is freed with its JavaScript object, so up to 70 MB of them exist
 * between two scavenges of the young generation, whatever the rate, and no more after a million messages.
 */
import { constants, createInflateRaw, inflateRawSync } from 'node:zlib';
import { bench, describe } from 'vitest';
import { WebSocketMessageReader } from '../../src/protocol/websocket/message-reader.ts';
import { Random } from '../support/fuzz/random.ts';
import { compressed, deflatedTogether, MASK, text } from '../support/protocol/websocket/frames.ts';
import { readerOptions } from '../support/protocol/websocket/listener.ts';

const MESSAGES = 4_096;
const random = new Random(1);
const contents = Array.from({ length: MESSAGES }, (_, i) => {
  const data = { value: random.next() * 1_000, time: 1_700_000_000_000 + i * 37, status: 'valid', unit: 'MW' };
  return JSON.stringify([
    { channel: `/d2/object/H.Object${random.below(1_000)}`, data, id: String(i), ext: { ack: i } },
  ]);
});

const payloads = await deflatedTogether(contents);
const TAIL = Buffer.from([0, 0, 0xff, 0xff]);

function createReader(from: 'client' | 'upstream', contextTakeover?: boolean): WebSocketMessageReader {
  const deflate = contextTakeover === undefined ? undefined : { contextTakeover, windowBits: 15 };
  const onUnread = (reason: string) => {
    throw new Error(reason);
  };
  const options = readerOptions({ from, maxMessageBytes: 1_048_576, maxInflatedBytes: 4_194_304, deflate });
  return new WebSocketMessageReader(options, { onText: () => undefined, onUnread });
}

/** In a cycle: after the last message the first one again, with the window that it needs. */
function createRound(frames: readonly Buffer[], create: () => WebSocketMessageReader): () => void {
  let reader = create();
  let next = 0;
  return () => {
    if (next === frames.length) {
      reader.close();
      reader = create();
      next = 0;
    }
    reader.push(frames[next] as Buffer);
    next += 1;
  };
}

describe('a message of 200 bytes', () => {
  const plain = contents.map((content) => text(content));
  const masked = contents.map((content) => text(content, { mask: MASK }));
  const deflated = payloads.map((payload) => compressed(payload));
  const alone = [compressed(payloads[0] as Buffer)];
  for (const [what, frames, from, contextTakeover] of [
    ['uncompressed', plain, 'upstream', undefined],
    ['uncompressed, masked', masked, 'client', undefined],
    ['compressed with context takeover', deflated, 'upstream', true],
    ['compressed without', alone, 'upstream', false],
  ] as const) {
    bench(
      what,
      createRound(frames, () => createReader(from, contextTakeover)),
    );
  }
});

describe('inflating one message with context takeover, otherwise', () => {
  const window = Buffer.from(contents.join('')).subarray(0, 32_768);
  const input = Buffer.concat([payloads[0] as Buffer, TAIL]);
  bench('inflateRawSync alone', () => {
    inflateRawSync(input, { finishFlush: constants.Z_SYNC_FLUSH, dictionary: window, chunkSize: 1_024 });
  });
  const inflate = createInflateRaw();
  inflate.on('data', () => undefined);
  const inputs = payloads.map((payload) => Buffer.concat([payload, TAIL]));
  let next = 0;
  bench('one zlib stream that is kept, with its thread', async () => {
    if (next === inputs.length) {
      inflate.reset();
      next = 0;
    }
    await new Promise<void>((resolve) => inflate.write(inputs[next] as Buffer, () => resolve()));
    next += 1;
  });
});
