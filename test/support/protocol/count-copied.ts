import { vi } from 'vitest';

/** Counts bytes that are copied in memory from now on. */
export function countCopied(): () => number {
  const copies = vi.spyOn(Buffer.prototype, 'copy');
  const concats = vi.spyOn(Buffer, 'concat');
  const sum = (bytes: readonly number[]) => bytes.reduce((all, one) => all + one, 0);
  return () =>
    sum(copies.mock.results.map(({ value }) => value as number)) +
    sum(concats.mock.results.map(({ value }) => (value as Buffer).length));
}
