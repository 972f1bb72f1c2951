import { expect, it } from 'vitest';
import { AddressCounts, AddressRate, addressKeyOf } from '../../../src/limits/address-counts.ts';
import { ManualClock } from '../../support/clock.ts';

it('lets an address in up to its share, and again when one has left; a new limit holds for later connections, 0 means none', () => {
  const counts = new AddressCounts(2);
  const leave = counts.enter('10.0.0.1');
  expect(counts.enter('::ffff:10.0.0.1')).toBeDefined();
  expect(counts.enter('10.0.0.1')).toBeUndefined();
  expect(counts.enter('10.0.0.2')).toBeDefined();
  leave!();
  expect(counts.enter('10.0.0.1')).toBeDefined();
  expect(counts.enter('10.0.0.1')).toBeUndefined();
  const changed = new AddressCounts(1);
  changed.enter('10.0.0.1');
  expect(changed.enter('10.0.0.1')).toBeUndefined();
  changed.max = 0;
  for (let i = 0; i < 100; i += 1) expect(changed.enter('10.0.0.1')).toBeDefined();
  changed.max = 50;
  expect(changed.enter('10.0.0.1')).toBeUndefined();
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

it.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['', 'unknown'],
  ['nonsense', 'unknown'],
])('the key of the address %j is %j', (address, key) => {
  expect(addressKeyOf(address)).toBe(key);
});

it('an address has its number in any minute, and no more: its forms share it, and the /64 of a host, but no others', () => {
  const clock = new ManualClock();
  const rate = new AddressRate(clock, 3);
  expect([1, 2, 3, 4].map(() => rate.take('10.0.0.7'))).toEqual([true, true, true, false]);
  clock.advanceMs(30_000);
  expect(rate.take('10.0.0.7')).toBe(false);
  clock.advanceMs(30_000);
  expect(rate.take('10.0.0.7')).toBe(true);
  clock.advanceMs(59_999);
  expect([1, 2, 3].map(() => rate.take('10.0.0.7'))).toEqual([true, true, false]);
  const one = new AddressRate(new ManualClock(), 1);
  expect(one.take('10.0.0.7')).toBe(true);
  expect(one.take('::ffff:10.0.0.7')).toBe(false);
  expect(one.take('10.0.0.8')).toBe(true);
  expect(one.take('2001:db8::1')).toBe(true);
  expect(one.take('2001:db8::2')).toBe(false);
});

it('a full table takes a new address only after another one’s minute', () => {
  const clock = new ManualClock();
  const rate = new AddressRate(clock, 2);
  const addressOf = (i: number) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;
  let taken = 0;
  for (let i = 0; i < 10_000; i += 1) if (rate.take(addressOf(i))) taken += 1;
  expect(taken).toBe(4_096);
  expect(rate.take(addressOf(0))).toBe(true);
  clock.advanceMs(60_000);
  expect(rate.take(addressOf(9_999))).toBe(true);
});
