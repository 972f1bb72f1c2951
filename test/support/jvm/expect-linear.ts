import { expect } from 'vitest';

/** Expects that `parse` takes about eight times as long for eight times as much text, not 64 times. */
export function expectLinear(piece: string, parse: (text: string) => unknown): void {
  const quickestMs = (count: number): number => {
    const text = piece.repeat(count);
    const times = Array.from({ length: 20 }, () => {
      const began = performance.now();
      parse(text);
      return performance.now() - began;
    });
    return Math.min(...times);
  };
  quickestMs(8_000);
  // What takes less than a millisecond is measured too coarsely.
  expect(quickestMs(64_000) / Math.max(quickestMs(8_000), 1)).toBeLessThan(30);
}
