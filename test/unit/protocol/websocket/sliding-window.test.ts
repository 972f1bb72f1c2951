import { expect, it } from 'vitest';
import { MemoryBudget } from '../../../../src/limits/memory-budget.ts';
import { SlidingWindow } from '../../../../src/protocol/websocket/message-inflater.ts';
import { Random } from '../../../support/fuzz/random.ts';

const noise = new Random(3);
const NOISE = Buffer.from(Array.from({ length: 100_000 }, () => noise.below(256)));

it('shows the last bytes of all that was appended, however large the pieces', () => {
  const random = new Random(7);
  for (const size of [512, 1_024, 4_096, 32_768]) {
    const budget = new MemoryBudget();
    const window = new SlidingWindow(size, budget);
    let all: Buffer = Buffer.alloc(0);
    expect(window.view()).toBeUndefined();
    for (let i = 0; i < 600; i += 1) {
      const length = random.below(random.pick([2, 50, 500, size / 8 + 2, size + 2, 2 * size]));
      const start = random.below(NOISE.length - length);
      const piece = NOISE.subarray(start, start + length);
      expect(window.append(piece)).toBe(true);
      all = Buffer.concat([all, piece]).subarray(-size);
      if (!all.equals(window.view() ?? Buffer.alloc(0))) expect.fail(`size ${size}, piece ${i} of ${length}`);
      if (window.heldBytes > size * 1.125 || budget.usedBytes !== window.heldBytes) expect.fail('held too much');
    }
    window.release();
    expect([window.view(), window.heldBytes, budget.usedBytes]).toEqual([undefined, 0, 0]);
  }
});
