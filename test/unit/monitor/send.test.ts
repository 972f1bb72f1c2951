import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { LoopShare } from '../../../src/monitor/loop-share.ts';
import { SlicedAnswer } from '../../../src/monitor/send.ts';

const MAX_CHUNK = 33_000;

async function chunksOf(answer: SlicedAnswer): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of answer) chunks.push((chunk as Buffer).toString('utf8'));
  return chunks;
}

function answerOf(pieces: Iterable<string>): SlicedAnswer {
  return new SlicedAnswer(pieces, new LoopShare(systemClock));
}

/** Endless, and tells how much of it was taken. */
class Source implements Iterable<string> {
  taken = 0;

  *[Symbol.iterator](): Generator<string> {
    for (;;) {
      this.taken += 1;
      yield 'x'.repeat(1_000);
    }
  }
}

const turnOfTheLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('SlicedAnswer sends all pieces in order, as UTF-8, in chunks of about 32 KB', async () => {
  const pieces = Array.from({ length: 10_000 }, (_, i) => (i % 3 === 0 ? '' : `piece ${i} – ä😀;`));
  const chunks = await chunksOf(answerOf(pieces));
  expect(chunks.join('')).toBe(pieces.join(''));
  expect(Math.max(...chunks.map((chunk) => chunk.length))).toBeLessThan(MAX_CHUNK);
  expect(chunks.slice(0, -1).every((chunk) => chunk.length >= 32 * 1024)).toBe(true);
  expect(chunks.length).toBe(4);
});

it('SlicedAnswer writes at most two chunks for a reader that does not read', async () => {
  const source = new Source();
  const answer = answerOf(source);
  const slow = new PassThrough({ highWaterMark: 1 });
  answer.on('data', (chunk: Buffer) => {
    if (!slow.write(chunk)) answer.pause();
  });
  for (let turn = 0; turn < 50; turn += 1) await turnOfTheLoop();
  expect(source.taken).toBeGreaterThan(30);
  expect(source.taken).toBeLessThan(100);
  const before = source.taken;
  answer.resume();
  for (let turn = 0; turn < 50; turn += 1) await turnOfTheLoop();
  expect(source.taken).toBeGreaterThan(before);
  answer.destroy();
});

it('SlicedAnswer fails when a piece cannot be made', async () => {
  function* pieces(): Generator<string> {
    yield 'some';
    throw new Error('no more');
  }
  await expect(chunksOf(answerOf(pieces()))).rejects.toThrow('no more');
});
