import { expect, it } from 'vitest';
import { AddressCounts } from '../../../src/limits/address-counts.ts';

it('lets an address in up to its share, and again when one has left', () => {
  const counts = new AddressCounts(2);
  const leave = counts.enter('10.0.0.1');
  expect(counts.enter('::ffff:10.0.0.1')).toBeDefined();
  expect(counts.enter('10.0.0.1')).toBeUndefined();
  expect(counts.enter('10.0.0.2')).toBeDefined();
  leave!();
  expect(counts.enter('10.0.0.1')).toBeDefined();
  expect(counts.enter('10.0.0.1')).toBeUndefined();
});

it('holds nothing of addresses that have left', () => {
  const counts = new AddressCounts(0);
  const leaves = Array.from({ length: 3_000 }, (_, i) => counts.enter(`10.0.${i >> 8}.${i & 255}`)!);
  const again = counts.enter('10.0.0.1')!;
  expect(counts.size).toBe(3_000);
  for (const leave of leaves) leave();
  expect(counts.size).toBe(1);
  again();
  expect(counts.size).toBe(0);
});

it('applies a new limit to later connections; 0 means none', () => {
  const counts = new AddressCounts(1);
  counts.enter('10.0.0.1');
  expect(counts.enter('10.0.0.1')).toBeUndefined();
  counts.max = 0;
  for (let i = 0; i < 100; i += 1) expect(counts.enter('10.0.0.1')).toBeDefined();
  counts.max = 50;
  expect(counts.enter('10.0.0.1')).toBeUndefined();
});
