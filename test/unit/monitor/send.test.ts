import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { LoopShare } from '../../../src/monitor/loop-share.ts';
import { SlicedAnswer } from '../../../src/monitor/send.ts';

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

it('SlicedAnswer takes no more pieces in a turn of the event loop than its share has time for', async () => {
  let ns = 0;
  const nextTurn = vi.fn((run: () => void) => void setImmediate(run));
  // Each look at the clock costs a tenth of a millisecond.
  const share = new LoopShare({ epochMs: () => 0, nowNs: () => (ns += 1e5) }, nextTurn);
  expect(await chunksOf(new SlicedAnswer(Array<string>(1_000).fill('x'), share))).toEqual(['x'.repeat(1_000)]);
  expect(nextTurn.mock.calls.length).toBeGreaterThan(100);
});

it('SlicedAnswer fails when a piece cannot be made', async () => {
  function* pieces(): Generator<string> {
    yield 'some';
    throw new Error('no more');
  }
  await expect(chunksOf(answerOf(pieces()))).rejects.toThrow('no more');
});
